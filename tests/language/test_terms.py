"""What an advice rests on, in words."""

import pytest

from gputuner.language.terms import confidence
from gputuner.model.advice import Confidence
from gputuner.model.cards import Origin


def test_a_simulated_cards_evidence_is_called_that_whatever_was_made_of_it():
    assert confidence(Confidence.MEASURED, Origin.SIMULATED).startswith("simulated")
    told = confidence(Confidence.MODEL, Origin.SIMULATED)
    assert told.startswith("simulated")
    assert told.endswith("from a model")


@pytest.mark.parametrize("entry", list(Confidence))
def test_a_real_cards_evidence_is_called_by_its_kind(entry: Confidence):
    assert "simulated" not in confidence(entry)
    assert confidence(entry)
