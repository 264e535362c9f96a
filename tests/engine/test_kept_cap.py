"""Commands that go on from a run keep its cap on memory."""

import pytest

from gputuner.model.advice import Question
from gputuner.model.events import AdviceGiven
from gputuner.model.steps import Advise
from tests.engine.rig import CARD, Bench

COMMAND = "gputuner --cli tune --quick --gpu GPU-0"


@pytest.mark.parametrize(
    ("cap_bytes", "command"),
    [(None, COMMAND), (2 << 30, f"{COMMAND} --memory-cap 2"), (3 << 29, f"{COMMAND} --memory-cap 1.5")],
)
def test_a_questions_command_keeps_the_cap(bench: Bench, cap_bytes: int | None, command: str):
    def make():
        yield Advise(advice=(), questions=(Question(id="training", card=CARD.uuid, command=COMMAND),))

    events = list(bench.start(make, memory_cap_bytes=cap_bytes))
    (given,) = [event for event in events if isinstance(event, AdviceGiven)]
    assert [question.command for question in given.questions] == [command]
