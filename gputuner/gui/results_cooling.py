# pyright: standard
"""From a thermal test to its pictures: the trace, how the forecast closed, limit and end; only chosen and scaled."""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.advice.cooling import USUAL_K_PER_W
from gputuner.analysis.thermal_forecast import CLOSED_C
from gputuner.gui.plots.curves import Area, Dot, Series, Stretch, Upright
from gputuner.gui.plots.labelling import Spot
from gputuner.gui.results import figure
from gputuner.gui.run_state import RunFacts, StepSeen
from gputuner.gui.theme import Theme
from gputuner.language import numbers
from gputuner.language.cooling import bound
from gputuner.language.words import _
from gputuner.model.cards import CardInfo
from gputuner.model.events import Outcome
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity

LOOK, VERDICT = "look", "verdict"
LOAD_STEP, REST_STEP, DOWN_STEP = "cooling_load", "cooling_rest", "cooling_down"
DRAWN = 600
"""Points of the trace: about one per pixel of a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThermalShown:
    """What the picture of a thermal test is made of."""

    series: tuple[Series, ...] = ()
    areas: tuple[Area, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    uprights: tuple[Upright, ...] = ()


def of_phase(points: Sequence[Point], phase: str) -> list[Point]:
    """The figures of one part of thermal tests: ``look`` or ``verdict``."""
    return [point for point in points if point.params.get("phase") == phase]


def verdict(points: Sequence[Point], metric: str) -> Point | None:
    """What the test ended with, of one metric."""
    found = [point for point in of_phase(points, VERDICT) if point.metric == metric]
    return found[-1] if found else None


def ends(point: Point) -> tuple[float, float]:
    """The 90 % band of a figure."""
    low, high = figure(point.extra.get("low90")), figure(point.extra.get("high90"))
    return point.value if low is None else low, point.value if high is None else high


def band_words(point: Point, *, unit: bool = True) -> str:
    """The 90 % band in the value's own scale, with its unit or without; "" where there is none."""
    if "low90" not in point.extra:
        return ""
    low, high = ends(point)
    factor, label = numbers.scale(point.value, point.unit)
    more = bound(point, "high_")
    words = f"{numbers.number(low / factor)} … {more}{numbers.number(high / factor)}"
    return f"{words} {label}".rstrip() if unit else words


def thermal_shown(facts: RunFacts, theme: Theme) -> ThermalShown:
    """The picture of a run: temperature over minutes of load, the forecasts, the limit, and where the load ended."""
    card = facts.cards[0] if facts.cards else None
    if card is None:
        return ThermalShown()
    zero = load_began_s(facts)
    trace = _trace(facts, card, zero)
    looks = of_phase(facts.points, LOOK)
    minutes = [each for path in trace for each, _value in path] + [_minute(look) for look in looks]
    if not minutes:
        return ThermalShown()
    colour = theme.quantity(Quantity.CORE_TEMPERATURE_C)
    core = [
        Series(name=_("core") if path is trace[-1] else "", colour=colour, path=path, bare=True, joined=False)
        for path in trace
    ]
    series = [*core, *_forecast(looks, colour), *_limit(facts, card, min(minutes), max(minutes), colour)]
    return ThermalShown(
        series=tuple(series),
        areas=_band(looks, colour),
        stretches=tuple(_stretches(facts, zero)),
        uprights=tuple(_end(facts, zero)),
    )


def load_began_s(facts: RunFacts) -> float:
    """When the load began, in seconds of the run's clock; before it begins: now."""
    begun = next((step.t0_ns for step in facts.steps if step.label == LOAD_STEP), None)
    return (facts.t_ns if begun is None else begun) * 1e-9


def _trace(facts: RunFacts, card: CardInfo, zero: float) -> list[tuple[Spot, ...]]:
    """The core's temperature since the rest began, in minutes of load; a gap of telemetry stays a gap."""
    history = facts.traces.get(card.uuid)
    first = next((step.t0_ns * 1e-9 for step in facts.steps if step.label == REST_STEP), None)
    if history is None or first is None:
        return []
    paths = history.paths(Quantity.CORE_TEMPERATURE_C, first, DRAWN)
    return [tuple(((t - zero) / 60.0, value) for t, value in path) for path in paths]


def _minute(look: Point) -> float:
    return figure(look.params.get("load_min")) or 0.0


