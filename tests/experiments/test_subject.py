"""The training that is examined, and the formats it has on a card."""

from dataclasses import replace

import pytest

from gputuner.experiments.contention_jobs import parse_job
from gputuner.experiments.precisions import training_order
from gputuner.experiments.subject import BUILT_IN, built_in


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_built_in_begins_in_a_format_that_a_card_trains_it_in(lab, name):
    context = lab.context_of(lab.h200())
    expected = ("fp16", "tf32", "fp32") if name == "lstm" else training_order(context)
    assert built_in(name, cpu=False).formats(context) == expected
    assert parse_job(name).on(context).precision == expected[0]


def test_a_chip_without_bf16_and_a_processor_are_as_ever(lab):
    context = lab.context_of(lab.h200())
    turing = replace(context, card=replace(context.card, name="Tesla T4", compute_capability="7.5", catalog=None))
    assert built_in("lstm", cpu=False).formats(turing) == ("fp16", "fp32")
    processor = lab.context_of(lab.h200(), cpu=True)
    assert built_in("lstm", cpu=True).formats(processor) == training_order(processor)


def test_a_format_asked_for_is_taken_at_its_word(lab):
    job = parse_job("lstm:precision=bf16").on(lab.context_of(lab.h200()))
    assert job.precision == "bf16"
