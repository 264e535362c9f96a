"""Accumulation keeps the effective batch and is only proposed where it helps."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.advice.accumulate import accumulate_rule, split
from gputuner.language.advice import advice_why
from gputuner.model.advice import Confidence


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
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert told.params["needed"] is True
    assert (told.params["micro"], told.params["steps"]) == (64, 4)
    assert told.params["rate"] == 950.0


def test_saves_memory_where_a_smaller_batch_is_as_fast(lab):
    points = (*lab.ladder(), *lab.limits(552, 496, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert told.params["needed"] is False
    assert (told.params["micro"], told.params["steps"]) == (128, 2)
    saved = told.params["memory_effective_bytes"] - told.params["memory_micro_bytes"]
    assert saved == pytest.approx(128 * 4.5e7, rel=0.01)


def test_nothing_to_save_where_only_the_whole_batch_is_as_fast(lab):
    points = [lab.rate(f"r{b}", b, v) for b, v in ((32, 800.0), (64, 900.0), (128, 970.0), (256, 1005.0))]
    points += lab.limits(552, 496, 256)
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=256)) == []


def test_an_effective_batch_without_divisors_is_not_run_one_by_one(lab):
    """257 is prime: 257 × 1 would be exact and useless."""
    points = (*lab.ladder(), *lab.limits(72, 64, 64))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=257)) == []
    points = (*lab.ladder(), *lab.limits(552, 496, 128))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=257)) == []


def test_a_split_that_saves_no_memory_is_not_named(lab):
    flat = {"allocated_peak_bytes": 4 << 30}
    points = [lab.rate(f"r{b}", b, v, extra=flat) for b, v in ((64, 950.0), (128, 1000.0), (256, 1005.0))]
    points += lab.limits(552, 496, 128)
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=256)) == []


def test_the_rate_that_is_called_the_same_was_measured(lab):
    """192 is divided by 96 and 64: 96 was not measured, 64 is 5 % slower."""
    points = (*lab.ladder(), *lab.limits(552, 496, 128))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=192)) == []
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=384))
    assert (told.params["micro"], told.params["steps"], told.confidence) == (128, 3, Confidence.MODEL)


def test_behind_a_cliff_the_batch_is_split_though_it_fits(lab):
    points = [lab.rate(f"r{b}", b, v) for b, v in ((1024, 6000.0), (2048, 6666.0))]
    points.append(lab.rate("safe", 2912, 4310.0, phase="safe"))
    points += lab.limits(3240, 2912, 2048, rate=4310.0)
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=2560))
    assert (told.params["micro"], told.params["steps"]) == (1280, 2)
    assert "slow_at_once" in told.params
    assert "does_not_fit" not in told.params


def test_the_code_is_in_the_format_that_is_advised(lab):
    points = (*lab.ladder(), *lab.limits(140, 120, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert "autocast" in told.snippet
    assert "bfloat16" in told.snippet
    assert "batch norm" in told.snippet.lower()


def test_an_owners_largest_batch_is_no_want_of_memory(lab):
    limits = [
        replace(p, extra={**p.extra, "asked_most": 64}) if p.metric == "batch_limit" else p
        for p in lab.limits(64, 64, 64)
    ]
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder()[:2], *limits))
    (told,) = accumulate_rule(evidence)
    assert (told.params["micro"], told.params["steps"]) == (64, 4)
    assert told.params["asked_most"] == 64
    assert "does_not_fit" not in told.params
    assert "64 samples at once are the most that you asked for." in advice_why(told)
