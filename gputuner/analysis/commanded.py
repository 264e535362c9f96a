"""A command's steps in time, from the lines that its hooks write: when it is steady, and what it did in a window.

A line with steps covers the time from the last step of the line before it to its own last step, so neighbouring lines
join without a gap; a line holds at most 32 step times, and of more steps than that a regular sample.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import Any, cast

STEADY_CHANGE = 0.10
"""Steady: the newer half of the steps seen takes a tenth more or less than the older one at most."""
STEADY_STEPS = 6
"""Fewest steps, after the first line, that anything is said of."""
STEADY_LINES = 4
SLACK_S = 2e-3
"""A line's stamp is rounded to a millisecond."""
MOST_TIMES = 20_000
MOST_STEPS = 1_000_000
"""A line that tells of more is torn or foreign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """Steps between two lines of a record (unix seconds)."""

    begun_s: float
    ended_s: float
    steps: int
    training_s: float
    """Time of its steps; the rest of ``ended_s - begun_s`` held an evaluation."""
    told_s: tuple[float, ...] = ()
    """Step times, all of them or every n-th."""
    samples: int = 0

    @property
    def step_s(self) -> float:
        """Mean time of a step."""
        return self.training_s / self.steps

    def each_s(self) -> tuple[float, ...]:
        """A time for each step, as far as they were told; their sum is ``training_s``."""
        if not self.told_s:
            return (self.step_s,) * self.steps
        spread = [self.told_s[number * len(self.told_s) // self.steps] for number in range(self.steps)]
        scale = self.training_s / sum(spread)
        return tuple(seconds * scale for seconds in spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What one process did in a window of time (unix seconds)."""

    begun_s: float
    ended_s: float
    step_s: tuple[float, ...]
    samples_per_step: float | None
    other_share: float
    """Share of the time in evaluations."""


def step_lines(lines: Iterable[str | bytes]) -> tuple[StepLine, ...]:
    """The lines with steps, oldest first; what is torn or foreign is skipped."""
    found = [line for line in map(_line, lines) if line is not None]
    return tuple(sorted(found, key=lambda line: line.ended_s))


def steady(lines: Sequence[StepLine], warmup_s: float) -> bool:
    """Whether a training goes at an even pace: its first line left out, for ``warmup_s`` at least."""
    rest = lines[1:]
    if len(rest) < STEADY_LINES or sum(line.steps for line in rest) < STEADY_STEPS:
        return False
    if sum(line.training_s for line in rest) < warmup_s:
        return False
    newer = rest[-STEADY_LINES:]
    half = len(newer) // 2
    before, after = (median(line.step_s for line in part) for part in (newer[:half], newer[half:]))
    return abs(after / before - 1.0) <= STEADY_CHANGE


def stretch(lines: Sequence[StepLine], t0_s: float, t1_s: float = float("inf")) -> Stretch | None:
    """What lies wholly between ``t0_s`` and ``t1_s``; None where no step does."""
    inside = [line for line in lines if line.begun_s >= t0_s - SLACK_S and line.ended_s <= t1_s + SLACK_S]
    inside = _joined(inside)
    if not inside:
        return None
    begun_s, ended_s = inside[0].begun_s, inside[-1].ended_s
    steps, samples = sum(line.steps for line in inside), sum(line.samples for line in inside)
    training_s = sum(line.training_s for line in inside)
    return Stretch(
        begun_s=begun_s,
        ended_s=ended_s,
        step_s=tuple(seconds for line in inside for seconds in line.each_s())[:MOST_TIMES],
        samples_per_step=samples / steps if samples else None,
        other_share=max(0.0, 1.0 - training_s / (ended_s - begun_s)) if ended_s > begun_s else 0.0,
    )


def _joined(lines: Sequence[StepLine]) -> list[StepLine]:
    """The last run of lines without a hole: a program may pause, or start a second training."""
    first = 0
    for number, (one, next_one) in enumerate(pairwise(lines), 1):
        if next_one.begun_s - one.ended_s > 0.2 + next_one.step_s:
            first = number
    return list(lines[first:])


def _line(text: str | bytes) -> StepLine | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    told = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if told.get("k") != "window":
        return None
    steps, ended_s = _number(told.get("steps")), _number(told.get("t"))
    training_s, other_s = _number(told.get("training_s")), _number(told.get("other_s")) or 0.0
    if not steps or not 1 <= steps <= MOST_STEPS or ended_s is None or not training_s or training_s < 0 or other_s < 0:
        return None
    times = told.get("step_us")
    told_us = [_number(each) for each in cast("list[object]", times)] if isinstance(times, list) else []
    return StepLine(
        begun_s=ended_s - training_s - other_s,
        ended_s=ended_s,
        steps=int(steps),
        training_s=training_s,
        told_s=tuple(us / 1e6 for us in told_us if us is not None and us > 0)[: int(steps)],
        samples=int(max(0.0, _number(told.get("samples")) or 0.0)),
    )


def _number(value: object) -> float | None:
    """A finite number, not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15 or not isfinite(value):
        return None
    return float(value)
