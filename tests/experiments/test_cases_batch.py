"""Users' situations C-037 … C-046 as the plan for batch sizes meets them, with the cases' own figures."""

from dataclasses import replace

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
    """592 MiB are free, one sample needs 1110: both are told, no size is, and the exit code is of its own."""
    card = case_card(lab, 8192 - 7600, 900.0, 210.0)
    heard = lab.Performed()

    class Heard(lab.Performer):
        def answer(self, step, told):
            heard.steps.append(step)
            return super().answer(step, heard)

    with pytest.raises(DoesNotFit) as ended:
        Heard(card).perform(Batch(**RECIPE).plan(lab.context_of(card, free_bytes=592 * MIB)))
    assert ended.value.exit_code is ExitCode.DOES_NOT_FIT
    assert [warned.params["free_bytes"] for warned in heard.warned] == [592 * MIB]
    assert [warned.params["needed_bytes"] for warned in heard.warned] == [1110 * MIB]
    assert (ended.value.params["free_bytes"], ended.value.params["needed_bytes"]) == (592 * MIB, 1110 * MIB)
    assert sizes(heard)[-1] == 1
    assert heard.points == []


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
    assert limit.value == pytest.approx(141, rel=0.03)
    assert "worker_lost" not in told.codes()


CUDNN = UserCodeFailed(message="cuDNN error: CUDNN_STATUS_NOT_SUPPORTED", traceback="", reason="unsupported")
NONZERO = UserCodeFailed(message="nonzero is not supported for tensors with more than INT_MAX elements", traceback="")


@pytest.mark.parametrize("limit_only", [False, True])
@pytest.mark.parametrize("error", [CUDNN, NONZERO])
def test_c046_an_ambiguous_error_above_a_size_is_a_size_limit(lab, limit_only, error):
    """Above 512 with 9000 MiB free."""
    card = case_card(lab, 24564, 500.0, 15.0)

    def script(step):
        return error if isinstance(step, Work) and step.params["batch"] > 512 else None

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


def with_notes(lab, card, **notes):
    """Whose worker tells more of the recipe."""

    class Telling(lab.Performer):
        def trial(self, work, slowdown):
            trial = super().trial(work, slowdown)
            return replace(trial, notes={**trial.notes, **notes})

    return Telling(card)


@pytest.mark.parametrize("limit_only", [False, True])
def test_c037_a_tiny_model_is_limited_by_its_data_set(lab, limit_only):
    """24564 MiB, 30 + 0.004 a sample: memory would hold six million of the 60000 samples."""
    rates = [(2, 2e4), (2048, 2e6), (16384, 4e6), (65536, 4.02e6)]
    card = case_card(lab, 24564, 30.0, 0.004, rates)
    plan = Batch(**RECIPE, limit_only=limit_only).plan(lab.context_of(card, minutes=4.0))
    told = with_notes(lab, card, data_set_samples=60000).perform(plan)
    (limit,), (safe,) = told.of("batch_limit"), told.of("batch_safe")
    assert limit.value == safe.value == limit.extra["data_set_limit"] == 60000
    assert limit.params["verified"] is safe.params["verified"] is True
    assert max(sizes(told)) == 60000
    assert len(set(sizes(told))) <= 18
    assert "fails" not in limit.extra
    if not limit_only:
        (fastest,) = told.of("batch_fastest")
        assert fastest.value == fastest.extra["knee"] == 16384


def test_without_a_data_set_no_size_is_tried_that_no_training_takes(lab):
    """The same tiny model, nothing known of its data set."""
    card = case_card(lab, 24564, 30.0, 0.004, [(2, 2e4), (2048, 2e6), (16384, 4e6), (65536, 4.02e6)])
    told = played(lab, card, limit_only=True)
    (limit,) = told.of("batch_limit")
    assert limit.value == limit.extra["size_most"] == 1 << 20


def test_a_data_set_that_does_not_fit_leaves_the_limit_to_memory(lab):
    card = case_card(lab, 4096, 200.0, 100.0)  # 38 samples of 39
    card.usable = 0.9  # 34
    plan = Batch(**RECIPE).plan(lab.context_of(card, minutes=6.0))
    told = with_notes(lab, card, data_set_samples=38).perform(plan)
    (limit,) = told.of("batch_limit")
    assert 32 <= limit.value <= 34 < limit.extra["fails"] <= 38
    assert "data_set_limit" not in limit.extra


