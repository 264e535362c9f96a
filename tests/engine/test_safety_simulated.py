"""Every trigger of the safety stop on simulated cards: the load ends, what was measured is kept, no worker is left."""

from collections.abc import Callable

import pytest

from gputuner.devices.simulated_sensors import absent_quantities
from gputuner.engine.safety import FAN_MUST_TURN_C, SILENCE_S
from gputuner.language.errors import error
from gputuner.model.errors import ExitCode
from gputuner.model.events import (
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    StepFinished,
    StepProgressed,
    TelemetrySampled,
    TorchFound,
    WorkerExited,
)
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.steps import Plan, Report, Together, Work
from tests.engine.rig import Fault, Scripted, Simulated

CARD = "rtx-4090-48g"
SERVER = "h200-sxm"
Start = Callable[..., Simulated]


def product(seconds: float = 100.0) -> Work:
    params = {"precision": "bf16", "n": 8192}
    return Work(label="matmul", workload="matmul", params=params, measure_s=seconds, budget_s=2 * seconds)


def copy(seconds: float = 100.0) -> Work:
    return Work(
        label="copy", workload="copy", params={"bytes": 2**30}, measure_s=seconds, budget_s=2 * seconds, warmup_s=1.0
    )


def scripted(*steps: Work | Together) -> Scripted:
    point = Point(id="p", card="c", metric="m", workload="w", params={}, value=1.0, unit="1")

    def make() -> Plan:
        yield Report(points=(point,))
        for step in steps:  # noqa: UP028  a tuple takes no answers
            yield step

    return Scripted(make=make)


def ended_safely(found: Simulated, events: list[Event], trigger: str) -> RunFinished:
    """The run's end, once it has been seen to stop for ``trigger`` with everything in order."""
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.error_code, last.outcome) == (f"safety_{trigger}", Outcome.STOPPED_FOR_SAFETY)
    assert last.exit_code == ExitCode.DEVICE
    assert last.error_params["trigger"] == trigger
    told = [event for event in events if not isinstance(event, StepProgressed)]
    assert found.stores[0].events == told, "the session holds what was told"
    assert found.stores[0].closed
    assert [e.point.id for e in events if isinstance(e, PointMeasured)] == ["p"]
    assert [e.result for e in events if isinstance(e, StepFinished)][-1] == "stopped"
    assert any(isinstance(e, WorkerExited) for e in events)
    assert found.model.physics.loads == {}, "the load is off"
    assert found.model.memory_bytes()[0] == 0, "no worker is left"
    sentence = error(f"safety_{trigger}", last.error_params)
    assert sentence.startswith("Stopped")
    assert "{" not in sentence
    return last


def seen(events: list[Event], quantity: Quantity) -> list[float]:
    samples = [s for e in events if isinstance(e, TelemetrySampled) for s in e.samples]
    return [s.values[quantity] for s in samples if quantity in s.values]


def test_an_overheating_core_stops_before_the_card_slows_down(simulated: Start):
    found = simulated((10.0, "overheat", {"air_c": 95}))
    events = found.run(scripted(product()))
    last = ended_safely(found, events, "core_hot")
    assert float(last.error_params["value"]) < 3.0
    assert max(seen(events, Quantity.CORE_TEMPERATURE_C)) < found.model.model.slowdown_c


def test_the_users_limit_stops_earlier(simulated: Start):
    found = simulated((10.0, "overheat", {"air_c": 95}))
    last = ended_safely(found, found.run(scripted(product()), core_max_c=70.0), "core_user_limit")
    assert 70.0 <= float(last.error_params["value"]) < 75.0


def test_memory_near_its_limit_stops_though_the_core_is_cool(simulated: Start):
    found = simulated((5.0, "overheat", {"air_c": 66}), card=SERVER)
    events = found.run(scripted(copy()))
    last = ended_safely(found, events, "memory_hot")
    assert last.error_params["limit"] == 90.0
    assert seen(events, Quantity.CORE_TEMPERATURE_C)[-1] < 84.0


def test_an_xid_stops(simulated: Start):
    found = simulated((12.0, "xid", {"xid": 48}))
    events = found.run(scripted(product()))
    last = ended_safely(found, events, "xid")
    assert last.error_params["value"] == 48.0
    assert "48;" in error("safety_xid", last.error_params)


