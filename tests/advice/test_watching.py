"""Advice for a watched training: what is told, with which gain, and what is left to measure."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gputuner.advice.watching import advise_watched
from gputuner.analysis.watching import where_time_went
from gputuner.analysis.watching_points import figures
from gputuner.language.advice import advice_action, advice_title, advice_why, question
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.points import Conditions, Point, Spread
from gputuner.model.watched import CardUse, LoaderSeen, Observed, TreeUse

GIB = 1 << 30
CARD = CardInfo(uuid="GPU-1", index=0, name="NVIDIA GeForce RTX 3090", compute_capability="8.6")
CPU = CardInfo(uuid=CPU_CARD, index=0, name="cpu")
SEEN = Observed(
    pid=1,
    program="train.py",
    device="cuda",
    uuids=("GPU-1",),
    steps=100,
    timed_steps=100,
    covered_steps=100,
    step_s=Spread(n=100, median=0.1, iqr=0.001),
    step_series_s=(0.1,) * 20,
    training_s=10.0,
    covered_s=10.0,
    batches=100,
    samples=3200,
    batch_size=32,
    rate_per_s=320.0,
    operations_per_step=100.0,
    memory_total_bytes=24 * GIB,
    reserved_peak_bytes=9 * GIB,
    allocated_peak_bytes=8 * GIB,
    ended=True,
    parameter_dtype="float32",
    autocast="off",
    tf32_matmul=False,
    optimizer="AdamW",
    loaders=(LoaderSeen(num_workers=0, batch_size=32),),
)


def used(busy: float, **more: float) -> CardUse:
    return CardUse(
        uuid="GPU-1",
        conditions=Conditions(duration_s=10.0, samples=50, gpu_utilisation=busy),
        memory_total_bytes=24 * GIB,
        **more,
    )


def advised(
    seen: Observed | None, *cards: CardUse, card: CardInfo = CARD, cores: float = 16, cpu_s: float | None = None
) -> tuple[dict[str, Advice], Sequence[Question]]:
    use = TreeUse(duration_s=10.0, cards=cards, cores=cores, cpu_s=cpu_s)
    observed = (seen,) if seen is not None else ()
    spent = where_time_went(observed, use)
    points = [
        Point(
            id=f"p{number}",
            card=card.uuid,
            metric=each.metric,
            workload=each.workload,
            params=each.params,
            value=each.value,
            unit=each.unit,
            spread=each.spread,
            flags=each.flags,
            extra=each.extra,
        )
        for number, each in enumerate(figures(observed, use, spent))
    ]
    found, asked = advise_watched(card, None, points, observed, use, spent)
    ids = {point.id for point in points} | {f"{card.uuid}:processes"}
    assert all(set(each.evidence) <= ids for each in found)
    for each in found:
        assert "{" not in advice_title(each) + advice_action(each) + advice_why(each)
        assert "—" not in advice_title(each) + advice_action(each)
    return {each.id: each for each in found}, asked


def test_workers_that_keep_up_with_the_step():
    found, asked = advised(replace(SEEN, waited_s=8.0), used(0.2))
    advice = found["watch.workers"]
    assert advice.params["workers"] == 4  # 80 ms of loading behind 20 ms of computing
    assert advice.gain is not None
    assert advice.gain.high == pytest.approx(4.0)  # all of the waiting is hidden
    assert advice.gain.value == pytest.approx(0.1 / (0.1 - 0.8 * 0.08) - 1.0)
    assert advice.gain.low == pytest.approx(-0.02)  # 2 ms of 100 for handing a batch over
    assert advice.snippet is not None
    assert "num_workers=4" in advice.snippet
    assert "pin_memory=True" in advice.snippet
    assert [each.id for each in asked] == ["watch_loader"]


def test_workers_end_at_the_cores():
    found, _ = advised(replace(SEEN, waited_s=9.0), used(0.1), cores=3)
    advice = found["watch.workers_short"]
    assert advice.params["workers"] == 3
    assert advice.gain is not None
    assert advice.gain.high == pytest.approx(0.1 / 0.03 - 1.0)  # 90 ms of loading by three


def test_as_many_workers_as_cores_need_cheaper_samples():
    loader = LoaderSeen(num_workers=4, batch_size=32)
    found, _ = advised(replace(SEEN, waited_s=8.0, loaders=(loader,)), used(0.2), cores=4)
    assert "watch.loading_slow" in found
    assert "watch.workers" not in found


def test_a_loader_that_only_waits_gets_more_processes_than_there_are_cores():
    """Samples that sleep: 433 samples/s by none, 915 by two, 1989 by eight on two cores."""
    host = replace(SEEN, device="cpu", uuids=(), cpu_s=0.6, thread_s=0.3, loading_cpu_s=0.3, waited_s=9.4)
    found, _ = advised(host, card=CPU, cores=2)
    assert found["watch.workers_short"].params["workers"] == 8
    assert "left the processor idle" in advice_why(found["watch.workers_short"])
    two = replace(host, loaders=(LoaderSeen(num_workers=2, batch_size=32),), loading_cpu_s=0.0)
    found, _ = advised(two, card=CPU, cores=2, cpu_s=0.8)
    assert found["watch.workers_short"].params["workers"] == 8
    assert "watch.loading_slow" in advised(two, card=CPU, cores=2, cpu_s=19.0)[0]


def test_samples_in_memory_get_no_processes():
    """One process made steps of 1.7 ms, 14 % of them waiting, half as long again."""
    seen = replace(SEEN, steps=6000, timed_steps=6000, covered_steps=6000, waited_s=1.4)
    assert not [name for name in advised(seen, used(0.8))[0] if name.startswith("watch.workers")]


def test_the_start_of_epochs_is_counted_once():
    loader = LoaderSeen(num_workers=4, batch_size=32)
    seen = replace(SEEN, waited_s=9.6, waited_first_s=7.0, loaders=(loader,))
    found, _ = advised(seen, used(0.04), cores=4)
    assert found["watch.loading_slow"].params["waiting"] == pytest.approx(0.26)
    assert found["watch.loading_slow"].gain is None


def test_a_training_of_a_moment_gets_no_advice():
    seen = replace(SEEN, training_s=0.3, timed_steps=150, steps=150, waited_s=0.2, operations_per_step=2500.0)
    found, asked = advised(seen, used(0.4))
    assert found == {}
    assert [each.id for each in asked] == ["watch_unseen"]


def test_a_program_that_pauses_is_told_to_look_at_its_pauses():
    seen = replace(SEEN, device="cpu", uuids=(), cpu_s=1.0, thread_s=1.0, queued_s=1.0, loaders=())
    found, _ = advised(seen, card=CPU)
    assert found["watch.idle"].params["share"] == pytest.approx(0.8)


def test_a_plain_command_gets_no_question():
    assert advised(None) == ({}, ())


def test_tf32_of_convolutions_is_told():
    found, _ = advised(replace(SEEN, tf32_cudnn=True), used(0.99, dram_active=0.2, sm_active=0.9))
    assert "gains next to nothing" in advice_why(found["watch.tf32"])
    found, _ = advised(replace(SEEN, tf32_cudnn=False), used(0.99, dram_active=0.2, sm_active=0.9))
    assert "gains next to nothing" not in advice_why(found["watch.tf32"])


def test_workers_that_start_at_each_epoch():
    loader = LoaderSeen(num_workers=4, batch_size=32)
    seen = replace(SEEN, waited_s=1.0, waited_first_s=1.0, loaders=(loader,))
    assert "watch.persistent_workers" in advised(seen, used(0.9))[0]
    kept = replace(seen, loaders=(replace(loader, persistent_workers=True),))
    assert "watch.persistent_workers" not in advised(kept, used(0.9))[0]
    two_epochs = replace(seen, epoch_starts=0.05)
    gain = advised(two_epochs, used(0.9))[0]["watch.persistent_workers"].gain
    assert gain.high == pytest.approx(1 / 0.95 - 1), "of the whole run, not of its second epoch"


def test_launches_are_merged_or_given_more_to_do():
    found, asked = advised(replace(SEEN, operations_per_step=2500.0, foreach=False), used(0.4))
    assert {"watch.compile", "watch.larger_batch", "watch.fused"} <= set(found)
    larger = found["watch.larger_batch"]
    assert larger.params["fits"] is True
    assert larger.gain is not None
    assert larger.gain.value == pytest.approx(1.0)  # the card is idle for more than half of the step
    assert [each.id for each in asked] == ["watch_batch"]
    assert "watch.compile" not in advised(replace(SEEN, operations_per_step=2500.0, compiled=True), used(0.4))[0]


def test_a_busy_card_in_fp32_has_faster_formats():
    found, asked = advised(SEEN, used(0.99, dram_active=0.2, sm_active=0.9))
    assert found["watch.precision"].params["precision"] == "bf16"
    assert found["watch.precision"].gain is None  # not measured
    assert "watch.tf32" in found
    assert [each.id for each in asked] == ["watch_formats"]
    assert "watch.precision" not in advised(replace(SEEN, autocast="float16"), used(0.99))[0]
    turing = replace(CARD, compute_capability="7.5")
    found, _ = advised(SEEN, used(0.99, dram_active=0.2, sm_active=0.9), card=turing)
    assert found["watch.precision"].params["precision"] == "fp16"
    assert "watch.tf32" not in found
    pascal = replace(CARD, compute_capability="6.1")
    assert "watch.precision" not in advised(SEEN, used(0.99), card=pascal)[0]


def test_memory_that_is_given_back_goes_before_formats():
    seen = replace(SEEN, retries=30, reserved_peak_bytes=24 * GIB)
    found, _ = advised(seen, used(0.9, dram_active=0.3, sm_active=0.9))
    assert next(iter(found)) == "watch.memory_retried"
    kept = replace(SEEN, reserved_peak_bytes=int(23.5 * GIB))
    assert "watch.memory_full" not in advised(kept, used(0.9))[0]  # an allocator keeps what it once had
    full = replace(kept, allocated_peak_bytes=int(23.2 * GIB))
    assert advised(full, used(0.9))[0]["watch.memory_full"].snippet is None


def test_pages_taken_anew_on_the_processor():
    seen = replace(
        SEEN, device="cpu", uuids=(), cpu_s=10.0, thread_s=10.0, system_s=5.0, minor_faults=25_000_000, loaders=()
    )
    found, _ = advised(seen, card=CPU)
    assert found["watch.page_faults"].snippet is not None
    assert "watch.precision" not in found


def test_steps_skipped_in_a_row_come_first():
    found, _ = advised(replace(SEEN, steps=60, skipped_steps=40, scaled=True, autocast="float16"), used(0.95))
    assert next(iter(found)) == "watch.skipped_steps"
    assert found["watch.skipped_steps"].params["share"] == pytest.approx(0.4)


def test_a_training_without_cores_of_its_own():
    seen = replace(SEEN, device="cpu", uuids=(), cpu_s=5.0, thread_s=5.0, queued_s=5.0, threads=8, loaders=())
    found, _ = advised(seen, card=CPU, cores=4)
    assert found["watch.cores_taken"].params["own"] is True


def test_a_program_in_which_no_step_was_seen_gets_a_question():
    found, asked = advised(None, used(0.99))
    assert found == {}
    assert [each.id for each in asked] == ["watch_unseen"]
    assert question(asked[0]).startswith("No training step was seen")
    assert "--recipe" in asked[0].command
