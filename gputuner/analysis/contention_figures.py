"""The figures of mixes that ran at once, gathered by mix: the newest of each."""

from collections.abc import Iterable
from dataclasses import dataclass

from gputuner.analysis.headlines import NULL
from gputuner.model.points import Flag, Point

GAIN, SLOWDOWN = "co_run_gain", "co_run_slowdown"
PRESSURE = frozenset({"pressure_sensitivity", "pressure_exerted", "pressure_calibration"})
RETOLD = frozenset({GAIN, SLOWDOWN, "co_run_cause", "co_run_predicted"}) | PRESSURE
"""Metrics that are told anew: of mixes with each round, of probes after they ran alone again."""


def is_of_mix(point: Point) -> bool:
    """Whether a figure is of a contention experiment: of a mix, of a job alone beside one, or of a probe."""
    alone = point.metric == "train_throughput" and "mode" in point.params
    return alone or "mix" in point.params or point.metric in PRESSURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mix of jobs in one mode of sharing."""

    card: str
    label: str
    """Labels of its jobs, joined by ``+``."""
    mode: str
    shares: str = ""
    """Shares of its jobs in the order of these: ``60,40`` per cent of the threads, ``high,normal``; empty: alike."""
    gain: Point | None
    slowdowns: tuple[Point, ...]
    """In the order of the jobs; those of which no steps are known are missing."""

    @property
    def jobs(self) -> int:
        """How many jobs it is of."""
        return self.label.count("+") + 1

    @property
    def alike(self) -> bool:
        """Whether all of its jobs are the same."""
        return len(set(self.label.split("+"))) == 1

    @property
    def valid(self) -> bool:
        """Whether the measurement holds: no job seemed faster than alone, and solo did not move."""
        told = (*((self.gain,) if self.gain else ()), *self.slowdowns)
        return self.gain is not None and not any(Flag.IMPLAUSIBLE in point.flags for point in told)

    @property
    def by_job(self) -> tuple[tuple[str, Point], ...]:
        """Label and slowdown of each job; a figure whose place is of no job is left out."""
        labels = self.label.split("+")
        placed = ((int(point.params.get("job", 0)) - 1, point) for point in self.slowdowns)
        return tuple((labels[place], point) for place, point in placed if 0 <= place < len(labels))

    @property
    def worst(self) -> float | None:
        """The largest slowdown of its jobs."""
        return max((point.value for point in self.slowdowns), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSteps:
    """How long the slowest 5 % take: of single steps, or of means of ``steps`` that were timed at once."""

    steps: int
    over_median: float
    seconds: float | None


def slow_steps(point: Point) -> SlowSteps | None:
    """What a slowdown's figure tells of slow steps; None: nothing.

    Means hide single slow steps, so they have names of their own (sessions of before told them as steps, with their
    number beside).
    """
    several = point.extra.get("iterations_per_window", 1)
    for name in ("window", "step"):
        over, seconds = (point.extra.get(f"{name}_p95_{what}") for what in ("over_median", "s"))
        if isinstance(over, float):
            return SlowSteps(
                steps=several if isinstance(several, int) else 1,
                over_median=over,
                seconds=seconds if isinstance(seconds, float) else None,
            )
    return None


def newest(points: Iterable[Point]) -> list[Point]:
    """All figures; of those that are told anew after each round only the last, at the place of the first."""
    found: dict[tuple[object, ...], Point] = {}
    for number, point in enumerate(points):
        if point.metric not in RETOLD:
            found[number,] = point
            continue
        params = sorted((name, str(value)) for name, value in point.params.items())
        found[point.card, point.metric, point.workload, *params] = point
    return list(found.values())


def mixes(points: Iterable[Point]) -> list[Mix]:
    """All mixes that were measured, in the order of their first figure; those of a null check are none."""
    groups: dict[tuple[str, str, str, str], list[Point]] = {}
    for point in newest(p for p in points if p.metric in (GAIN, SLOWDOWN) and "mix" in p.params):
        if NULL not in point.params:
            shares = str(point.params.get("shares", ""))
            key = (point.card, str(point.params["mix"]), str(point.params.get("mode")), shares)
            groups.setdefault(key, []).append(point)
    return [_mix(*key, found) for key, found in groups.items()]


def _mix(card: str, label: str, mode: str, shares: str, points: list[Point]) -> Mix:
    slowdowns = [point for point in points if point.metric == SLOWDOWN]
    return Mix(
        card=card,
        label=label,
        mode=mode,
        shares=shares,
        gain=next((point for point in points if point.metric == GAIN), None),
        slowdowns=tuple(sorted(slowdowns, key=lambda point: int(point.params.get("job", 0)))),
    )
