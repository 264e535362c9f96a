"""Batch rules."""

from dataclasses import replace

import pytest

from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.advice.rules import advise
from gputuner.language.sentences import advice_action, advice_title, advice_why
from gputuner.model.advice import Confidence
from gputuner.model.points import Flag


def test_fastest_is_the_smallest_within_the_band_and_gains_over_the_usual_batch(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    assert told.params["batch"] == 128
    assert told.params["reference_batch"] == 32
    assert told.gain.value == pytest.approx(0.25)
    assert told.gain.low < 0.25 < told.gain.high
    assert set(told.evidence) == {"r128", "r32", "r256"}
    assert "batch_size=128" in told.snippet
    assert told.params["workload"] == "resnet50"
    assert told.params["still_rising"] is False


def test_a_rate_that_still_rises_says_so(lab):
    points = (lab.rate("a", 32, 100.0), lab.rate("b", 64, 190.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["still_rising"] is True


def test_rates_of_other_phases_and_too_slow_ones_do_not_count(lab):
    points = (
        *lab.ladder(),
        lab.rate("hot", 512, 2000.0, phase="sustained"),
        lab.rate("slow", 512, 2000.0, flags=(Flag.TOO_SLOW,)),
    )
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["batch"] == 128


def test_one_batch_is_no_comparison(lab):
    assert fastest_rule(lab.Evidence(card=lab.card(), points=(lab.rate("a", 32, 100.0),))) == []


def test_safe_limit_keeps_limit_safe_and_fastest_apart(lab):
    near = lab.rate("near", 552, 470.0, phase="limit")
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder(), near, *lab.limits(552, 496, 128)))
    (told,) = safe_rule(evidence)
    assert told.params["limit_rate"] == 470.0
    assert (told.params["limit"], told.params["safe"], told.params["fastest"]) == (552, 496, 128)
    assert told.params["fails"] == 568
    assert told.params["safe_rate"] == 990.0
    assert told.confidence is Confidence.MEASURED


def test_a_predicted_limit_is_only_a_model(lab):
    evidence = lab.Evidence(card=lab.card(), points=tuple(lab.limits(552, 496, 128, verified=False)))
    (told,) = safe_rule(evidence)
    assert told.confidence is Confidence.MODEL
    assert told.params["verified"] is False


def test_safe_is_measured_only_if_that_batch_ran(lab):
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder(), *lab.limits(552, 496, 128, rate=None, ran=False)))
    (told,) = safe_rule(evidence)
    assert told.confidence is Confidence.MODEL
    assert (told.params["verified"], told.params["limit_verified"]) == (False, True)
    assert (told.params["untried"], told.params["rate_unknown"]) == (496, 496)
    assert "safe_rate" not in told.params


def test_a_safe_batch_that_ran_stands_though_the_limit_was_not_found(lab):
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder(), *lab.limits(552, 496, 128, False, ran=True)))
    (told,) = safe_rule(evidence)
    assert told.confidence is Confidence.MEASURED
    assert (told.params["untried_from"], told.params["untried_to"]) == (552, 568)


def test_never_a_batch_behind_a_cliff(lab):
    """H200: 2912 fit but run at 4310 samples/s, 2048 at 6666."""
    points = [lab.rate(f"r{b}", b, v) for b, v in ((512, 6400.0), (1024, 6610.0), (2048, 6666.0))]
    points.append(lab.rate("safe", 2912, 4310.0, phase="safe"))
    points += lab.limits(3240, 2912, 1024, rate=4310.0)
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert told.params["slower"] is True
    assert (told.params["fastest"], told.params["stay"]) == (1024, 2048)
    assert told.params["safe_loss"] == pytest.approx(1.0 - 4310 / 6666)
    said = [advice_title(told), advice_action(told), advice_why(told)]
    assert said[0] == "Fits up to 2912, but slower there: stay at 1024"
    assert said[1].startswith("Keep the batch of ResNet-50 in BF16 at 1024;")
    assert "4310 samples/s" in said[2]
    assert "2048" in said[2]
    (quick,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=4096))
    assert quick.params["batch"] == 1024


