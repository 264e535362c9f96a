"""Which switches of a training to turn: from rates at one batch to the setting to choose, with its gain (methods §5).

Formats come first, then layout and compiler from the best of them; every other switch counts from there, alone, and
stays only where it gains beyond what trials of the same work differ by, given how many were compared (Holm).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log

from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.interleaved import compared_points
from gputuner.analysis.throughput import NUMERICS
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
CLASSES = (("fp32", "tf32"), ("bf16", "fp16"))
HOPELESS = 0.5
"""The best full and the best half format go on, too, from this share of the best rate on. Where launching is the limit,
autocast's casts make half precision the slower one until the compiler fuses them away."""
EASIER_WITHIN = 0.01
"""Between rates this close the easier numerics, the plain layout and no compiler are chosen."""
WORTH = 0.01
"""A switch that gains less than this is not worth a line of code."""
CLEAR = 0.25
"""A gain of single trials has no interval and is believed from here on: trials of one work do not lie so far apart."""
BY_SPEED_ALONE = frozenset({"fp16_accumulate"})
"""Switches that are asked about and never chosen: they change results, and no check of the numerics covers them."""
CONFIRMS = "confirms"
"""Extra of the last trials of the fastest setting and the base, in turn; two of each, and only they count."""
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
    """Gain of one setting over another (ratio of rates − 1) with its 95 % interval (None: a single trial of a side)."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sure(self) -> bool:
        """Whether it lies beyond the noise and is worth the change."""
        return self.value >= CLEAR if self.low is None else self.low > 0.0 and self.value >= WORTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to train with: ``chosen``, against ``base``, which comes closest to torch's defaults."""

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


def gain(better: Sequence[Point], base: Sequence[Point], among: int = 1) -> Ratio:
    """Ratio of rates − 1 over whole trials, with the 95 % interval of ``interleaved.compared``.

    Args:
        better: trials of one setting.
        base: trials of the other.
        among: comparisons that it was picked from: the interval is Bonferroni's over so many, Student's t at the
            freedom of these trials alone.
    """
    found, own = compared_points(base, better), len(base) + len(better) - 2
    if found.low is None or found.high is None or min(len(better), len(base)) < 2:
        return Ratio(value=found.value)
    wider = student_quantile(1.0 - 0.025 / among, own) / student_quantile(0.975, own)
    factor = ((1.0 + found.high) / (1.0 + found.value)) ** wider
    return Ratio(value=found.value, low=(1.0 + found.value) / factor - 1.0, high=(1.0 + found.value) * factor - 1.0)


def shortlist(rates: Mapping[str, float]) -> tuple[str, ...]:
    """Formats that go on to layout and compiler, the fastest first.

    The best two, what is close to the best, and the best of the full and of the half formats unless ``HOPELESS``.
    """
    order = sorted(rates, key=lambda name: -rates[name])
    best = rates[order[0]] if order else 0.0
    firsts = [next((name for name in order if name in group), "") for group in CLASSES]
    able = {name for name in firsts if name and rates[name] >= HOPELESS * best}
    return tuple(n for i, n in enumerate(order) if i < LEAST_FORMATS or n in able or rates[n] >= (1.0 - NEAR) * best)


def best_of(rates: Mapping[Setting, float]) -> Setting:
    """The fastest; of those within ``EASIER_WITHIN`` of it the one that changes least.

    Raises:
        ValueError: no rates.
    """
    if not rates:
        raise ValueError("no rates")
    top = max(rates.values())
    return min((s for s in rates if rates[s] >= (1.0 - EASIER_WITHIN) * top), key=lambda s: (*s.effort, -rates[s]))


def base_of(measured: Mapping[Setting, Sequence[Point]]) -> Setting | None:
    """What comes closest to torch's defaults, nothing switched; the setting's own name says what it is.

    By default torch computes matrix products in FP32, but convolutions and cuDNN's recurrent layers in TF32: so TF32
    where such layers hold most of the weights and the chip has it, else FP32.
    """
    plain = {s.precision: s for s in measured if not s.switches and not s.channels_last}
    convolutional = any(p.extra.get("convolutional") is True for found in measured.values() for p in found)
    order = ("tf32", "fp32") if convolutional else ("fp32", "tf32")
    return next((plain[name] for name in order if name in plain), None)