def _forecast(looks: Sequence[Point], colour: str) -> list[Series]:
    if not looks:
        return []
    dots = tuple(
        Dot(
            x=_minute(look),
            y=look.value,
            low=ends(look)[0],
            high=ends(look)[1],
            point_id=look.id,
            hint=look_hint(look),
        )
        for look in looks
    )
    return [Series(name=_("steady, 90 % band"), colour=colour, dots=dots, dashed=True, open=True, size=6.0)]


def look_hint(look: Point) -> str:
    """What was known after some minutes of load, as a line each."""
    now = figure(look.extra.get("now_c"))
    told = [_("after {minutes} min of load").format(minutes=numbers.number(_minute(look)))]
    if now is not None:
        told.append(_("core {value}").format(value=numbers.value(now, "degC")))
    told.append(
        _("steady {value}, 90 %: {band}").format(value=numbers.value(look.value, "degC"), band=band_words(look))
    )
    return "\n".join(told)


def _band(looks: Sequence[Point], colour: str) -> tuple[Area, ...]:
    if len(looks) < 2:
        return ()
    lows, highs = zip(*(ends(look) for look in looks), strict=True)
    return (Area(xs=tuple(map(_minute, looks)), low=lows, high=highs, colour=colour),)


def limit_of(facts: RunFacts) -> float | None:
    """The temperature at which the core slows down, °C."""
    steady = verdict(facts.points, "steady_temperature")
    told = None if steady is None else figure(steady.extra.get("limit_c"))
    card = facts.cards[0] if facts.cards else None
    return told or (None if card is None else card.number("slowdown_c") or card.number("target_c"))


def _limit(facts: RunFacts, card: CardInfo, first: float, last: float, colour: str) -> list[Series]:
    limit = limit_of(facts)
    if limit is None:
        return []
    words = _("core slows down {value}").format(value=numbers.value(round(limit), "degC"))
    if not card.number("slowdown_c"):
        words = _("target {value}").format(value=numbers.value(round(limit), "degC"))
    reached = verdict(facts.points, "minutes_to_limit")
    if reached is not None and reached.extra.get("at_least") is not True:
        words = _("{limit} · reached after {time} of load").format(
            limit=words, time=numbers.duration(round(reached.value * 60.0))
        )
    return [Series(name=words, colour=colour, path=((first, limit), (last, limit)), dashed=True, joined=False)]


def _stretches(facts: RunFacts, zero: float) -> list[Stretch]:
    names = {REST_STEP: _("rest"), LOAD_STEP: _("load"), DOWN_STEP: _("cooling down")}
    found: list[Stretch] = []
    for label, name in names.items():
        steps = [step for step in facts.steps if step.label == label]
        if steps:
            first, last = (steps[0].t0_ns * 1e-9 - zero) / 60.0, (_ended_s(steps[-1], facts) - zero) / 60.0
            if last > first:
                found.append(Stretch(x0=first, x1=last, name=name))
    return found


def _ended_s(step: StepSeen, facts: RunFacts) -> float:
    return (facts.t_ns if step.t1_ns is None else step.t1_ns) * 1e-9


def _end(facts: RunFacts, zero: float) -> list[Upright]:
    """Where the load ended, and why."""
    loads = [step for step in facts.steps if step.label == LOAD_STEP]
    running = facts.finished is None and (not facts.steps or facts.steps[-1].label == LOAD_STEP)
    if not loads or running:
        return []
    return [Upright(x=(_ended_s(loads[-1], facts) - zero) / 60.0, name=end_words(facts))]


def end_words(facts: RunFacts) -> str:
    """Why the load ended."""
    steady = verdict(facts.points, "steady_temperature")
    if steady is not None and steady.extra.get("closed") is True:
        return _("known to ±{degrees} °C").format(degrees=numbers.number(CLOSED_C))
    if steady is not None:
        missing = figure(steady.extra.get("missing_min"))
        if missing is None:
            return _("the time was up")
        return _("the time was up; {minutes} min are missing").format(minutes=f"{missing:.0f}")
    if facts.finished is not None and facts.finished.outcome is not Outcome.COMPLETED:
        return _("stopped")
    return _("end of the load")


def usual_of(point: Point) -> tuple[float, float] | None:
    """What coolers of the kind that was told reach, K/W; None where none was told."""
    return USUAL_K_PER_W.get(str(point.params.get("cooler", "")))
