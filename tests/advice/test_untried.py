"""Why an advice cannot be tried, and what measures it."""

import pytest

from gputuner.advice.untried import instead, why_not
from gputuner.model.advice import Advice, Confidence


def advice(identity):
    return Advice(id=identity, card="GPU-1", params={}, evidence=("p",), confidence=Confidence.MEASURED)


@pytest.mark.parametrize(
    ("identity", "code", "command"),
    [
        ("precision.best", "untried_keeps", "batch bert --minutes 12"),
        ("batch.safe_limit", "untried_size", "batch bert --minutes 12"),
        ("limit.power", "untried_card", "tune --minutes 12"),
        ("host.governor", "untried_card", "tune --minutes 12"),
        ("numerics.half_loss", "untried_card", "batch bert --minutes 12"),
        ("loading.shared_memory", "untried_card", "batch bert --minutes 12"),
    ],
)
def test_each_has_a_reason_and_a_command(lab, identity, code, command):
    assert why_not(advice(identity)) == code
    assert instead(advice(identity), lab.card(), "batch bert").startswith(f"gputuner --cli {command} --gpu ")
