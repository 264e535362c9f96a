"""The cause that is named: on cards by counters and hooks, on a processor by times and faults."""

from dataclasses import replace

import pytest

from gputuner.analysis.watching import where_time_went
from gputuner.model.points import Conditions, Spread
from gputuner.model.quantities import Limiter
from gputuner.model.watched import CardUse, Observed, TreeUse, WatchCause

GIB = 1 << 30
STEP = Spread(n=100, median=0.1, iqr=0.001)
CUDA = Observed(
    pid=1,
    device="cuda",
    uuids=("GPU-1",),
    steps=100,
    timed_steps=100,
    covered_steps=100,
    step_s=STEP,
    step_series_s=(0.1,) * 20,
    training_s=10.0,
    covered_s=10.0,
    cpu_s=10.0,
    thread_s=10.0,
    operations_per_step=300.0,
    memory_total_bytes=24 * GIB,
    reserved_peak_bytes=12 * GIB,
)
HOST = replace(
    CUDA, device="cpu", uuids=(), memory_total_bytes=None, reserved_peak_bytes=None, system_s=0.1, queued_s=0.0
)
CARD = CardUse(
    uuid="GPU-1",
    conditions=Conditions(duration_s=10.0, samples=50, sm_clock_mhz=1900.0, gpu_utilisation=0.98),
    sm_clock_max_mhz=1980.0,
    memory_total_bytes=24 * GIB,
    memory_used_peak_bytes=13 * GIB,
)


def spent(seen: Observed | None, card: CardUse | None = None, **use: float):
    tree = TreeUse(duration_s=10.0, cards=(card,) if card is not None else (), **use)
    return where_time_went((seen,) if seen is not None else (), tree)


def shares(told) -> dict[WatchCause, float]:
    return {part.cause: part.share for part in told.parts}


def used(card: CardUse, busy: float, **counters: float) -> CardUse:
    assert card.conditions is not None
    return replace(card, conditions=replace(card.conditions, gpu_utilisation=busy), **counters)


def test_waiting_for_data_is_named_with_its_share():
    told = spent(replace(CUDA, waited_s=7.0), used(CARD, 0.28))
    assert (told.cause, told.sure) == (WatchCause.DATA, True)
    assert shares(told)[WatchCause.DATA] == pytest.approx(0.7)
    assert told.by == "hooks_and_telemetry"


def test_waiting_behind_which_the_card_worked_costs_nothing():
    told = spent(
        replace(CUDA, waited_s=7.0, hidden_s=7.0), used(CARD, 0.98, dram_active=0.2, tensor_active=0.6, sm_active=0.9)
    )
    assert told.cause is WatchCause.COMPUTE
    assert WatchCause.DATA not in shares(told)


def test_an_idle_card_under_a_host_that_launches_all_the_time_is_launch_bound():
    told = spent(replace(CUDA, operations_per_step=2500.0), used(CARD, 0.45))  # 40 µs for each operation
    assert (told.cause, told.sure) == (WatchCause.HOST_LAUNCH, True)
    assert shares(told)[WatchCause.HOST_LAUNCH] == pytest.approx(0.55)


def test_a_card_that_is_always_busy_with_next_to_nothing_is_launch_bound_too():
    told = spent(
        replace(CUDA, operations_per_step=2500.0), used(CARD, 0.99, sm_active=0.04, tensor_active=0.0, dram_active=0.02)
    )
    assert told.cause is WatchCause.HOST_LAUNCH
    assert shares(told)[WatchCause.HOST_LAUNCH] > 0.9


def test_a_host_without_cores_is_told_apart_from_the_card():
    """C-063: a second run takes the cores; the step rises from 1.3 to 3.5 s and the card's load falls."""
    seen = replace(CUDA, training_s=35.0, covered_s=35.0, timed_steps=10, covered_steps=10, queued_s=20.0)
    told = spent(seen, used(CARD, 0.37))
    assert told.cause is WatchCause.SHARED
    assert shares(told)[WatchCause.SHARED] == pytest.approx(20 / 35)
    assert WatchCause.POWER not in shares(told)


def test_an_idle_card_under_a_host_that_does_something_else_is_not_put_down_to_launches():
    told = spent(CUDA, used(CARD, 0.4))  # 333 µs for each operation
    assert told.cause is WatchCause.HOST_OTHER


@pytest.mark.parametrize(
    ("counters", "cause"),
    [
        ({"sm_active": 0.95, "tensor_active": 0.7, "dram_active": 0.2}, WatchCause.COMPUTE),
        ({"sm_active": 0.95, "tensor_active": 0.02, "dram_active": 0.85}, WatchCause.MEMORY_BANDWIDTH),
    ],
)
def test_counters_tell_arithmetic_from_memory(counters: dict[str, float], cause: WatchCause):
    told = spent(CUDA, used(CARD, 0.99, **counters))
    assert (told.cause, told.sure) == (cause, True)


