# pyright: standard
"""From the figures of a run to the two pictures over batch size."""

from dataclasses import dataclass

from gputuner.gui.plots.batch_plot import BatchDot, BatchMark, BatchSeries
from gputuner.gui.results import GIB, RATE_PHASES, figure, of_metric, point_hint
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

_Key = tuple[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPicture:
    """Rate and memory over batch, ready to draw."""

    rates: tuple[BatchSeries, ...]
    rate_marks: tuple[BatchMark, ...]
    memory: tuple[BatchSeries, ...]
    memory_limit: tuple[str, float] | None
    ends: tuple[float, float] | None
    unit: str
    """What stands beside the title of the rates: unit, interval, layout."""

    @property
    def empty(self) -> bool:
        """True before the first training was measured."""
        return not self.rates


def _key(params: dict[str, Scalar]) -> _Key:
    return str(params.get("precision", "")), params.get("channels_last") is True


def batch_picture(facts: RunFacts, theme: Theme) -> BatchPicture:
    """The pictures from what was measured so far."""
    training = [p for p in of_metric(facts.points, "train_throughput") if p.params.get("phase") in RATE_PHASES]
    groups: dict[_Key, list[Point]] = {}
    for point in training:
        groups.setdefault(_key(point.params), []).append(point)
    fastest = _figures(facts, "batch_fastest")
    limit, safe = _figures(facts, "batch_limit"), _figures(facts, "batch_safe")
    edges = [*(p.params["batch"] for p in training), *fastest.values(), *limit.values()]
    batches = [b for b in (figure(edge) for edge in edges) if b]
    usual = _usual_layout(groups)
    return BatchPicture(
        rates=tuple(_rate_series(key, points, theme, usual) for key, points in groups.items()),
        rate_marks=tuple(_marks(fastest, safe, limit, theme)),
        memory=tuple(_memory_series(facts, groups, theme, usual)),
        memory_limit=_capacity(facts, training),
        ends=(min(batches), max(batches)) if batches else None,
        unit=_("samples/s, channels-last; bars: 95 % interval, hollow: checked")
        if usual
        else _("samples/s; bars: 95 % interval, hollow: checked"),
    )


def _usual_layout(groups: dict[_Key, list[Point]]) -> bool:
    """Whether most series are channels-last; only the others are named so."""
    return sum(1 if key[1] else -1 for key in groups) > 0


def _name(key: _Key, usual: bool) -> str:
    name = key[0].upper()
    if key[1] == usual:
        return name
    layout = _("channels-last") if key[1] else _("plain layout")
    return f"{name} {layout}"


def _figures(facts: RunFacts, metric: str) -> dict[_Key, float]:
    return {_key(point.params): point.value for point in of_metric(facts.points, metric)}


def _rate_series(key: _Key, points: list[Point], theme: Theme, usual: bool) -> BatchSeries:
    best = max(points, key=lambda p: p.value)
    dots = tuple(
        BatchDot(
            batch=int(figure(p.params["batch"]) or 1),
            value=p.value,
            low=p.spread.ci95_low if p.spread else None,
            high=p.spread.ci95_high if p.spread else None,
            checked=p.params.get("phase") != "probe",
            point_id=p.id,
            hint=point_hint(p),
        )
        for p in points
    )
    name = f"{_name(key, usual)} {numbers.number(best.value)}"
    return BatchSeries(name=name, colour=theme.precision(key[0]), dots=dots, dashed=key[1] != usual)


def _marks(
    fastest: dict[_Key, float], safe: dict[_Key, float], limit: dict[_Key, float], theme: Theme
) -> list[BatchMark]:
    marks = [
        BatchMark(batch=batch, text=_("fastest {batch}").format(batch=f"{batch:.0f}"), colour=theme.accent)
        for batch in fastest.values()
    ]
    marks += [
        BatchMark(batch=batch, text=_("safe {batch}").format(batch=f"{batch:.0f}"), colour=theme.good, dashed=True)
        for key, batch in safe.items()
        if batch != fastest.get(key)
    ]
    marks += [
        BatchMark(batch=batch, text=_("limit {batch}").format(batch=f"{batch:.0f}"), colour=theme.danger, dashed=True)
        for batch in limit.values()
    ]
    return marks


def _memory_series(facts: RunFacts, groups: dict[_Key, list[Point]], theme: Theme, usual: bool) -> list[BatchSeries]:
    lines = {_key(p.params): p for p in of_metric(facts.points, "memory_per_sample")}
    result: list[BatchSeries] = []
    for key, points in groups.items():
        dots = [
            BatchDot(
                batch=int(figure(p.params["batch"]) or 1),
                value=peak / GIB,
                checked=p.params.get("phase") != "probe",
                point_id=p.id,
                hint=point_hint(p),
            )
            for p in points
            if (peak := figure(p.extra.get("allocated_peak_bytes"))) is not None
        ]
        line, limit = lines.get(key), next((p for p in _of(facts, "batch_limit", key)), None)
        ends = [dot.batch for dot in dots]
        fails = figure(limit.extra.get("fails")) if limit is not None else None
        fixed = figure(line.extra.get("fixed_bytes")) if line is not None else None
        fitted: tuple[tuple[float, float], ...] = ()
        if line is not None and fixed is not None and dots:
            last = max([*ends, fails or 0, limit.value if limit else 0])
            fitted = tuple((b, (fixed + line.value * b) / GIB) for b in _between(min(ends), last))
        if fails is not None and fitted:
            dots.append(
                BatchDot(
                    batch=int(fails),
                    value=(fixed or 0.0) / GIB + (line.value if line else 0.0) * fails / GIB,
                    failed=True,
                    hint=_("{batch} does not fit").format(batch=f"{fails:.0f}"),
                )
            )
        if dots:
            colour = theme.precision(key[0])
            name = _name(key, usual) if fitted else f"{_name(key, usual)} {dots[-1].value:.1f}"
            result.append(BatchSeries(name=name, colour=colour, dots=tuple(dots), joined=False, line=fitted))
    return result


def _of(facts: RunFacts, metric: str, key: _Key) -> list[Point]:
    return [p for p in of_metric(facts.points, metric) if _key(p.params) == key]


def _between(low: float, high: float, count: int = 48) -> list[float]:
    ratio = (high / low) ** (1 / count) if high > low > 0 else 1.0
    return [low * ratio**i for i in range(count + 1)]


def _capacity(facts: RunFacts, training: list[Point]) -> tuple[str, float] | None:
    told = [*of_metric(facts.points, "batch_limit"), *training]
    for point in told:
        capacity = figure(point.extra.get("capacity_bytes"))
        if capacity:
            return _("free {value} GiB").format(value=f"{capacity / GIB:.1f}"), capacity / GIB
    return None