def test_c039_with_batch_norm_a_batch_of_one_is_never_proposed(lab):
    """Smaller is as fast here, and would be proposed without batch norm."""
    flat = [(1, 400.0), (64, 401.0)]
    told = with_notes(lab, case_card(lab, 8192, rates=flat), batch_norm=True).perform(
        Batch(**RECIPE).plan(lab.context_of(case_card(lab, 8192, rates=flat), minutes=6.0))
    )
    assert told.of("batch_fastest")[0].value == 2
    assert (
        min(step.params["batch"] for step in told.steps if isinstance(step, Work) and "energy" not in step.label) == 2
    )
    told = with_notes(lab, case_card(lab, 8192, rates=flat)).perform(
        Batch(**RECIPE).plan(lab.context_of(case_card(lab, 8192, rates=flat), minutes=6.0))
    )
    assert told.of("batch_fastest")[0].value == 1


def test_c039_where_only_two_fit_no_safe_size_is_left_with_batch_norm(lab):
    card = case_card(lab, 450, 200.0, 100.0)  # two samples
    plan = Batch(**RECIPE).plan(lab.context_of(card, minutes=6.0))
    told = with_notes(lab, card, batch_norm=True).perform(plan)
    assert not [p for p in told.of("batch_safe") if p.value == 1]


def test_c039_the_error_at_batch_one_is_not_memory(lab):
    """Two samples do not fit; one fails with batch norm's own error."""
    norm = "Expected more than 1 value per channel when training"
    told = UserCodeFailed(message=norm, traceback=f'Traceback:\n  File "mine.py", line 2, in f\nValueError: {norm}\n')
    with pytest.raises(UserCodeError) as ended:
        played(lab, case_card(lab, 8192), lambda step: FULL if step.params["batch"] > 1 else told)
    assert norm in ended.value.params["where"]


@pytest.mark.parametrize(("tokens", "expected"), [(1900, 45), (120, 721)])
def test_c040_the_limit_is_that_of_the_length_that_was_tried(lab, tokens, expected):
    """11019 MiB, 1500 + 0.11 a token: 45 of the longest, 721 of the median."""
    card = case_card(lab, 11019, 1500.0, 0.11 * tokens)
    told = played(lab, card, limit_only=True)
    (limit,) = told.of("batch_limit")
    assert limit.value <= expected < limit.extra["fails"]
    assert limit.value == pytest.approx(expected, rel=0.06)


def test_c040_samples_that_differ_in_length_are_warned_of_once(lab):
    card = case_card(lab, 11019, 1500.0, 13.2)
    plan = Batch(**RECIPE).plan(lab.context_of(card, minutes=6.0))
    told = with_notes(lab, card, shapes_vary=True, sample_shape="120").perform(plan)
    (warned,) = [w for w in told.warned if w.code == "lengths_vary"]
    assert warned.params["shape"] == "120"
    assert "lengths_vary" not in played(lab, card).codes()


class NeverFails:
    """A driver that spills: 8192 MiB, 575 a sample; steps of 0.21 s at 8, 0.3 s at 12, 9.8 s at 16."""

    def __init__(self, lab):
        self.card = case_card(lab, 8192, 600.0, 575.0, [(8, 8 / 0.21), (12, 40.0), (13, 40.0), (14, 1.6), (32, 0.8)])
        self.card.usable = 1e6


@pytest.mark.parametrize("limit_only", [False, True])
def test_c041_what_spills_to_system_memory_does_not_fit(lab, limit_only):
    card = NeverFails(lab).card
    told = played(lab, card, limit_only=limit_only, minutes=10.0)
    (limit,), (safe,) = told.of("batch_limit"), told.of("batch_safe")
    assert 12 <= limit.value <= 13 < limit.extra["fails"]
    assert safe.value <= 12
    assert "memory_spill" in told.codes()
    assert max(sizes(told)) <= 32
    rates = [p.value for p in told.of("train_throughput")]
    assert min(rates) > 1.6, "no figure of a spilled size"


def test_c041_a_cliff_between_neighbours_with_memory_nearly_full_is_a_spill(lab):
    """Half a GiB is the desktop's: sizes spill before their own need reaches the card's memory."""
    card = NeverFails(lab).card
    card.rates["fp32"] = [(8, 8 / 0.21), (11, 40.0), (12, 1.6), (32, 0.8)]
    told = played(lab, card, minutes=10.0)
    assert told.of("batch_limit")[0].value <= 11
    assert "memory_spill" in told.codes()


def test_a_fall_to_half_or_with_failed_allocations_is_no_spill(lab):
    """EDSR under a cap ran at a third to half of its best rate near the limit."""
    card = case_card(lab, 8192, 600.0, 575.0, [(8, 38.0), (11, 40.0), (12, 15.0), (32, 15.0)])
    assert "memory_spill" not in played(lab, card, minutes=10.0).codes()
