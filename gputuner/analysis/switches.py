"""Which switches of a training to turn: from rates at one batch to the setting to choose, with its gain (methods §5).

Formats come first, then layout and compiler from the best of them; every other switch counts from there, alone, and
stays only where it gains beyond what two trials of the same work differ by.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, hypot, log, sqrt

from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.statistics import NORMAL_975, relative_half_width
from gputuner.analysis.throughput import NUMERICS
from gputuner.analysis.trials import BETWEEN_TRIALS
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

PHASE = "switch"
"""Phase of ``train_throughput`` that compares settings at one batch."""
GRID = ("compile",)
"""Switches that are compared together with format and layout; all others count alone."""
SWITCH_NAMES = (
    "compile",
    "fp16_accumulate",
    "sdpa",
    "checkpointing",
    "optimizer_kind",
    "expandable_segments",
    "autotune",
    "cuda_graph",
)
"""As params of a trial have them (``workloads/bodies/switches.py``)."""
NEAR, LEAST_FORMATS = 0.10, 2
"""Formats whose rate lies so close to the best go on to layout and compiler; at least this many do."""
EASIER_WITHIN = 0.01
"""Between rates this close the easier numerics, the plain layout and no compiler are chosen."""
WORTH = 0.01
"""A switch that gains less than this is not worth a line of code."""
PRIOR_FREEDOM = 2.0
"""The usual difference between trials weighs as much as this many repeats."""
UNUSABLE = frozenset({Flag.TOO_SLOW, Flag.IMPLAUSIBLE})

Extras = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Format, layout and the switches that differ from the training's defaults, sorted by name."""

    precision: str
    channels_last: bool = False
    switches: Extras = ()

    @classmethod
    def of(cls, point: Point) -> "Setting":
        """How the training of a rate was run."""
        given = tuple(sorted((name, point.params[name]) for name in SWITCH_NAMES if name in point.params))
        return cls(
            precision=str(point.params["precision"]),
            channels_last=point.params.get("channels_last") is True,
            switches=given,
        )

    def with_switch(self, name: str, value: Scalar) -> "Setting":
        """The same with one switch more, or another choice of it."""
        others = tuple(each for each in self.switches if each[0] != name)
        return replace(self, switches=tuple(sorted((*others, (name, value)))))

    def named(self) -> dict[str, Scalar]:
        """As params."""
        return {"precision": self.precision, "channels_last": self.channels_last, **dict(self.switches)}

    @property
    def in_grid(self) -> bool:
        """Whether it differs in format, layout and compiler only."""
        return all(name in GRID for name, _ in self.switches)

    @property
    def effort(self) -> tuple[int, int, int]:
        """Harder numerics, more to change: larger."""
        rank = NUMERICS.index(self.precision) if self.precision in NUMERICS else len(NUMERICS)
        return rank, len(self.switches), int(self.channels_last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Gain of one setting over another (ratio of rates − 1) with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether it lies beyond the noise and is worth the change."""
        return self.low > 0.0 and self.value >= WORTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to train with: ``chosen``, against ``base``, what torch does by itself."""

    chosen: Setting
    """``fastest`` where that gains beyond the noise, else ``base``."""
    fastest: Setting
    base: Setting
    grid: Setting
    """The best of format, layout and compiler; other switches count from here."""
    gain: Ratio | None
    """Of ``fastest`` over ``base``; None where they are the same."""
    kept: dict[Setting, Ratio] = field(default_factory=lambda: {})
    """Single further switches that gain beyond the noise, and by how much."""


def by_setting(points: Iterable[Point]) -> dict[Setting, list[Point]]:
    """Usable rates of this comparison, in the order measured."""
    found: dict[Setting, list[Point]] = {}
    for point in points:
        compared = point.metric == "train_throughput" and point.params.get("phase") == PHASE
        if compared and point.value > 0 and not UNUSABLE & set(point.flags):
            found.setdefault(Setting.of(point), []).append(point)
    return found


def rate(points: Sequence[Point]) -> float:
    """Geometric mean of the rates of trials of the same work."""
    return exp(sum(log(point.value) for point in points) / len(points))


def gain(better: Sequence[Point], base: Sequence[Point]) -> Ratio:
    """Ratio of rates − 1 over trials measured in turn (A B B A), with its 95 % interval.

    In the logarithm; trials of the same work differ by a standard deviation that is pooled from the repeats here and
    the usual 0.3 % as if seen in ``PRIOR_FREEDOM`` repeats; Student's t with that freedom. The interval within each
    trial comes on top.
    """
    squares, freedom = PRIOR_FREEDOM * BETWEEN_TRIALS**2, PRIOR_FREEDOM
    for group in (better, base):
        logs = [log(point.value) for point in group]
        mean = sum(logs) / len(logs)
        squares += sum((each - mean) ** 2 for each in logs)
        freedom += len(logs) - 1
    between = sqrt(squares / freedom * (1.0 / len(better) + 1.0 / len(base)))
    within = hypot(*(_error(point) / len(group) for group in (better, base) for point in group))
    error = hypot(between, within)
    reach = student_quantile(0.975, min(1e6, freedom * (error / between) ** 4)) * error
    apart = log(rate(better) / rate(base))
    return Ratio(value=exp(apart) - 1.0, low=exp(apart - reach) - 1.0, high=exp(apart + reach) - 1.0)


def _error(point: Point) -> float:
    """Standard error of a rate within its trial, in the logarithm; of one without interval its IQR stands in."""
    if point.spread is None:
        return 0.0
    half = relative_half_width(point.spread)
    if half is not None:
        return half / NORMAL_975
    return point.spread.iqr / point.spread.median / sqrt(max(1, point.spread.n)) if point.spread.median > 0 else 0.0


def shortlist(rates: Mapping[str, float]) -> tuple[str, ...]:
    """Formats that go on to layout and compiler, the fastest first: the best two, and what is close to the best."""
    order = sorted(rates, key=lambda name: -rates[name])
    best = rates[order[0]] if order else 0.0
    return tuple(n for i, n in enumerate(order) if i < LEAST_FORMATS or rates[n] >= (1.0 - NEAR) * best)


def best_of(rates: Mapping[Setting, float]) -> Setting:
    """The fastest; of those within ``EASIER_WITHIN`` of it the one that changes least.

    Raises:
        ValueError: no rates.
    """
    if not rates:
        raise ValueError("no rates")
    top = max(rates.values())
    return min((s for s in rates if rates[s] >= (1.0 - EASIER_WITHIN) * top), key=lambda s: (*s.effort, -rates[s]))


def base_of(settings: Iterable[Setting]) -> Setting | None:
    """What torch does by itself: TF32 in convolutions where the chip has it, else FP32, nothing switched."""
    plain = [s for s in settings if not s.switches and not s.channels_last]
    return next((s for name in NUMERICS[1::-1] for s in plain if s.precision == name), None)


def decide(points: Iterable[Point]) -> Decision | None:
    """What the rates measured so far say; None where what torch does by itself was not measured.

    A further switch is kept where it was measured at least twice, in turn with the setting that it starts from, and
    gains beyond the noise. Kept switches are chosen, alone or together, only where they gain over the grid's best, too.
    """
    measured = by_setting(points)
    base = base_of(measured)
    if base is None:
        return None
    rates = {setting: rate(found) for setting, found in measured.items()}
    grid = best_of({setting: each for setting, each in rates.items() if setting.in_grid})
    kept = {s: each for s in measured if (each := kept_gain(measured, grid, s)) is not None and each.sure}
    items = {item for each in kept for item in further(each).items()}
    better = [s for s in measured if further(s) and set(further(s).items()) <= items and _beats(measured, s, grid)]
    fastest = max((grid, *better), key=lambda s: rates[s])
    told = gain(measured[fastest], measured[base]) if fastest != base else None
    chosen = fastest if told is not None and told.sure else base
    return Decision(chosen=chosen, fastest=fastest, base=base, grid=grid, gain=told, kept=kept)


def kept_gain(measured: Mapping[Setting, Sequence[Point]], grid: Setting, setting: Setting) -> Ratio | None:
    """Gain of one further switch over where it starts from; None: there is not one, or it was not measured twice.

    It starts from the grid's best, or from that without the compiler.
    """
    if len(further(setting)) != 1:
        return None
    start = replace(grid, switches=tuple(each for each in grid.switches if each in setting.switches))
    found, before = measured.get(setting, ()), measured.get(start, ())
    return gain(found, before) if min(len(found), len(before)) > 1 else None


def _beats(measured: Mapping[Setting, Sequence[Point]], setting: Setting, grid: Setting) -> bool:
    found, before = measured[setting], measured[grid]
    return min(len(found), len(before)) > 1 and gain(found, before).sure


def further(setting: Setting) -> dict[str, Scalar]:
    """Its switches beside the compiler."""
    return {name: value for name, value in setting.switches if name not in GRID}


def memory(point: Point) -> float | None:
    """Peak of what was allocated, in bytes."""
    value = point.extra.get("allocated_peak_bytes")
    return float(value) if isinstance(value, int | float) and value > 0 else None


def reserved(point: Point) -> float | None:
    """Peak of what the allocator held, in bytes."""
    value = point.extra.get("reserved_peak_bytes")
    return float(value) if isinstance(value, int | float) and value > 0 else None
