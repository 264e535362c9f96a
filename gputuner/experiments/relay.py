"""Plans within plans: pass the steps of one on, and do something at each."""

from collections.abc import Callable, Generator

from gputuner.model.steps import Step, StepResult

Steps = Generator[Step, StepResult, None]


def relayed(steps: Steps, act: Callable[[Step], Generator[Step, StepResult, StepResult]]) -> Steps:
    """The same steps; ``act`` yields each (or another in its place) and returns the outcome that ``steps`` receives."""
    result: StepResult | None = None
    while True:
        try:
            step = next(steps) if result is None else steps.send(result)
        except StopIteration:
            return
        result = yield from act(step)