def decide(points: Iterable[Point]) -> Decision | None:
    """What the rates measured so far say; None where the base was not measured.

    A further switch is kept where it was measured at least twice, in turn with the setting that it starts from, and
    gains beyond the noise. Kept switches are chosen, alone or together, only where they gain over the grid's best, too.
    """
    measured = by_setting(points)
    base = base_of(measured)
    if base is None:
        return None
    able = {s: found for s, found in measured.items() if not BY_SPEED_ALONE & dict(s.switches).keys()}
    rates = {setting: rate(found) for setting, found in able.items()}
    grid = best_of({setting: each for setting, each in rates.items() if setting.in_grid})
    kept = _kept(able, grid)
    items = {item for each in kept for item in further(each).items()}
    better = [s for s in able if further(s) and set(further(s).items()) <= items and _beats(able, s, grid)]
    fastest = max((grid, *better), key=lambda s: rates[s])
    told = _answer(able, fastest, base)
    chosen = fastest if told is not None and told.sure else base
    return Decision(chosen=chosen, fastest=fastest, base=base, grid=grid, gain=told, kept=kept)


def _kept(measured: Mapping[Setting, Sequence[Point]], grid: Setting) -> dict[Setting, Ratio]:
    """Single switches that gain, by Holm's rule over all that were tried: one that was dropped after a trial counts."""
    tried = sum(1 for setting in measured if further(setting))
    kept: dict[Setting, Ratio] = {}
    while True:
        left = [s for s in measured if s not in kept]
        judged = {s: kept_gain(measured, grid, s, among=max(1, tried - len(kept))) for s in left}
        sure = {s: each for s, each in judged.items() if each is not None and each.sure}
        if not sure:
            return {s: each for s in kept if (each := kept_gain(measured, grid, s)) is not None}
        kept |= sure


def _answer(measured: Mapping[Setting, Sequence[Point]], fastest: Setting, base: Setting) -> Ratio | None:
    """The gain over the base: of the trials that confirm it alone, else of all, as one picked from so many settings."""
    if fastest == base:
        return None
    ours, theirs = ([p for p in measured[s] if p.extra.get(CONFIRMS) is True] for s in (fastest, base))
    if min(len(ours), len(theirs)) > 1:
        return gain(ours, theirs)
    return gain(measured[fastest], measured[base], among=max(1, len(measured) - 1))


def kept_gain(
    measured: Mapping[Setting, Sequence[Point]], grid: Setting, setting: Setting, among: int = 1
) -> Ratio | None:
    """Gain of one further switch over where it starts from; None: there is not one, or it was not measured twice.

    It starts from the grid's best, or from that without the compiler.
    """
    if len(further(setting)) != 1:
        return None
    start = replace(grid, switches=tuple(each for each in grid.switches if each in setting.switches))
    found, before = measured.get(setting, ()), measured.get(start, ())
    return gain(found, before, among) if min(len(found), len(before)) > 1 else None


def _beats(measured: Mapping[Setting, Sequence[Point]], setting: Setting, grid: Setting) -> bool:
    found, before = measured[setting], measured[grid]
    return min(len(found), len(before)) > 1 and gain(found, before).sure


def further(setting: Setting) -> dict[str, Scalar]:
    """Its switches beside the compiler."""
    return {name: value for name, value in setting.switches if name not in GRID}


def can_save(setting: Setting) -> bool:
    """Whether it may be offered as a saver of memory: a captured step keeps its memory for good and saves none, and
    what is not chosen by its speed is not offered either.
    """
    return not ({"cuda_graph"} | BY_SPEED_ALONE) & dict(setting.switches).keys()


def memory(point: Point) -> float | None:
    """Peak of what was allocated, in bytes."""
    value = point.extra.get("allocated_peak_bytes")
    return float(value) if isinstance(value, int | float) and value > 0 else None


def reserved(point: Point) -> float | None:
    """Peak of what the allocator held, in bytes."""
    value = point.extra.get("reserved_peak_bytes")
    return float(value) if isinstance(value, int | float) and value > 0 else None
