"""Accumulation keeps the effective batch and is only proposed where it helps."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.advice.accumulate import accumulate_rule, split
from gputuner.language.advice import advice_why


def test_c047_target_64_of_which_24_fit():
    told = split(64, 24)
    assert (told.micro, told.steps) == (16, 4)
    assert (told.other_micro, told.other_steps) == (24, 3)
    assert told.other_change == pytest.approx(0.125)


def test_c047_the_advice_keeps_64_and_says_what_24_would_give(lab):
    points = [lab.rate(f"r{b}", b, v) for b, v in ((8, 500.0), (16, 700.0))] + lab.limits(26, 24, 16)
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=64))
    assert told.params["effective"] == told.params["micro"] * told.params["steps"] == 64
    assert told.params["other_effective"] == 72
    assert told.params["other_change"] == pytest.approx(0.125)


def test_c048_the_epoch_of_1000_samples_is_told(lab):
    """63 micro batches of 16, the last of 8: 15 full windows of 4 and a rest of 3."""
    own = {"data_set_samples": 1000, "allocated_peak_bytes": 1 << 30}
    points = [lab.rate(f"r{b}", b, v, extra=own) for b, v in ((8, 500.0), (16, 700.0))] + lab.limits(20, 18, 16)
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=64))
    named = ("micro", "steps", "micro_batches", "last_micro", "full_windows", "rest", "epoch_steps")
    assert [told.params[name] for name in named] == [16, 4, 63, 8, 15, 3, 16]
    assert "even_windows" not in told.params


def test_c039_micro_batches_that_leave_one_sample_to_batch_norm(lab):
    """1001 samples in micro batches of 10: the last is dropped, 100 are left."""
    own = {"data_set_samples": 1001, "batch_norm": True}
    points = [lab.rate(f"r{b}", b, v, extra=own) for b, v in ((5, 500.0), (10, 700.0))] + lab.limits(12, 10, 10)
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=20))
    assert told.params["remainder_one"] == 10
    assert (told.params["micro_batches"], told.params["even_windows"], told.params["epoch_steps"]) == (100, 50, 50)
    assert "drop_last=True" in told.snippet
    one = [lab.rate("r1", 1, 500.0, extra=own), *lab.limits(2, 2, 1)]
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(one), effective_batch=3)) == []


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_the_effective_batch_is_always_kept(effective, largest):
    told = split(effective, largest)
    assert told.micro * told.steps == effective
    assert told.micro <= largest


def test_nothing_fits():
    with pytest.raises(ValueError, match="not even one"):
        split(64, 0)


def test_needed_where_the_effective_batch_does_not_fit(lab):
    points = (*lab.ladder(), *lab.limits(140, 120, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=512))
    assert told.params["needed"] is True
    assert (told.params["micro"], told.params["steps"]) == (64, 8)
    assert told.params["rate"] == 950.0


def test_nothing_where_the_effective_batch_fits_or_nobody_asked_for_one(lab):
    """Two small batches of a busy minute say nothing of the rate at 256 (5200 samples/s there, 156 at 2)."""
    busy = [lab.rate("r1", 1, 72.9), lab.rate("r2", 2, 156.0), *lab.limits(482, 432, 2, verified=False)]
    for effective in (128, 256):
        assert accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(busy), effective_batch=effective)) == []
    short = (*lab.ladder(), *lab.limits(140, 120, 128))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=short)) == []
    fits = (*lab.ladder(), *lab.limits(552, 496, 128))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=fits, effective_batch=384)) == []


def test_an_effective_batch_that_happens_to_be_the_usual_one_is_kept_where_it_was_asked_for(lab):
    points = (*lab.ladder(), *lab.limits(140, 120, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert (told.params["effective"], told.params["micro"], told.params["steps"]) == (256, 64, 4)


def test_no_split_in_single_samples_where_16_fit(lab):
    """GPT-2 in half a minute: 16 fit, and only 1 was measured."""
    points = (lab.rate("r1", 1, 27.5), *lab.limits(18, 16, 1, verified=False, rate=None))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=100)) == []


def test_only_a_micro_batch_that_was_measured_and_its_cost_is_told(lab):
    points = (*lab.ladder(), *lab.limits(140, 130, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=320))
    assert (told.params["micro"], told.params["steps"]) == (64, 5), "80 divides it too, and was not measured"
    assert (told.params["fits"], told.params["fits_rate"]) == (128, 1000.0)
    assert told.params["cost"] == pytest.approx(-0.05)
    assert "At 128, which fits and is the fastest measured, it is 1000 samples/s: the split costs -5 %." in advice_why(
        told
    )
    near = [lab.rate("r64", 64, 985.0), lab.rate("r128", 128, 1000.0), *lab.limits(140, 130, 128)]
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(near), effective_batch=320))
    assert "the same within 2 %" in advice_why(told)
    assert "cost" not in told.params


def test_an_effective_batch_without_divisors_is_not_run_one_by_one(lab):
    """257 is prime: 257 × 1 would be exact and useless."""
    points = (*lab.ladder(), *lab.limits(72, 64, 64))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=257)) == []


def test_behind_a_cliff_the_batch_is_split_though_it_fits(lab):
    points = [lab.rate(f"r{b}", b, v) for b, v in ((1024, 6000.0), (1280, 6300.0), (2048, 6666.0))]
    points.append(lab.rate("safe", 2912, 4310.0, phase="safe"))
    points += lab.limits(3240, 2912, 2048, rate=4310.0)
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=2560))
    assert (told.params["micro"], told.params["steps"]) == (1280, 2)
    assert "slow_at_once" in told.params
    assert "does_not_fit" not in told.params


def test_the_code_is_in_the_format_that_is_advised(lab):
    points = (*lab.ladder(), *lab.limits(140, 120, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=512))
    assert "autocast" in told.snippet
    assert "bfloat16" in told.snippet
    assert "batch norm" in told.snippet.lower()


def test_an_owners_largest_batch_is_no_want_of_memory(lab):
    limits = [
        replace(p, extra={**p.extra, "asked_most": 64}) if p.metric == "batch_limit" else p
        for p in lab.limits(64, 64, 64)
    ]
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder()[:2], *limits), effective_batch=128)
    (told,) = accumulate_rule(evidence)
    assert (told.params["micro"], told.params["steps"]) == (64, 2)
    assert told.params["asked_most"] == 64
    assert "does_not_fit" not in told.params
    assert "64 samples at once are the most that you asked for." in advice_why(told)
