"""What the rules judge from: the points of a run, the card, its other users and the host."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gputuner.advice.chances import Chances
from gputuner.analysis.telemetry_quality import LEAST_LOADED_S, LEAST_RISE_W, LEAST_SAMPLES
from gputuner.analysis.throughput import comparable_tops, preferred_precision
from gputuner.analysis.turns import FAULTY, is_turn, with_turns
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.samples import CardProcesses

RATE_PHASES = ("probe", "safe")
"""Phases of ``train_throughput`` that may be recommended: one job, alone, at a batch that is safe to use."""

EFFECTIVE_BATCH = 256
"""Samples per optimizer step where nobody said."""
TUNE = "tune"
"""The command that also measures two at once, and heat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything known of one card from one run (or one stored session)."""

    card: CardInfo
    points: tuple[Point, ...] = ()
    processes: CardProcesses | None = None
    """Who else was on the card when the run began."""
    fingerprint: Fingerprint | None = None
    effective_batch: int | None = None
    """Samples per optimizer step that the owner wants to keep; None: nobody said."""
    threads: int | None = None
    """CPU threads that the measured torch uses."""
    command: str = TUNE
    """What measures the same training again, without minutes and card."""
    record: Chances = field(default_factory=Chances)
    """What came of advice that was tried."""

    @property
    def effective(self) -> int:
        """Samples per optimizer step: those asked for, else as people usually train."""
        return self.effective_batch or EFFECTIVE_BATCH

    def of(self, metric: str, **params: Scalar) -> list[Point]:
        """Points of ``metric`` whose params have these values, in the order measured."""
        return [
            p
            for p in self.points
            if p.metric == metric and all(p.params.get(name) == value for name, value in params.items())
        ]

    def last(self, metric: str, **params: Scalar) -> Point | None:
        """The newest such point."""
        found = self.of(metric, **params)
        return found[-1] if found else None

    def training_rates(self, workload: str) -> dict[tuple[str, bool], dict[int, Point]]:
        """Comparable training rates by (precision, channels_last) and batch; of turns the one in the middle.

        Too slow ones are left out, those whose loss was no number, and batches of a size that failed since.
        """
        fails: dict[tuple[str, bool], int] = {}
        for limit in self.of("batch_limit"):
            if limit.workload == workload and "fails" in limit.extra:
                fails[_setting(limit)] = int(limit.extra["fails"])
        rates: dict[tuple[str, bool], dict[int, Point]] = {}
        for point in with_turns(self.of("train_throughput")):
            if point.workload != workload or FAULTY & set(point.flags):
                continue
            if point.params.get("phase") not in RATE_PHASES and not is_turn(point):
                continue
            key, batch = _setting(point), int(point.params["batch"])
            if batch < fails.get(key, batch + 1):
                rates.setdefault(key, {})[batch] = point
        return rates

    @property
    def is_own(self) -> bool:
        """Whether the training measured is the user's own: a recipe is named FILE:function."""
        return any(":" in name for name in self.workloads())

    def workloads(self) -> tuple[str, ...]:
        """Names of the trainings that were measured."""
        return tuple(dict.fromkeys(p.workload for p in self.of("train_throughput")))

    def loads(self) -> Iterator[tuple[Point, Conditions]]:
        """Points measured under load with telemetry, and their conditions."""
        for point in self.points:
            if point.conditions is not None and point.conditions.samples > 0 and point.metric in LOADS:
                yield point, point.conditions

    @property
    def temperature_stuck(self) -> bool:
        """True if the core temperature never moved over more than a minute of loads of different power."""
        windows = [conditions for _, conditions in self.loads()]
        seen = [t for c in windows for t in (c.core_temperature_start_c, c.core_temperature_end_c) if t is not None]
        power = [c.power_w for c in windows if c.power_w is not None]
        loaded_s = sum(c.duration_s for c in windows)
        moved = len(set(seen)) > 1 or len(seen) < LEAST_SAMPLES
        return not moved and loaded_s >= LEAST_LOADED_S and bool(power) and max(power) - min(power) >= LEAST_RISE_W

    def host(self, name: str) -> Scalar | None:
        """A fact of the host's fingerprint, None where it is missing."""
        reading = self.fingerprint.host.readings.get(name) if self.fingerprint else None
        return reading.value if reading else None

    def host_number(self, name: str) -> float | None:
        """A fact of the host as a number."""
        value = self.host(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _setting(point: Point) -> tuple[str, bool]:
    return str(point.params["precision"]), bool(point.params.get("channels_last", False))


LOADS = ("train_throughput", "matmul_rate", "copy_bandwidth", "co_run_gain", "watch_step_time")


def best_setting(evidence: Evidence, workload: str) -> tuple[tuple[str, bool], dict[int, Point]] | None:
    """The (precision, channels_last) to recommend and its points by batch: the same choice as the plan's."""
    rates = evidence.training_rates(workload)
    if not rates:
        return None
    tops = comparable_tops({key: {b: p.value for b, p in points.items()} for key, points in rates.items()})
    by_precision: dict[str, float] = {}
    for (precision, _), top in tops.items():
        by_precision[precision] = max(by_precision.get(precision, 0.0), top)
    chosen = preferred_precision(by_precision)
    key = max((key for key in rates if key[0] == chosen), key=lambda k: tops[k])
    return key, rates[key]
