# pyright: standard
"""From the figures of a run to the pictures over batch size: rate, energy, memory."""

from collections.abc import Iterable
from dataclasses import dataclass

from gputuner.analysis.turns import is_turn, with_turns
from gputuner.gui.plots.batches import BatchDot, BatchMark, BatchSeries
from gputuner.gui.results import GIB, RATE_PHASES, figure, of_metric, point_hint
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

ENERGY_PHASE = "energy"
"""Phase of the windows that are long enough for the card to tell their energy."""
Setting = tuple[str, bool]
"""Number format, and whether the layout is channels-last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPicture:
    """Rate and memory over batch, ready to draw."""

    rates: tuple[BatchSeries, ...]
    rate_marks: tuple[BatchMark, ...]
    energies: tuple[BatchSeries, ...]
    energy_marks: tuple[BatchMark, ...]
    memory: tuple[BatchSeries, ...]
    memory_marks: tuple[BatchMark, ...]
    memory_limit: tuple[str, float] | None
    rate_ends: tuple[float, float] | None
    memory_ends: tuple[float, float] | None
    unit: str
    """What stands beside the title of the rates: unit, interval, layout."""
    memory_only: bool
    """True where only memory was asked: rates that came with it are no answer."""

    @property
    def empty(self) -> bool:
        """True before the first training was measured."""
        return not self.rates


def setting_of(params: dict[str, Scalar]) -> Setting:
    """Number format, and whether the layout is channels-last."""
    return str(params.get("precision", "")), params.get("channels_last") is True


def batch_picture(facts: RunFacts, theme: Theme) -> BatchPicture:
    """The pictures from what was measured so far."""
    told = with_turns(of_metric(facts.points, "train_throughput"))
    training = [p for p in told if p.params.get("phase") in RATE_PHASES or is_turn(p)]
    groups: dict[Setting, list[Point]] = {}
    for point in training:
        groups.setdefault(setting_of(point.params), []).append(point)
    fastest = _figures(facts, "batch_fastest")
    limit, safe = _figures(facts, "batch_limit"), _figures(facts, "batch_safe")
    rated = {key: [p for p in those if p.params.get("phase") != "memory"] for key, those in groups.items()}
    batches = [b for b in (figure(p.params.get("batch")) for p in training) if b]
    usual = usual_layout(groups)
    rate_ends = _ends([b for points in rated.values() for p in points if (b := figure(p.params.get("batch")))])
    memory_marks = [
        *_marks(safe, _("safe {batch}"), theme.good, dashed=True),
        *_marks(limit, _("limit {batch}"), theme.danger, dashed=True),
    ]
    rate_marks = [
        *_marks(fastest, _("fastest {batch}"), theme.accent),
        *_marks(_knees(facts), _("knee {batch}"), theme.muted, dashed=True),
        *(mark for mark in memory_marks if rate_ends is not None and rate_ends[0] <= mark.batch <= rate_ends[1]),
    ]
    return BatchPicture(
        rates=tuple(
            _rate_series(key, points, theme, usual, advised_format(facts)) for key, points in rated.items() if points
        ),
        rate_marks=tuple(rate_marks),
        energies=tuple(_energy_series(facts, theme, usual)),
        energy_marks=tuple(
            _marks(_figures(facts, "batch_least_energy"), _("least energy {batch}"), theme.green, dashed=True)
        ),
        memory=tuple(_memory_series(facts, groups, theme, usual)),
        memory_marks=tuple(memory_marks),
        memory_limit=_capacity(facts, training),
        rate_ends=rate_ends,
        memory_ends=_ends([*batches, *limit.values()] if batches else []),
        unit=_("samples/s, channels-last; bars: 95 % interval, hollow: checked")
        if usual
        else _("samples/s; bars: 95 % interval, hollow: checked"),
        memory_only=bool(training) and all(p.params.get("phase") != "probe" and not is_turn(p) for p in training),
    )


def _ends(batches: list[float]) -> tuple[float, float] | None:
    return (min(batches), max(batches)) if batches else None


def usual_layout(settings: Iterable[Setting]) -> bool:
    """Whether most are channels-last; only the others are named so."""
    return sum(1 if last else -1 for _format, last in settings) > 0


def advised_format(facts: RunFacts) -> str:
    """The number format that the run's advice names; empty where it names none."""
    return next((str(each.params.get("precision", "")) for each in facts.advice if each.id == "precision.best"), "")


