"""Words of tries."""

import pytest

from gputuner.analysis.calibration import Tried, wilson
from gputuner.analysis.interleaved import Compared
from gputuner.analysis.trying import Verdict
from gputuner.language import tried as words
from gputuner.model.advice import Confidence, Gain


def test_every_verdict_has_words_of_its_own():
    said = [words.verdict(entry) for entry in Verdict]
    assert all(said)
    assert len(set(said)) == len(said)


def test_realised_against_predicted():
    known = {"session": "s", "advice": "a", "card": "c", "confidence": Confidence.MEASURED}
    found = Compared(value=0.023, low=0.018, high=0.027)
    predicted = Gain(value=1.14, unit="fraction", low=1.13, high=1.16)
    assert words.tried(Tried(**known, predicted=predicted, found=found)) == (
        "Realised gain: +2.3 % (+1.8 % … +2.7 %); predicted: +114 % (+113 % … +116 %)"
    )
    assert words.tried(Tried(**known, predicted=None, found=found)) == "Realised gain: +2.3 % (+1.8 % … +2.7 %)"


def test_shares_and_tendencies():
    assert words.share(wilson(1, 1)) == "1 of 1 (20.7 % … 100 %)"
    assert words.share(None) == "not known"
    assert words.points(0.0123) == "1.2 points"
    assert words.tendency(-0.03) == "promise 3.0 points too much"
    assert words.tendency(0.03) == "promise 3.0 points too little"
    assert words.tendency(0.001) == "neither"
    assert words.memory(-0.449) == "Peak memory: -44.9 %."
    assert words.memory(None) == ""


@pytest.mark.parametrize(("fraction", "said"), [(0.999, "+99.9 %"), (1.0, "+100 %"), (-0.1, "-10.0 %")])
def test_small_gains_are_told_finely(fraction, said):
    assert words.percent(fraction) == said
