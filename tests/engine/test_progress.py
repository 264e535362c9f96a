"""How far a step is: what a worker says, what it garbles, and what the engine says while the card settles."""

from collections.abc import Callable

import pytest

from gputuner.engine.progress import Progress, progress_of
from gputuner.model.events import StepProgressed
from gputuner.model.steps import Plan, Settle, Total
from tests.engine.rig import Scripted, Simulated


def test_a_workers_words_are_read():
    message = {"phase": "measure", "done_s": 2, "left_s": 7.5, "done": 3, "of": 9, "rate": 1e12}
    assert progress_of(message) == Progress(phase="measure", done_s=2.0, left_s=7.5, done=3, of=9)


@pytest.mark.parametrize("garbled", ["x", -1.0, float("nan"), float("inf"), True, None])
def test_what_is_garbled_counts_as_not_known(garbled: object):
    found = progress_of({"phase": "measure", "done_s": garbled, "left_s": garbled, "done": garbled, "of": garbled})
    assert found == Progress(phase="measure", done_s=0.0)


def test_a_pause_tells_the_time_left_of_it_and_of_the_run(simulated: Callable[..., Simulated]):
    def make() -> Plan:
        yield Total(steps=1, expected_s=30.0)
        yield Settle(label="settle", at_most_s=4.0)

    events = simulated().run(Scripted(make=make))
    told = [event for event in events if isinstance(event, StepProgressed)]
    assert told, "only the newest unread one is kept"
    for event in told:
        assert event.phase == "settle"
        assert event.left_s is not None
        assert event.done_s + event.left_s == pytest.approx(4.0)
        assert event.remaining_s == pytest.approx(26.0 + event.left_s)
