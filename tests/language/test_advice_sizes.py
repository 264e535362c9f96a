"""What an advice about sizes says, with the figures of users' situations."""

import pytest

from gputuner.language.advice import advice_why
from gputuner.language.errors import error
from gputuner.language.warnings import warning
from gputuner.model.advice import Advice, Confidence

MIB = 1 << 20


def why(rule, **params):
    return advice_why(Advice(id=rule, card="c", params=params, evidence=("p",), confidence=Confidence.MEASURED))


def accumulated(**more):
    shared = {"workload": "mine.py:make", "precision": "fp32", "effective": 64, "micro": 16, "steps": 4}
    return why("batch.accumulate", **shared, safe=24, needed=True, does_not_fit=64, **more)


def test_c042_what_does_not_fit_is_told_with_free_memory_and_what_to_do():
    told = warning("does_not_fit", {"workload": "mine.py:make", "batch": 1, "free_bytes": 592 * MIB})
    assert "592 MiB" in told
    assert "End what else holds memory" in told
    short = {"workload": "mine.py:make", "batch": 1, "free_bytes": 592 * MIB, "needed_bytes": 1110 * MIB}
    for said in (warning("does_not_fit", short), error("nothing_fits", short)):
        assert "needs at least 1.08 GiB, and 592 MiB were free" in said


def test_c047_another_effective_batch_is_named_with_its_change():
    told = accumulated(other_micro=24, other_steps=3, other_effective=72, other_change=0.125)
    assert "24 × 3" in told
    assert "72 (+12 %)" in told


def test_c048_the_rest_is_said_to_be_applied_with_its_own_scale():
    told = accumulated(data_set=1000, micro_batches=63, last_micro=8, full_windows=15, rest=3, epoch_steps=16)
    assert "63 micro batches, the last of 8: 15 full windows of 4 and a rest of 3" in told
    assert "weighed by its own samples" in told
    assert "16 optimizer steps" in told
    even = accumulated(data_set=1024, micro_batches=64, last_micro=16, even_windows=16, epoch_steps=16)
    assert "rest" not in even


def test_c049_what_acts_once_per_window_is_said():
    assert "scheduler act once per 4 micro batches" in accumulated()


def test_c050_steps_per_epoch_are_listed():
    told = why(
        "batch.fastest", workload="mine.py:make", precision="fp32", batch=2, rate=10.0, data_set=100, epoch_steps=50
    )
    assert "100 samples an epoch is 50 optimizer steps" in told


@pytest.mark.parametrize("rule", ["batch.fastest", "batch.safe_limit", "batch.accumulate"])
def test_c039_a_last_batch_of_one_sample_is_warned_of(rule):
    told = why(rule, workload="w", precision="fp32", batch=10, verified=True, data_set=1001, remainder_one=10)
    assert "drop_last=True" in told
    assert "drop_last" not in why(rule, workload="w", precision="fp32", batch=143, verified=True, data_set=1001)


def test_c040_the_length_that_was_tried_is_said():
    told = why("batch.safe_limit", workload="w", precision="fp32", safe=40, verified=True, sample_shape="1900")
    assert "Tried with samples of 1900" in told


def test_c037_and_c045_what_limits_and_both_peaks_are_said():
    told = why("batch.safe_limit", workload="w", precision="fp32", safe=60000, verified=True, data_set_limit=60000)
    assert "60000 is the whole data set" in told
    peaks = {
        "peak_batch": 8,
        "first_peak_bytes": 9849 * MIB,
        "later_peak_bytes": 5016 * MIB,
        "headroom_bytes": 391 * MIB,
    }
    told = why("batch.safe_limit", workload="w", precision="fp32", safe=8, verified=True, **peaks)
    assert "9.62 GiB" in told
    assert "4.9 GiB" in told
    assert "391 MiB" in told
    assert "autotuner" in told