def test_an_xid_between_two_loads_stops_too(simulated: Start):
    work = Work(
        label="burst",
        workload="matmul",
        params={"precision": "fp32", "n": 4096},
        measure_s=1.0,
        budget_s=5.0,
        idle_before_s=20.0,
    )
    found = simulated((15.0, "xid", {"xid": 13}))
    ended_safely(found, found.run(scripted(work)), "xid")


def test_a_fan_that_stops_under_load_stops_the_load(simulated: Start):
    found = simulated((40.0, "fan_stopped", {}))
    last = ended_safely(found, found.run(scripted(product(300.0))), "fan_stopped")
    assert float(last.error_params["value"]) >= FAN_MUST_TURN_C


def test_a_stopped_fan_is_noticed_across_loads_shorter_than_a_slow_tick(simulated: Start):
    found = simulated((60.0, "fan_stopped", {}))
    ended_safely(found, found.run(scripted(product(50.0), *[product(1.0)] * 20)), "fan_stopped")


def test_a_fan_that_rests_while_the_card_is_cool_is_no_danger(simulated: Start):
    found = simulated(card="rtx-4090")
    events = found.run(scripted(copy(12.0)))
    assert 0.0 in seen(events, Quantity.FAN_FRACTION)
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("card", [CARD, "a100-sxm-80g", "rtx-2080-ti-22g"])
def test_power_that_stays_above_its_limit_stops(simulated: Start, card: str):
    found = simulated((10.0, "power_glitch", {"power_w": 600, "duration_s": 10}), card=card)
    averaged = Quantity.POWER_AVERAGE_W not in absent_quantities(found.model.facts)
    assert averaged is (card == CARD), "the others are judged by instant power"
    last = ended_safely(found, found.run(scripted(product())), "power_above_limit")
    assert last.error_params["value"] == 600.0
    assert last.error_params["limit"] == found.model.physics.power_limit_w


@pytest.mark.parametrize("power_w", [900.0, 4294967.295])
def test_one_glitch_of_the_power_sensor_does_not(simulated: Start, power_w: float):
    found = simulated((10.0, "power_glitch", {"power_w": power_w}))
    last = found.run(scripted(product(20.0)))[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


def test_a_hung_driver_call_is_silence(simulated: Start):
    found = simulated((10.0, "hung", {"duration_s": 20}))
    last = ended_safely(found, found.run(scripted(product())), "telemetry_silent")
    assert last.error_params["limit"] == SILENCE_S


def test_a_short_stall_is_not(simulated: Start):
    found = simulated((10.0, "hung", {"duration_s": 2}))
    last = found.run(scripted(product(20.0)))[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("fault", [(10.0, "lost", {}), (10.0, "xid", {"xid": 79})])
def test_a_card_lost_under_load_ends_the_run_at_once_and_says_so(simulated: Start, fault: Fault):
    found = simulated(fault)
    events = found.run(scripted(product()))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.error_code, last.exit_code) == ("safety_card_lost", ExitCode.DEVICE)
    assert last.outcome is Outcome.STOPPED_FOR_SAFETY
    assert (last.t_ns - 10 * 10**9) / 1e9 < 1.0
    assert "fell off the bus" in error("safety_card_lost", last.error_params)
    assert [e.point.id for e in found.stores[0].events if isinstance(e, PointMeasured)] == ["p"]
    assert found.model.physics.loads == {}


def test_a_card_lost_between_two_loads_ends_the_run_before_the_next(simulated: Start):
    found = simulated((9.0, "lost", {}))
    events = found.run(scripted(product(2.0), *[product(1.0)] * 30))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.error_code == "safety_card_lost"
    assert (last.t_ns - 9 * 10**9) / 1e9 < 2.0


def test_a_stuck_temperature_does_not_stop(simulated: Start):
    found = simulated((10.0, "stuck_sensor", {}))
    events = found.run(scripted(product(60.0)))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED
    assert any(isinstance(e, TorchFound) for e in events)


def test_two_jobs_at_once_are_both_ended(simulated: Start):
    found = simulated((20.0, "xid", {"xid": 62}))
    pair = Together(label="pair", works=(product(), product()))
    events = found.run(scripted(pair))
    ended_safely(found, events, "xid")
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 2