def test_a_batch_beyond_the_effective_one_needs_care_and_is_compared_with_what_does_not(lab):
    points = tuple(lab.rate(f"r{b}", b, v) for b, v in ((32, 800.0), (256, 950.0), (512, 1000.0)))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert told.risk is True
    assert (told.params["within"], told.params["within_rate"]) == (256, 950.0)
    assert told.params["within_loss"] == pytest.approx(0.05)
    assert "tune the learning rate anew" in told.snippet
    why = advice_why(told)
    assert "Beyond 256 samples per optimizer step the learning rate must be tuned anew." in why
    assert "256 stays within that and gives 950 samples/s, 5 % less." in why
    (harmless,) = fastest_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=512))
    assert harmless.risk is False
    assert "beyond" not in harmless.params
    assert harmless.rank == pytest.approx(2 * told.rank)


@pytest.mark.parametrize("flag", [Flag.NOT_STEADY, Flag.SPREAD])
def test_the_reference_is_one_that_settled(lab, flag):
    points = (lab.rate("a", 32, 700.0, flags=(flag,)), lab.rate("b", 64, 950.0), lab.rate("c", 128, 1000.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["reference_batch"] == 64
    assert "scattered" not in told.params


def test_where_no_reference_settled_it_says_so(lab):
    points = tuple(lab.rate(f"r{b}", b, v, flags=(Flag.SPREAD,)) for b, v in ((32, 800.0), (64, 950.0)))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["reference_batch"] == 32
    assert told.params["scattered"] is True


def test_no_gain_over_a_reference_that_is_as_fast(lab):
    points = (lab.rate("a", 16, 995.0), lab.rate("b", 32, 1000.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert (told.params["batch"], told.gain) == (16, None)


def test_no_batch_at_or_above_what_failed_later_is_recommended(lab):
    points = (*lab.ladder(), lab.rate("r512", 512, 1200.0), *lab.limits(400, 360, 128))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=512))
    assert told.params["batch"] == 128


def test_a_check_of_memory_that_is_far_faster_asks_to_measure(lab):
    """A minute on a processor: 32 was the largest that was measured, and 256 ran 3.6 times as fast in a check."""
    rates = [lab.rate(f"r{b}", b, v) for b, v in ((2, 282.0), (16, 6405.0), (32, 10936.0))]
    look = lab.rate("look", 256, 39616.0, phase="memory", flags=(Flag.NOT_STEADY,))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=(*rates, look)))
    assert (told.params["batch"], told.params["looked"], told.params["looked_rate"]) == (32, 256, 39616.0)
    assert advice_title(told) == "Batch size 32 or more"
    why = advice_why(told)
    assert "Larger batches look faster: 256 ran at 39616 samples/s in a check of memory" in why
    assert "the largest measured:" not in why
    assert "scattered" not in told.params
    assert "look" in told.evidence
    near = lab.rate("look", 256, 11000.0, phase="memory")
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=(*rates, near)))
    assert "looked" not in told.params


def test_a_gain_that_could_be_anything_is_none(lab):
    """+769 % (+21 % … +6119 %) over a batch of 8 on a busy machine."""
    base = lab.rate("a", 32, 1259.0)
    wide = replace(base, spread=replace(base.spread, ci95_low=300.0, ci95_high=5000.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=(wide, lab.rate("b", 64, 10936.0))))
    assert told.gain is None
    assert told.change is not None
    assert "How much that gains over 32 cannot be told from these figures." in advice_why(told)
    restless = (replace(wide, flags=(Flag.SPREAD,)), lab.rate("b", 64, 10936.0, flags=(Flag.SPREAD,)))
    told, asked = advise(lab.Evidence(card=lab.card(), points=restless))
    assert "batch.fastest" not in [entry.id for entry in told]
    assert "scattered" in [question.id for question in asked]
    touching = replace(base, spread=replace(base.spread, ci95_low=1100.0, ci95_high=1450.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=(touching, lab.rate("b", 64, 1400.0))))
    assert told.gain is None


def test_what_a_gain_is_against_is_told(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    assert told.gain is not None
    assert "The gain is against a batch of 32, not against the batch that you train with now." in advice_why(told)