def test_without_counters_a_busy_card_is_named_with_doubt():
    assert spent(CUDA, used(CARD, 0.99)).cause is WatchCause.CARD_BUSY
    told = spent(CUDA, used(CARD, 0.99, memory_utilisation=0.9))
    assert (told.cause, told.sure) == (WatchCause.MEMORY_BANDWIDTH, False)
    told = spent(CUDA, used(CARD, 0.99, memory_utilisation=0.3))
    assert (told.cause, told.sure) == (WatchCause.COMPUTE, False)


def test_blocks_given_back_again_and_again_are_full_memory():
    told = spent(
        replace(CUDA, retries=40, reserved_peak_bytes=24 * GIB), used(CARD, 0.9, dram_active=0.3, sm_active=0.8)
    )
    assert (told.cause, told.sure) == (WatchCause.MEMORY_CAPACITY, True)
    assert told.headroom_bytes == 0
    assert spent(replace(CUDA, retries=1), used(CARD, 0.9)).cause is not WatchCause.MEMORY_CAPACITY


def test_power_takes_what_the_clock_lost():
    assert CARD.conditions is not None
    limited = replace(CARD.conditions, sm_clock_mhz=1188.0, limited_s={Limiter.POWER: 10.0}, gpu_utilisation=1.0)
    told = spent(CUDA, replace(CARD, conditions=limited, dram_active=0.1, tensor_active=0.8, sm_active=0.9))
    assert shares(told)[WatchCause.POWER] == pytest.approx(0.4)
    assert (told.cause, told.beside) == (WatchCause.COMPUTE, WatchCause.POWER)


def test_heat_is_told_apart_from_power():
    assert CARD.conditions is not None
    hot = replace(CARD.conditions, sm_clock_mhz=990.0, limited_s={Limiter.THERMAL_SOFTWARE: 9.0}, gpu_utilisation=1.0)
    told = spent(CUDA, replace(CARD, conditions=hot))
    assert shares(told)[WatchCause.HEAT] == pytest.approx(0.45)


def test_others_on_the_card_leave_only_the_waiting_to_this_training():
    told = spent(replace(CUDA, waited_s=2.0), replace(used(CARD, 0.99), others_computed=True))
    assert (told.cause, told.sure) == (WatchCause.SHARED, False)
    assert shares(told)[WatchCause.DATA] == pytest.approx(0.2)


def test_without_telemetry_a_card_that_lags_behind_the_host_is_the_busy_one():
    assert spent(replace(CUDA, behind=0.95)).cause is WatchCause.CARD_BUSY
    assert spent(replace(CUDA, behind=0.0, operations_per_step=2500.0)).cause is WatchCause.HOST_LAUNCH
    told = spent(replace(CUDA, behind=0.0))
    assert (told.cause, told.sure, told.by) == (WatchCause.UNKNOWN, False, "hooks")


def test_telemetry_alone_names_what_it_can():
    told = spent(None, used(CARD, 0.3))
    assert (told.cause, told.sure, told.by) == (WatchCause.HOST_OTHER, False, "telemetry")
    told = spent(None, used(CARD, 0.99, dram_active=0.8, tensor_active=0.1, sm_active=0.9))
    assert told.cause is WatchCause.MEMORY_BANDWIDTH
    assert spent(None).cause is WatchCause.UNKNOWN
    assert spent(None, cpu_s=9.0).cause is WatchCause.UNKNOWN


def test_headroom_is_the_least_of_program_and_card():
    told = spent(replace(CUDA, memory_fraction=0.75), CARD)  # the program may take 18 GiB
    assert (told.headroom_bytes, told.headroom_of_bytes) == (6 * GIB, 18 * GIB)


def test_tiny_operations_on_a_processor_are_dispatch():
    told = spent(replace(HOST, operations_per_step=3000.0))  # 33 µs of the processor each
    assert (told.cause, told.sure) == (WatchCause.HOST_LAUNCH, True)


def test_large_operations_on_a_processor_are_arithmetic_with_doubt():
    told = spent(replace(HOST, operations_per_step=10.0, cpu_s=20.0))
    assert (told.cause, told.sure) == (WatchCause.COMPUTE, False)


def test_pages_taken_anew_at_each_step_are_memory_traffic():
    told = spent(replace(HOST, operations_per_step=6.0, system_s=5.0, minor_faults=25_000_000))
    assert (told.cause, told.sure) == (WatchCause.MEMORY_BANDWIDTH, True)


