"""Users' situations C-037 … C-046 as the plan for batch sizes meets them, with the cases' own figures."""

import pytest

from gputuner.experiments.batch import Batch
from gputuner.model.errors import DoesNotFit, ExitCode, UserCodeError
from gputuner.model.steps import Lost, OutOfMemory, UserCodeFailed, Work

MIB = 1 << 20
RECIPE = {"recipe": "mine.py:make", "folder": "/home/someone", "precision": "fp32"}
FULL = OutOfMemory(message="CUDA out of memory", free_bytes=1 << 20)


def case_card(lab, device_mib, fixed_mib=200.0, per_sample_mib=100.0, rates=None):
    """A card of the case's size with the case's line of memory."""
    card = lab.h200()
    card.memory = {"fp32": (fixed_mib * MIB, per_sample_mib * MIB)}
    card.capacity, card.usable = float(device_mib * MIB), 1.0
    card.rates = {"fp32": rates or [(1, 20.0), (16, 150.0), (64, 400.0), (4096, 420.0)]}
    card.layout_factor = 1.0
    return card


def played(lab, card, script=None, *, limit_only=False, minutes=6.0, **changes):
    plan = Batch(**RECIPE, limit_only=limit_only).plan(lab.context_of(card, minutes=minutes, **changes))
    return lab.Performer(card, script).perform(plan)


def sizes(told):
    """Batches that were tried, in order."""
    return [step.params["batch"] for step in told.steps if isinstance(step, Work)]


def test_c038_a_hole_between_two_successes_does_not_end_the_search(lab):
    """1, 2, 4, 8, 24 and 32 run, 16 does not, 48 and 64 do not."""
    card = case_card(lab, 4096, 200.0, 100.0)  # 38 samples

    def script(step):
        return FULL if isinstance(step, Work) and step.params["batch"] == 16 else None

    told = played(lab, card, script)
    assert [w.params["batch"] for w in told.warned if w.code == "batch_hole"] == [16]
    (limit,), (safe,), (fastest,) = (told.of(f"batch_{name}") for name in ("limit", "safe", "fastest"))
    assert 32 <= limit.value <= 38 < limit.extra["fails"] <= 48
    assert safe.params["verified"] is True
    assert 16 not in (safe.value, fastest.value)


def test_c042_nothing_fits_beside_other_programs(lab):
    """592 MiB are free, one sample needs 1110: no number, the free memory, and an exit code of its own."""
    card = case_card(lab, 8192 - 7600, 900.0, 210.0)
    with pytest.raises(DoesNotFit) as ended:
        played(lab, card, free_bytes=592 * MIB)
    assert ended.value.exit_code is ExitCode.DOES_NOT_FIT
    performer, told = lab.Performer(card), lab.Performed()
    plan = Batch(**RECIPE).plan(lab.context_of(card, free_bytes=592 * MIB))
    with pytest.raises(DoesNotFit):
        result = None
        while True:
            step = next(plan) if result is None else plan.send(result)
            told.steps.append(step)
            result = performer.answer(step, told)
    assert sizes(told)[-1] == 1
    assert "does_not_fit" in told.codes()
    assert told.points == []


def test_c043_an_error_of_the_users_own_ends_it_at_once_with_its_message(lab):
    tried = []
    broken = UserCodeFailed(
        message="shapes (B,10) and (12,) do not match",
        traceback='Traceback (most recent call last):\n  File "/home/someone/mine.py", line 9, in loss\n'
        "    return (outputs - targets).mean()\nValueError: shapes (B,10) and (12,) do not match\n",
    )

    def script(step):
        tried.append(step.params["batch"])
        return broken

    with pytest.raises(UserCodeError) as ended:
        played(lab, case_card(lab, 8192), script)
    assert len(tried) <= 2
    assert "shapes (B,10) and (12,) do not match" in ended.value.params["where"]
    assert 'mine.py", line 9' in ended.value.params["where"]
    assert ended.value.exit_code not in (ExitCode.DOES_NOT_FIT, ExitCode.DONE)


@pytest.mark.parametrize("limit_only", [False, True])
def test_c044_what_fails_after_out_of_memory_in_the_same_process_is_no_size(lab, limit_only):
    """15360 MiB, 1200 + 100 a sample: 141 run. A process that ran out of memory once fails at any size after."""
    card = case_card(lab, 15360, 1200.0, 100.0)
    spoiled = [False]

    def script(step):
        if step.fresh:
            spoiled[0] = False
        if spoiled[0]:
            return Lost(message="CUDA error: an illegal memory access was encountered")
        spoiled[0] = card.need(step.params) > card.capacity
        return None

    told = played(lab, card, script, limit_only=limit_only)
    (limit,) = told.of("batch_limit")
    assert limit.params["verified"] is True
    assert limit.value <= 141 < limit.extra["fails"]
    assert limit.value == pytest.approx(141, abs=8), "one step of the search"
    assert "worker_lost" not in told.codes()


CUDNN = UserCodeFailed(message="cuDNN error: CUDNN_STATUS_NOT_SUPPORTED", traceback="", reason="unsupported")


@pytest.mark.parametrize("limit_only", [False, True])
def test_c046_an_ambiguous_error_above_a_size_is_a_size_limit(lab, limit_only):
    """Above 512 with 9000 MiB free."""
    card = case_card(lab, 24564, 500.0, 15.0)

    def script(step):
        return CUDNN if isinstance(step, Work) and step.params["batch"] > 512 else None

    told = played(lab, card, script, limit_only=limit_only, minutes=10.0)
    (limit,) = told.of("batch_limit")
    assert limit.extra["size_limit"] is True
    assert limit.value <= 512 < limit.extra["fails"]
    assert limit.value == pytest.approx(512, rel=0.06)
    assert "size_limit" in told.codes()


def test_c046_the_same_error_at_every_size_ends_it_with_this_error(lab):
    with pytest.raises(UserCodeError) as ended:
        played(lab, case_card(lab, 24564), lambda step: CUDNN if isinstance(step, Work) else None)
    assert "CUDNN_STATUS_NOT_SUPPORTED" in ended.value.params["where"]
