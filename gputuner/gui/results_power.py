# pyright: standard
"""From the figures of a power sweep to curves over the setting: rate and energy of each visit, and the answers."""

from collections.abc import Sequence

from gputuner.gui.plots.curves import Dot, Series, Upright
from gputuner.gui.results import figure, of_metric, point_hint
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.cards import CardInfo
from gputuner.model.points import Point

CAP, CLOCK = "cap_w", "clock_mhz"
RATE, ENERGY = "power_rate", "power_energy"
NULL = "null_difference"
PEAK = "peak_w"
"""What the load drew at most: told where no other limit was tried."""
ANSWERS = (NULL, "power_knee", "power_best_energy", "power_plateau", "power_fastest")


def dial_of(points: Sequence[Point]) -> str:
    """Which setting was swept: the parameter's name."""
    return CLOCK if any(CLOCK in point.params for point in points) else CAP


def visit_series(points: Sequence[Point], metric: str, colour: str) -> list[Series]:
    """Each visit as a dot over its setting; hollow: seen in another session."""
    key = dial_of(points)
    visits = [p for p in of_metric(points, metric) if key in p.params and p.params.get("null") is not True]
    dots = tuple(
        Dot(
            x=figure(point.params[key]) or 0.0,
            y=point.value,
            hollow=point.params.get("visit") == 0,
            point_id=point.id,
            hint=point_hint(point),
        )
        for point in visits
    )
    return [Series(name="", colour=colour, dots=dots)] if dots else []


def answer_uprights(points: Sequence[Point]) -> list[Upright]:
    """The settings that the sweep answers with, with their 95 % intervals; answers at the same place share a line.

    Where nothing was set, also what the load drew and the limit that stands.
    """
    names = {
        "power_knee": _("loses little"),
        "power_best_energy": _("least energy"),
        "power_plateau": _("no change above"),
    }
    unit = "MHz" if dial_of(points) == CLOCK else "W"
    told: dict[float, list[str]] = {}
    bands: dict[float, tuple[tuple[float, float], ...]] = {}
    for metric, name in names.items():
        for point in of_metric(points, metric)[-1:]:
            peak, top = figure(point.extra.get(PEAK)), figure(point.extra.get("top"))
            if peak is None:
                told.setdefault(point.value, []).append(name)
                bands[point.value] = (*bands.get(point.value, ()), *_interval95(point))
                continue
            told.setdefault(peak, []).append(_("highest draw"))
            told.setdefault(point.value, []).append(_("enough"))
            if top is not None:
                told.setdefault(top, []).append(_("limit that stands"))
    return [
        Upright(
            x=setting, name="\n".join([f"{numbers.number(setting)}\u00a0{unit}", *words]), bands=bands.get(setting, ())
        )
        for setting, words in told.items()
    ]


def card_range(points: Sequence[Point], card: CardInfo | None) -> tuple[float, ...]:
    """Where one limit was seen alone, the least and the highest that the card takes, W; else nothing."""
    seen = {point.params[CAP] for point in points if CAP in point.params}
    if card is None or len(seen) != 1:
        return ()
    ends = card.number("power_limit_min_w"), card.number("power_limit_max_w")
    return tuple(end for end in ends if end is not None)


def setting_text(points: Sequence[Point]) -> str:
    """Name and unit of the axis."""
    return _("SM clock, MHz") if dial_of(points) == CLOCK else _("power limit, W")


def interval95_words(point: Point) -> str:
    """The 95 % interval of an answer; "" where there is none."""
    return "".join(f"{numbers.number(low)} … {numbers.number(high)}" for low, high in _interval95(point))


def _interval95(point: Point) -> tuple[tuple[float, float], ...]:
    """One interval, or none: what a limit that was not tried must exceed is no interval of it."""
    low, high = figure(point.extra.get("low95")), figure(point.extra.get("high95"))
    return () if low is None or high is None or PEAK in point.extra else ((low, high),)


def listed(points: Sequence[Point]) -> list[Point]:
    """The answers first, then the visits as they came."""
    return sorted(points, key=lambda point: point.metric not in ANSWERS)
