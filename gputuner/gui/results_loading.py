# pyright: standard
"""From the figures of a loader's settings to its pictures: rate against workers beside what the training eats."""

from collections.abc import Sequence

from gputuner.analysis.loading import pooled
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.plots.curves import Area, Dot, Series, Upright
from gputuner.gui.results import figure, of_metric, point_hint
from gputuner.gui.results_curves import CurvePicture
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language.loading import setting
from gputuner.language.numbers import number, value
from gputuner.language.words import _, listed, ngettext
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

CLIMB, SWITCH = "workers", "switch"
"""Phases of the figures that differ in the number of processes alone, and in one other switch."""
ROOM = 1.05
OF_SETTING = ("workers", "prefetch", "pin", "persistent", "decode")
"""Parameters that make a setting of a loader."""
Setting = tuple[Scalar | None, ...]


def workers_picture(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """Rate (samples/s) over processes: the loader alone, the training fed by it, and what the training could eat."""
    supply, fed = of_metric(points, "loader_supply"), of_metric(points, "loader_fed")
    if not supply and not fed:
        return CurvePicture()
    series = [
        _curve(_("loader alone"), supply, theme.sky, "s"),
        _curve(_("training with it"), fed, theme.blue, "o"),
        _others(fed, theme),
        _best(points, theme),
    ]
    demand, areas = _demand(points, [_workers(point) for point in (*supply, *fed)], theme)
    return CurvePicture(
        series=(*(each for each in series if each.dots), *demand),
        areas=areas,
        uprights=_marks(points),
        ticks=tuple(sorted({_workers(point) for point in (*supply, *fed)})),
    )


def _curve(name: str, points: Sequence[Point], colour: str, symbol: str) -> Series:
    dots = tuple(_dot(point) for point in points if point.params.get("phase") == CLIMB)
    return Series(name=name, colour=colour, dots=dots, symbol=symbol)


def _others(fed: Sequence[Point], theme: Theme) -> Series:
    """Settings that differ in more than the number of processes."""
    dots = tuple(_dot(point, hollow=True) for point in fed if point.params.get("phase") == SWITCH)
    return Series(name="", colour=theme.purple, dots=dots, joined=False)


def _best(points: Sequence[Point], theme: Theme) -> Series:
    """The advised setting: it may lie off the curve, by its other switches."""
    dots = tuple(
        Dot(x=_workers(p), y=p.value, point_id=p.id, hint=setting(p.params)) for p in of_metric(points, "loader_best")
    )
    return Series(name="", colour=theme.accent, dots=dots, symbol="star", size=12.0)


def _dot(point: Point, *, hollow: bool = False) -> Dot:
    spread = point.spread
    return Dot(
        x=_workers(point),
        y=point.value,
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        hollow=hollow,
        point_id=point.id,
        hint=f"{setting(point.params)}\n{point_hint(point)}",
    )


def _workers(point: Point) -> float:
    return figure(point.params.get("workers")) or 0.0


def _demand(points: Sequence[Point], xs: list[float], theme: Theme) -> tuple[list[Series], tuple[Area, ...]]:
    """What the training could eat, with its interval as a band."""
    demand = next(iter(of_metric(points, "loader_demand")), None)
    if demand is None:
        return [], ()
    ends = min(xs), max([*xs, 1.0])
    words = _("without waiting for data {rate}").format(rate=number(demand.value))
    path = tuple((x, demand.value) for x in ends)
    line = Series(name=words, colour=theme.good, path=path, dashed=True, named_at=path[0])
    spread = demand.spread
    if spread is None or spread.ci95_low is None or spread.ci95_high is None:
        return [line], ()
    low, high = spread.ci95_low, spread.ci95_high
    return [line], (Area(xs=ends, low=(low, low), high=(high, high), colour=theme.good),)


def _marks(points: Sequence[Point]) -> tuple[Upright, ...]:
    """Processes of today's loader and of the advised one."""
    told: dict[float, list[str]] = {}
    usual = next((p for p in of_metric(points, "loader_fed") if p.extra.get("usual") is True), None)
    if usual is not None:
        told.setdefault(_workers(usual), []).append(_("today"))
    for best in of_metric(points, "loader_best"):
        told.setdefault(_workers(best), []).append(_("advised"))
    return tuple(
        Upright(x=workers, name=_("{what}: {of}").format(what=" · ".join(dict.fromkeys(words)), of=f"{workers:.0f}"))
        for workers, words in told.items()
    )


def setting_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Rate of the training with each setting of the loader, the fastest first; dashed is what it could eat."""
    found: dict[Setting, list[Point]] = {}
    for point in of_metric(points, "loader_fed"):
        found.setdefault(_setting(point), []).append(point)
    if not found:
        return []
    demand = next(iter(of_metric(points, "loader_demand")), None)
    best = {_setting(point) for point in of_metric(points, "loader_best")}
    rates = {key: pooled(those) for key, those in found.items()}
    top = ROOM * max(max(rates.values()), demand.value if demand else 0.0)
    rows = tuple(
        _row(found[key], rates[key], top, advised=key in best, theme=theme)
        for key in sorted(rates, key=lambda key: -rates[key])
    )
    return [BarGroup(title=_("samples/s"), rows=rows, line=demand.value if demand else None)]


def _row(those: Sequence[Point], rate: float, top: float, *, advised: bool, theme: Theme) -> BarRow:
    point = those[-1]
    usual = any(each.extra.get("usual") is True for each in those)
    mark = "✓ " if advised else ""
    told = listed((short_setting(point), _("today") if usual else ""))
    return BarRow(
        name=f"{mark}{told}",
        text=number(rate),
        value=rate,
        top=top,
        colour=theme.blue,
        low=point.spread.ci95_low if point.spread and len(those) == 1 else None,
        high=point.spread.ci95_high if point.spread and len(those) == 1 else None,
        note=_waiting(point),
        point_id=point.id,
        hint=f"{setting(point.params)}\n{point_hint(point)}",
    )


def _setting(point: Point) -> Setting:
    return tuple(point.params.get(name) for name in OF_SETTING)


def short_setting(point: Point) -> str:
    """A loader's setting in few words."""
    workers = int(_workers(point))
    if not workers:
        named = [_("no workers")]
    else:
        named = [ngettext("{count} worker", "{count} workers", workers).format(count=workers)]
        named.append(_("prefetch {count}").format(count=point.params.get("prefetch")))
    named += [_("pinned")] if point.params.get("pin") is True else []
    named += [_("persistent")] if point.params.get("persistent") is True else []
    named += [sentences.settings({"decode": point.params["decode"]})] if point.params.get("decode") else []
    return listed(named)


def _waiting(point: Point) -> str:
    lost = figure(point.extra.get("starvation_fraction"))
    return "" if lost is None else _("{share} waiting").format(share=value(max(0.0, lost), "fraction"))
