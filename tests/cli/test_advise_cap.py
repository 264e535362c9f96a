"""What goes on from a stored session keeps the cap on memory that it was made with."""

from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.cli.advise import advice_of
from gputuner.cli.again import try_command
from gputuner.cli.options import Options
from gputuner.model.change import Change, TrainingSetting
from tests.cli.conftest import ADVICE, CARD, StoredInMemory

GIB = 1 << 30
SETTING = TrainingSetting(batch=8, precision="bf16")
TRIED = replace(ADVICE[0], change=Change(workload="resnet50", base=SETTING, advised=replace(SETTING, batch=64)))


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        (None, None, ""),
        (None, 24 * GIB, " --memory-cap 24"),
        (12.0, 24 * GIB, " --memory-cap 12"),
        (12.0, None, " --memory-cap 12"),
    ],
)
def test_the_command_to_try_an_advice_keeps_the_cap(now, then, words):
    told = try_command(Options(memory_cap=now), "20261130-x", "batch.fastest", TRIED, (), then)
    assert told == f"gputuner --cli advise 20261130-x --try batch.fastest{words}"


class Ended(StoredInMemory):
    """A run that ended before it gave any advice."""

    cap_bytes: int | None = None
    given: bool = True

    def advice(self):
        return (), ()

    @property
    def started(self):
        return replace(super().started, memory_cap_bytes=self.cap_bytes, memory_cap_given=self.given)


@pytest.mark.parametrize(
    ("cap_bytes", "given", "words"),
    [(None, True, ""), (24 * GIB, True, " --memory-cap 24"), (4 * GIB, False, "")],
)
def test_questions_that_are_made_anew_from_its_figures_keep_it(cap_bytes, given, words):
    stored = Ended(Path("x.sqlite"))
    stored.cap_bytes, stored.given = cap_bytes, given
    _, questions = advice_of(stored)
    assert questions
    for question in questions:
        assert question.card == CARD.uuid
        assert question.command.partition(" --memory-cap")[1:] == (words[:13], words[13:])
