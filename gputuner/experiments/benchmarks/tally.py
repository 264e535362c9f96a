"""How many steps and seconds of a suite are left, from those that were taken so far."""

from collections.abc import Generator, Sequence
from math import ceil

from gputuner.experiments.benchmarks.again import FRESH_ROUNDS, ROUNDS, Headline
from gputuner.experiments.benchmarks.benchmark import Steps
from gputuner.experiments.course import Course
from gputuner.experiments.relay import relayed
from gputuner.model.steps import Step, StepResult, Work

STEPS_EACH = 3.0
"""Steps of a benchmark, as far as is known before the first."""
PACE_PRIOR_S = 60.0
"""So much expected time counts as having been right: the first benchmark alone says little of the card's pace."""
HURRIED_PRIOR_S = 10.0
"""The same where a budget has to be kept."""
FRESH_S = 4.0
"""A new process: its start, and the library's."""


class Tally:
    """Counts steps and seconds."""

    def __init__(self) -> None:
        self._steps = 0
        self._benchmarks = 0
        self._took_s: dict[int, float] = {}
        self.expected_s = 0.0
        """What the benchmarks that ran should have taken."""

    def pace(self, spent_s: float, prior_s: float = PACE_PRIOR_S) -> float:
        """How much longer than expected it goes on: never below 1, one that fails at once says nothing of the card.

        ``spent_s``: seconds of all benchmarks so far; ``prior_s``: so much expected time counts as having been right.
        """
        return max(1.0, (spent_s + prior_s) / (self.expected_s + prior_s))

    def steps_left(self, benchmarks: int) -> int:
        """Steps of so many benchmarks, from those that ran so far."""
        each = self._steps / self._benchmarks if self._benchmarks else STEPS_EACH
        return max(benchmarks, ceil(each * benchmarks))

    def counted(self, course: Course, steps: Steps) -> Steps:
        """The steps of one benchmark; how long each took is kept."""
        self._benchmarks += 1
        result: StepResult | None = None
        under_way: tuple[Work, float] | None = None
        while True:
            try:
                step = next(steps) if result is None else steps.send(result)
            except StopIteration:
                return
            finally:
                if under_way is not None:
                    work, began_s = under_way
                    self._took_s[id(work)] = course.spent_s - began_s
            under_way = (step, course.spent_s) if isinstance(step, Work) else None
            self._steps += isinstance(step, Work)
            result = yield step

    def repeats_s(self, headlines: Sequence[Headline]) -> list[float]:
        """Seconds of each repeat of a null check, in order: as long as the work behind the headline took."""
        took_s = [self._took_s.get(id(headline.work), headline.work.measure_s) for headline in headlines]
        return [
            seconds + (FRESH_S if number in FRESH_ROUNDS else 0.0)
            for number in range(1, ROUNDS + 1)
            for seconds in took_s
        ]


def counted_down(course: Course, steps: Steps, costs_s: Sequence[float]) -> Steps:
    """The same steps; before each work it is told how many are left, and how long they take (``costs_s`` in order)."""
    done = 0

    def act(step: Step) -> Generator[Step, StepResult, StepResult]:
        nonlocal done
        if isinstance(step, Work):
            yield from course.total(max(1, len(costs_s) - done), sum(costs_s[done:]))
            done += 1
        return (yield step)

    return relayed(steps, act)