def ticked(name: str, setting: Setting, advised: str, usual: bool) -> str:
    """The name, with a tick if this is the advised format in the usual layout."""
    return f"{name} ✓" if advised and setting == (advised, usual) else name


def setting_words(setting: Setting, usual: bool) -> str:
    """The format's name, with the layout where it is not the usual one."""
    name = setting[0].upper()
    if setting[1] == usual:
        return name
    layout = _("channels-last") if setting[1] else _("plain layout")
    return f"{name} {layout}"


def _figures(facts: RunFacts, metric: str) -> dict[Setting, float]:
    return {setting_of(point.params): point.value for point in of_metric(facts.points, metric)}


def _rate_series(key: Setting, points: list[Point], theme: Theme, usual: bool, advised: str) -> BatchSeries:
    best = max(points, key=lambda p: p.value)
    dots = tuple(
        BatchDot(
            batch=int(figure(p.params["batch"]) or 1),
            value=p.value,
            low=p.spread.ci95_low if p.spread else None,
            high=p.spread.ci95_high if p.spread else None,
            checked=p.params.get("phase") != "probe" and not is_turn(p),
            point_id=p.id,
            hint=point_hint(p),
        )
        for p in points
    )
    name = ticked(f"{setting_words(key, usual)} {numbers.number(best.value)}", key, advised, usual)
    return BatchSeries(name=name, colour=theme.precision(key[0]), dots=dots, dashed=key[1] != usual)


def _energy_series(facts: RunFacts, theme: Theme, usual: bool) -> list[BatchSeries]:
    """Joules a sample over batch, of the windows that were long enough for the card's own counter."""
    found: dict[Setting, list[BatchDot]] = {}
    for point in of_metric(facts.points, "train_throughput"):
        spent = figure(point.extra.get("joules_per_unit"))
        if spent is not None and point.params.get("phase") == ENERGY_PHASE:
            dot = BatchDot(
                batch=int(figure(point.params["batch"]) or 1), value=spent, point_id=point.id, hint=point_hint(point)
            )
            found.setdefault(setting_of(point.params), []).append(dot)
    return [
        BatchSeries(
            name=f"{setting_words(key, usual)} {numbers.number(min(dot.value for dot in dots))} J",
            colour=theme.precision(key[0]),
            dots=tuple(dots),
            dashed=key[1] != usual,
        )
        for key, dots in found.items()
    ]


def _knees(facts: RunFacts) -> dict[Setting, float]:
    """Where a doubling of the batch stops to pay."""
    told = {setting_of(p.params): figure(p.extra.get("knee")) for p in of_metric(facts.points, "batch_fastest")}
    return {key: batch for key, batch in told.items() if batch is not None}


def _marks(batches: dict[Setting, float], words: str, colour: str, *, dashed: bool = False) -> list[BatchMark]:
    return [
        BatchMark(batch=batch, text=words.format(batch=f"{batch:.0f}"), colour=colour, dashed=dashed)
        for batch in batches.values()
    ]


def _memory_series(facts: RunFacts, groups: dict[Setting, list[Point]], theme: Theme, usual: bool) -> list[BatchSeries]:
    """Memory over batch of what has a fitted line; before there is one, of all."""
    lines = {setting_of(p.params): p for p in of_metric(facts.points, "memory_per_sample")}
    result: list[BatchSeries] = []
    for key, points in groups.items():
        if lines and key not in lines:
            continue  # one batch of a format is no line: "Number formats" compares those
        dots = [
            BatchDot(
                batch=int(figure(p.params["batch"]) or 1),
                value=peak / GIB,
                checked=p.params.get("phase") != "probe" and not is_turn(p),
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
            name = setting_words(key, usual) if fitted else f"{setting_words(key, usual)} {dots[-1].value:.1f}"
            result.append(BatchSeries(name=name, colour=colour, dots=tuple(dots), joined=False, line=fitted))
    return result


def _of(facts: RunFacts, metric: str, key: Setting) -> list[Point]:
    return [p for p in of_metric(facts.points, metric) if setting_of(p.params) == key]


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
