"""The record of confidence: shares, intervals, errors."""

from dataclasses import replace

import pytest

from gputuner.analysis.calibration import Tried, calibrate, wilson
from gputuner.analysis.interleaved import Compared
from gputuner.analysis.trying import Verdict
from gputuner.model.advice import Confidence, Gain


def tried(predicted, value, *, word=Confidence.MEASURED, session="s1", advice="batch.fastest", half=0.02):
    gain = (
        None
        if predicted is None
        else Gain(value=predicted, unit="fraction", low=predicted - 0.02, high=predicted + 0.02)
    )
    low, high = (None, None) if half is None else (value - half, value + half)
    return Tried(
        session=session, advice=advice, card="GPU-1", confidence=word, predicted=gain,
        found=Compared(value=value, low=low, high=high, trials=4),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (8, 10, 0.4902, 0.9433),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_as_in_the_literature(hits, of, low, high):
    """0/10, 10/10 … by the formula; 81 of 263 is the example of Newcombe (1998)."""
    share = wilson(hits, of)
    assert (share.low, share.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_no_share_of_nothing():
    with pytest.raises(ValueError, match="no share"):
        wilson(0, 0)


def test_each_word_is_counted_by_itself():
    tallies = calibrate([
        tried(0.2, 0.19, session="a"),
        tried(0.2, 0.05, session="b"),
        tried(0.2, -0.10, session="c"),
        tried(0.5, 0.1, session="d", word=Confidence.MODEL),
    ])  # fmt: skip
    assert [each.confidence for each in tallies] == [Confidence.MEASURED, Confidence.MODEL]
    measured, model = tallies
    assert (measured.tries, measured.agreed.hits, measured.agreed.of, measured.gained.hits) == (3, 1, 3, 2)
    assert measured.error == pytest.approx(0.15)
    assert measured.bias == pytest.approx(-0.15)
    assert (model.tries, model.agreed.hits, model.gained.hits) == (1, 0, 1)


def test_what_has_no_interval_or_promise_is_no_hit_and_no_miss():
    (told,) = calibrate([tried(None, 0.1, session="a"), tried(0.2, 0.2, session="b", half=None)])
    assert told.agreed is None
    assert (told.gained.hits, told.gained.of) == (1, 1), "what has no interval is not known to have gained"
    assert told.error == pytest.approx(0.0)


def test_upper_bounds_and_noise_neither_agree_nor_gain():
    """Up to + 40 % was called possible; 1 % and 0.5 % came, of which one may be noise."""
    bound = Gain(value=0.4, unit="fraction", low=0.0, high=0.4)
    tries = [
        replace(tried(0.2, value, session=name, half=half), predicted=bound)
        for name, value, half in (("a", 0.01, 0.005), ("b", 0.005, 0.02))
    ]
    (told,) = calibrate(tries)
    assert (told.agreed, told.open, told.gained.hits, told.gained.of) == (None, 2, 1, 2)
    (poor,) = calibrate([tried(0.2, 0.2, half=0.2)])
    assert (poor.agreed, poor.open, poor.gained.hits) == (None, 0, 0), "known too poorly to show that it holds"


def test_an_advice_tried_again_counts_once_with_the_last_word():
    (told,) = calibrate([tried(0.2, 0.0), tried(0.2, 0.2)])
    assert (told.tries, told.agreed.hits) == (1, 1)
    assert tried(0.2, 0.0).verdict is Verdict.NO_GAIN


def test_nothing_tried_is_no_tally():
    assert calibrate([]) == ()


@pytest.mark.parametrize(
    ("memory", "said", "hits"),
    [(-0.4, Verdict.SAVES, 1), (0.0, Verdict.SAVES_NOTHING, 0), (None, Verdict.SAVES_NOTHING, 0)],
)
def test_what_is_to_save_memory_is_judged_by_memory(memory, said, hits):
    """Checkpointing is slower; that is no failure of it."""
    slower = replace(tried(None, -0.25), aim="memory", memory_change=memory)
    assert slower.verdict is said
    (told,) = calibrate([slower])
    assert (told.gained.hits, told.agreed, told.error) == (hits, None, None)


@pytest.mark.parametrize("memory", [-0.4, 0.0, None])
def test_no_saving_of_memory_is_worth_nearly_all_of_the_rate(memory):
    """2 × 128 in place of 256: 147 samples/s in place of 5200."""
    assert replace(tried(None, -0.972), aim="memory", memory_change=memory).verdict is Verdict.LOSS
