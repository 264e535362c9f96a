"""Rank by gain × probability, as advice that was tried bore its kind out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.advice.chances import KIND_COUNTS_AS, PROBABILITY, Chances, Held, came_true, chances, kind_of
from gputuner.advice.making import make
from gputuner.advice.rules import advise
from gputuner.analysis.calibration import Tried
from gputuner.analysis.interleaved import Compared
from gputuner.model.advice import Confidence, Gain

PROMISED = Gain(value=0.10, unit="fraction", low=0.08, high=0.12)
UP_TO = Gain(value=0.20, unit="fraction", low=0.0, high=0.40)


def tried(advice, value, *, session, predicted=PROMISED, half=0.01, word=Confidence.MEASURED, **more):
    low, high = (None, None) if half is None else (value - half, value + half)
    return Tried(
        session=session, advice=advice, card="GPU-1", confidence=word, predicted=predicted,
        found=Compared(value=value, low=low, high=high, trials=16), **more,
    )  # fmt: skip


def given_advice(identity, gain=PROMISED, **more):
    return make(identity, "GPU-1", {}, ["p"], gain=gain, **more)


def record(kinds):
    """Tries of ``kind=(hits, of)``: hits as promised, the others without any gain."""
    told = [
        tried(kind, 0.10 if number < hits else 0.0, session=f"s{number}")
        for kind, (hits, of) in kinds.items()
        for number in range(of)
    ]
    return chances(told)


def test_what_failed_three_of_four_times_ranks_below_what_held_four_of_four():
    known = record({"batch.fastest": (1, 4), "precision.best": (4, 4)})
    failed, held = (known.ranked(given_advice(kind)) for kind in ("batch.fastest", "precision.best"))
    assert held.rank > failed.rank
    # the mean of a beta posterior: the word of the others (0.9 as 8 tries, theirs added), which counts as 4 tries
    towards = (4 + 8 * 0.9) / (4 + 8)
    assert failed.rank == pytest.approx(100 * 0.10 * (1 + 4 * towards) / (4 + 4))
    assert held.rank == pytest.approx(100 * 0.10 * (4 + 4 * (1 + 8 * 0.9) / (4 + 8)) / (4 + 4))
    assert (failed.params["tries_held"], failed.params["tries"]) == (1, 4)


def test_without_tries_the_rank_is_as_it_was():
    plain = given_advice("batch.fastest", weight=2.0)
    assert Chances().ranked(plain) == plain
    assert plain.rank == pytest.approx(100 * 0.10 * 0.9 + 2.0)


def test_few_tries_move_little_and_many_speak_for_themselves():
    prior = PROBABILITY[Confidence.MEASURED]
    after = [record({"batch.fastest": (0, count)}).of(Confidence.MEASURED, "batch.fastest") for count in (1, 4, 400)]
    assert prior > after[0] > after[1] > after[2]
    assert after[0] == pytest.approx(prior * KIND_COUNTS_AS / (KIND_COUNTS_AS + 1))
    assert after[2] < 0.01


def test_a_word_is_borne_out_by_other_kinds_and_says_nothing_of_other_words():
    known = record({"batch.fastest": (0, 8)})
    assert known.of(Confidence.MEASURED, "precision.best") == pytest.approx((0 + 8 * 0.9) / (4 + 8)), "as 4 tries"
    assert known.of(Confidence.MODEL, "batch.fastest") == PROBABILITY[Confidence.MODEL]


def test_only_the_part_that_rests_on_a_gain_is_weighed_anew():
    known = record({"batch.fastest": (0, 4)})
    told = known.ranked(given_advice("batch.fastest", weight=2.0, risk=True))
    assert told.rank == pytest.approx(0.5 * (100 * 0.10 * 0.9 * 0.5 + 2.0))
    assert known.ranked(make("batch.fastest", "GPU-1", {}, ["p"], weight=2.0)).rank == 2.0


@pytest.mark.parametrize(
    ("told", "held"),
    [
        (tried("a", 0.10, session="s"), True),
        (tried("a", 0.30, session="s"), True),  # more than promised: the gain came
        (tried("a", 0.04, session="s"), False),
        (tried("a", -0.10, session="s"), False),
        (tried("a", 0.10, session="s", half=0.10), None),  # too poorly known
        (tried("a", 0.10, session="s", half=None), None),
        (tried("a", 0.10, session="s", predicted=None), None),
        (tried("a", 0.05, session="s", predicted=UP_TO), True),
        (tried("a", 0.00, session="s", predicted=UP_TO), False),
        (tried("a", 0.10, session="s", predicted=UP_TO, half=0.3), None),
        (tried("a", -0.02, session="s", aim="memory", memory_change=-0.3), True),
        (tried("a", 0.0, session="s", aim="memory", memory_change=0.0), False),
        (tried("a", 0.0, session="s", aim="memory"), None),
    ],
)
def test_what_a_try_shows(told, held):
    assert came_true(told) is held


def test_an_advice_that_was_tried_again_counts_with_its_last_try():
    told = chances([tried("switches.memory:2", 0.0, session="s"), tried("switches.memory:2", 0.10, session="s")])
    assert told.held(Confidence.MEASURED, "switches.memory") == Held(hits=1, of=1)
    assert kind_of("switches.memory:2") == "switches.memory"


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_a_chance_is_one_and_more_hits_never_lower_it(hits, misses, others_hit, others_missed):
    def known(more: int) -> float:
        kinds = {
            (Confidence.MODEL, "a"): Held(hits=hits + more, of=hits + misses + 1),
            (Confidence.MODEL, "b"): Held(hits=others_hit, of=others_hit + others_missed),
        }
        return Chances(kinds).of(Confidence.MODEL, "a")

    assert 0.0 < known(0) < known(1) < 1.0


def test_the_judgement_ranks_by_the_record(lab):
    """A gain in rate of the batch, and of the layout: equal words, so the record alone turns their order round."""
    points = (
        lab.rate("s", 32, 800.0), lab.rate("f", 256, 1000.0),
        lab.rate("l", 256, 820.0, channels_last=False),
    )  # fmt: skip
    before, _asked = advise(lab.Evidence(card=lab.card(), points=points))
    order = [a.id for a in before if a.id in ("batch.fastest", "layout.channels_last")]
    assert sorted(order) == ["batch.fastest", "layout.channels_last"]
    first = order[0]
    known = record({first: (0, 40)})
    after, _asked = advise(lab.Evidence(card=lab.card(), points=points, record=known))
    assert [a.id for a in after if a.id in order] == order[::-1]
