"""A cap on memory: kept with the session, and told where it is above what there is."""

from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.model.advice import Question
from gputuner.model.events import AdviceGiven, RunStarted, Warned
from gputuner.model.steps import Advise

GIB = 1 << 30
CARD_GIB = 24
BENCH = Bench(names=("gemm-fp32",), minutes=0.2)


@pytest.mark.parametrize(
    ("cap_gib", "kept_gib", "told"), [(None, None, 0), (12, 12, 0), (CARD_GIB, CARD_GIB, 0), (400, None, 1)]
)
def test_a_cap_above_the_cards_memory_caps_nothing_and_is_told(tmp_path, cap_gib, kept_gib, told):
    cap_bytes = None if cap_gib is None else cap_gib * GIB
    opened = open_setup(simulate=("rtx-3090",), data_dir=tmp_path, memory_cap_bytes=cap_bytes)
    with closing(opened) as setup:
        card = setup.select(None, for_experiment=True)[0]
        events = list(setup.start(BENCH, (card,)))
    assert card.memory_total_bytes == CARD_GIB * GIB
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    assert started.memory_cap_bytes == (None if kept_gib is None else kept_gib * GIB)
    warned = [event for event in events if isinstance(event, Warned) and event.code == "memory_cap_beyond"]
    assert len(warned) == told
    for event in warned:
        assert event.params == {"card": card.title, "cap_bytes": 400 * GIB, "total_bytes": CARD_GIB * GIB}


def test_a_cap_above_the_machines_memory_is_that_memory(tmp_path):
    with closing(open_setup(data_dir=tmp_path, memory_cap_bytes=4096 * GIB)) as setup:
        card = setup.select("cpu", for_experiment=True)[0]
        steps = setup.rehearse(BENCH, card)
        assert steps
        assert setup._cap_bytes(card) == card.memory_total_bytes


@pytest.mark.parametrize(("cap_gib", "words"), [(None, ""), (12, " --memory-cap 12")])
def test_commands_that_go_on_name_only_a_cap_that_was_given(tmp_path, cap_gib, words):
    """The processor always has a budget; only one of the user's stands in what is to be run next."""
    cap_bytes, simulate = (None, ()) if cap_gib is None else (cap_gib * GIB, ("rtx-3090",))
    with closing(open_setup(simulate=simulate, data_dir=tmp_path, memory_cap_bytes=cap_bytes)) as setup:
        run = setup.start(Asking(), setup.select(None if simulate else "cpu", for_experiment=True))
        told = list(run)
    (started,) = [event for event in told if isinstance(event, RunStarted)]
    assert started.memory_cap_bytes
    assert started.given_cap_bytes == cap_bytes
    (asked,) = [event for event in told if isinstance(event, AdviceGiven)]
    assert [question.command for question in asked.questions] == [f"gputuner --cli batch{words}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Asks what a command tells, without measuring anything."""

    name: ClassVar[str] = "asking"
    needs_worker: ClassVar[bool] = True
    seed: int = 0

    def expected_s(self):
        return 1.0

    def limited(self):
        return True

    def plan(self, context):
        yield Advise(advice=(), questions=(Question(id="x", card="cpu", command="gputuner --cli batch"),))