def test_pages_read_back_from_disk_are_full_memory():
    assert spent(replace(HOST, operations_per_step=6.0, major_faults=5000)).cause is WatchCause.MEMORY_CAPACITY


def test_a_training_that_gets_no_core_is_told_so_and_its_own_cause_too():
    told = spent(replace(HOST, operations_per_step=1500.0, cpu_s=6.0, thread_s=6.0, queued_s=4.0))
    assert shares(told)[WatchCause.SHARED] == pytest.approx(0.4)
    assert (told.cause, told.beside) == (WatchCause.HOST_LAUNCH, WatchCause.SHARED)


def test_ranks_are_weighed_by_their_time():
    busy = used(CARD, 1.0, dram_active=0.1, tensor_active=0.8, sm_active=0.9)
    first, second = replace(CUDA, waited_s=10.0), replace(CUDA, pid=2, rank=1)
    told = where_time_went((first, second), TreeUse(duration_s=10.0, cards=(busy,)))
    assert shares(told)[WatchCause.DATA] == pytest.approx(0.5)


def test_parts_sum_to_one():
    for told in (spent(CUDA, CARD), spent(HOST), spent(None), spent(replace(CUDA, waited_s=3.0), used(CARD, 0.5))):
        assert sum(part.share for part in told.parts) == pytest.approx(1.0, abs=0.02)


def test_a_pause_of_the_programs_own_is_not_put_down_to_others():
    """2 s of steps and 4 s of sleep beside other jobs: 17 % without a core were told as 90 % of others."""
    told = spent(replace(HOST, operations_per_step=10.0, cpu_s=1.3, thread_s=1.3, queued_s=1.7))
    assert shares(told)[WatchCause.SHARED] == pytest.approx(0.17)
    assert shares(told)[WatchCause.IDLE] == pytest.approx(0.7)
    assert (told.cause, told.sure) == (WatchCause.IDLE, True)


def test_a_host_that_sleeps_before_an_idle_card_does_no_work():
    told = spent(replace(CUDA, cpu_s=2.0, thread_s=2.0, queued_s=0.5), used(CARD, 0.2))
    assert told.cause is WatchCause.IDLE
    assert shares(told)[WatchCause.IDLE] == pytest.approx(0.75)


def test_a_card_that_is_always_done_before_the_host_is_not_computing_whatever_its_use():
    """Cards without counters: a kernel of any size is use; 600 operations in 12 ms, each done before the next."""
    seen = replace(CUDA, operations_per_step=5000.0, behind=0.0)
    told = spent(seen, used(CARD, 0.97, memory_utilisation=0.3))
    assert told.cause is WatchCause.HOST_LAUNCH
    told = spent(replace(seen, behind=0.95), used(CARD, 0.97, memory_utilisation=0.3))
    assert told.cause is WatchCause.COMPUTE


def test_what_the_allocator_keeps_counts_as_left():
    seen = replace(CUDA, reserved_peak_bytes=23 * GIB, allocated_peak_bytes=10 * GIB)
    told = spent(seen, replace(CARD, memory_used_peak_bytes=24 * GIB))
    assert told.headroom_bytes == 13 * GIB
    assert next(sign.value for sign in told.signs if sign.name == "peak_of_limit") == pytest.approx(10 / 24)


@pytest.mark.parametrize("little", [{"training_s": 0.3}, {"timed_steps": 1}])
def test_too_little_is_not_judged(little: dict[str, float]):
    told = spent(replace(HOST, **little), cpu_s=1.0)
    assert (told.cause, [sign.name for sign in told.signs]) == (WatchCause.UNKNOWN, ["judged_training"])


def test_a_command_of_a_moment_is_not_judged():
    assert where_time_went((), TreeUse(duration_s=0.007, cpu_s=0.001)).cause is WatchCause.UNKNOWN
    assert where_time_went((), TreeUse(duration_s=7.0, cpu_s=1.0)).cause is WatchCause.IDLE


def test_an_inference_that_waits_for_its_loader_waits_for_data():
    seen = replace(HOST, steps=0, timed_steps=0, training_s=0.0, unstepped_s=7.0)
    told = spent(seen, cpu_s=2.0)
    assert (told.cause, told.sure, told.by) == (WatchCause.DATA, True, "hooks_and_telemetry")
    assert shares(told) == {
        WatchCause.DATA: pytest.approx(0.7),
        WatchCause.IDLE: pytest.approx(0.1),
        WatchCause.UNKNOWN: pytest.approx(0.2),
    }
