import csv
from pathlib import Path

import pytest

from gputuner.catalog import load
from gputuner.devices.simulated import DemoLoad, SimulatedCards, SimulatedClock, WallDrivenClock
from gputuner.devices.simulated_load import Load
from gputuner.model.cards import CardState, Origin
from gputuner.model.errors import DeviceLost, UsageError
from gputuner.model.quantities import QUANTITIES, Limiter, Quantity, Tier, limiter_of
from gputuner.model.readings import Reason
from gputuner.model.samples import ProcessOnCard

Q = Quantity
S = 10**9
EVERY = load().ids


def made(*ids, faults=(), seed=0):
    clock = SimulatedClock()
    return SimulatedCards(ids, clock, seed=seed, faults=faults), clock


def at(cards, clock, seconds, tier=Tier.FAST, index=0):
    clock.advance_to_ns(int(seconds * S))
    return cards.sample(cards.models[index].uuid, tier, clock.now_ns())


def loaded(card, switching=1.0, traffic=0.25, pipes=1.0):
    step_s = 0.01
    card.set_process("w", ProcessOnCard(pid=7, name="python", user=None, command=None, memory_bytes=2**30))
    card.set_load(
        "w",
        Load(
            compute_cycles=pipes * step_s * card.model.clock_max_mhz * 1e6,
            dram_bytes=traffic * step_s * card.physics.bandwidth,
            activity=switching,
        ),
    )


@pytest.mark.parametrize("card_id", EVERY)
def test_every_card_introduces_itself_as_itself_and_tells_every_quantity_or_why_not(card_id):
    cards, clock = made(card_id)
    (info,) = cards.cards()
    assert info.origin is Origin.SIMULATED
    assert info.catalog.catalog_id == card_id
    assert info.state is CardState.READY
    lowest, highest = info.number("power_limit_min_w"), info.number("power_limit_max_w")
    assert lowest <= info.number("power_limit_default_w") <= highest
    assert info.number("slowdown_c") < info.number("shutdown_c")
    clock.advance_to_ns(S)
    for tier in (Tier.FAST, Tier.SLOW):
        sample = cards.sample(info.uuid, tier, clock.now_ns())
        due = {q for q, quantity in QUANTITIES.items() if quantity.tier is tier}
        assert set(sample.values) | set(sample.missing) == due
        assert not set(sample.values) & set(sample.missing)
        for quantity, value in sample.values.items():
            step = value / QUANTITIES[quantity].resolution
            assert step == pytest.approx(round(step), abs=1e-3), quantity


def test_a_geforce_hides_what_nvml_does_not_tell_and_a_datacenter_card_tells_it():
    cards, clock = made("rtx-4090-48g", "h200-sxm", "rtx-2080-ti-22g", "gtx-1080-ti")
    mod = at(cards, clock, 1, Tier.FAST, 0).missing | at(cards, clock, 1, Tier.SLOW, 0).missing
    assert mod[Q.MEMORY_TEMPERATURE_C] is Reason.NOT_SUPPORTED
    assert mod[Q.HOTSPOT_TEMPERATURE_C] is Reason.NOT_SUPPORTED
    assert mod[Q.SM_ACTIVE] is Reason.NOT_SUPPORTED
    assert mod[Q.ECC_CORRECTED] is Reason.NOT_SUPPORTED
    assert Q.FAN_FRACTION not in mod
    server = at(cards, clock, 1, Tier.FAST, 1).missing | at(cards, clock, 1, Tier.SLOW, 1).missing
    assert set(server) == {Q.HOTSPOT_TEMPERATURE_C, Q.FAN_FRACTION, Q.FAN_RPM}
    turing = at(cards, clock, 1, Tier.FAST, 2)
    assert Q.POWER_AVERAGE_W in turing.missing
    assert Q.POWER_INSTANT_W in turing.values
    assert Q.ENERGY_J in at(cards, clock, 1, Tier.FAST, 3).missing


def test_states_of_a_geforce_asleep_and_at_work():
    cards, clock = made("rtx-3090")
    asleep = at(cards, clock, 5), at(cards, clock, 5, Tier.SLOW)
    assert limiter_of(int(asleep[0].values[Q.LIMIT_BITS])) is Limiter.IDLE
    assert asleep[1].values[Q.PSTATE] == 8
    assert asleep[1].values[Q.PCIE_GENERATION] == 1
    assert asleep[0].values[Q.MEMORY_CLOCK_MHZ] == 405
    loaded(cards.models[0])
    awake = at(cards, clock, 20), at(cards, clock, 20, Tier.SLOW)
    assert limiter_of(int(awake[0].values[Q.LIMIT_BITS])) is Limiter.POWER
    assert awake[1].values[Q.PSTATE] == 2
    assert awake[1].values[Q.PCIE_GENERATION] == 4
    assert awake[0].values[Q.MEMORY_CLOCK_MHZ] == pytest.approx(9501, abs=2)  # P2 holds a 3090 at 9501 MHz
    assert awake[0].values[Q.GPU_UTILISATION] == 1.0
    assert awake[0].values[Q.SM_CLOCK_MHZ] % 15 == 0


def test_counters_grow_by_exactly_what_happened():
    cards, clock = made("h200-sxm")
    card = cards.models[0]
    loaded(card)
    first, slow_first = at(cards, clock, 10), at(cards, clock, 10, Tier.SLOW)
    watts = [at(cards, clock, 10 + 0.1 * i).values[Q.POWER_AVERAGE_W] for i in range(11, 101)]
    last, slow_last = at(cards, clock, 20), at(cards, clock, 20, Tier.SLOW)
    energy = last.values[Q.ENERGY_J] - first.values[Q.ENERGY_J]
    assert energy == pytest.approx(10 * sum(watts) / len(watts), rel=0.002)
    limited_s = (slow_last.values[Q.LIMITED_POWER_NS] - slow_first.values[Q.LIMITED_POWER_NS]) / S
    assert limited_s == pytest.approx(10, abs=0.01)
    assert slow_last.values[Q.LIMITED_THERMAL_SOFTWARE_NS] == 0
    assert slow_last.values[Q.SM_ACTIVE] == pytest.approx(1.0, abs=0.01)
    assert slow_last.values[Q.DRAM_ACTIVE] < 0.3


def test_memory_adds_up_to_the_total():
    cards, clock = made("rtx-4090-48g")
    loaded(cards.models[0])
    fast, slow = at(cards, clock, 1), at(cards, clock, 1, Tier.SLOW)
    parts = fast.values[Q.MEMORY_USED_BYTES] + fast.values[Q.MEMORY_FREE_BYTES] + slow.values[Q.MEMORY_RESERVED_BYTES]
    assert parts == 49140 * 2**20
    assert fast.values[Q.MEMORY_USED_BYTES] == 2**30
    table = cards.processes(cards.models[0].uuid, clock.now_ns())
    assert [p.pid for p in table.processes] == [7]


def test_the_same_seed_gives_the_same_readings_whoever_else_asks():
    def series(seed, extra):
        cards, clock = made("rtx-3090", seed=seed)
        loaded(cards.models[0])
        found = []
        for i in range(1, 40):
            if extra:
                at(cards, clock, 0.5 * i - 0.25)
            found.append(at(cards, clock, 0.5 * i).values[Q.POWER_INSTANT_W])
        return found

    assert series(1, False) == series(1, False)
    assert series(1, True) == pytest.approx(series(1, False), rel=0.01)
    assert series(2, False) != series(1, False)


def test_the_past_is_not_lived_again():
    cards, clock = made("rtx-3090")
    at(cards, clock, 5)
    sample = cards.sample(cards.models[0].uuid, Tier.FAST, 2 * S)
    assert sample.t_ns == 2 * S
    assert cards.models[0].now_ns == 5 * S
    clock.advance_to_ns(S)
    assert clock.now_ns() == 5 * S


def test_a_power_limit_is_kept_within_the_cards_own_range():
    cards, clock = made("rtx-3090")
    card = cards.models[0]
    assert card.set_power_limit(5000) == card.model.power_limit_max_w
    assert card.set_power_limit(1) == card.model.power_limit_min_w
    assert card.set_power_limit(250) == 250
    loaded(card)
    assert at(cards, clock, 30, Tier.SLOW).values[Q.POWER_LIMIT_ENFORCED_W] == 250
    assert at(cards, clock, 30).values[Q.POWER_AVERAGE_W] == pytest.approx(250, rel=0.01)
    assert cards.cards()[0].number("power_limit_enforced_w") == 250


# --- calibration ------------------------------------------------------------------------------------------------------


def recorded():
    with (Path(__file__).parent.parent / "data" / "devices" / "h200-steps.csv").open() as lines:
        return [{k: v if k == "phase" else float(v) for k, v in row.items()} for row in csv.DictReader(lines)]


@pytest.mark.parametrize(
    ("phase", "load"),
    [
        ("matmul-bf16", {"switching": 1.0, "traffic": 0.33}),
        ("copy", {"switching": 0.28, "traffic": 1.0, "pipes": 0.6}),
        ("matmul-fp32", {"switching": 0.62, "traffic": 0.05}),
    ],
)
def test_the_simulated_h200_follows_the_recorded_one(phase, load):
    # tolerances: the recording mixes kinds of load and its fans sped up meanwhile
    cards, clock = made("h200-sxm")
    card = cards.models[0]
    card.set_process("w", ProcessOnCard(pid=7, name=None, user=None, command=None, memory_bytes=0))
    start_s = 30.0
    at(cards, clock, start_s)
    loaded(card, **load)
    rows = [row for row in recorded() if row["phase"] == phase]
    assert len(rows) >= 4
    for row in rows:
        sample = at(cards, clock, start_s + row["since_s"]).values
        assert sample[Q.CORE_TEMPERATURE_C] == pytest.approx(row["core_c"], abs=3.5), row
        assert sample[Q.MEMORY_TEMPERATURE_C] == pytest.approx(row["memory_c"], abs=5), row
        if row["since_s"] > 2:
            assert sample[Q.POWER_AVERAGE_W] == pytest.approx(row["average_w"], rel=0.05), row
            assert sample[Q.SM_CLOCK_MHZ] == pytest.approx(row["sm_mhz"], rel=0.03), row
            assert limiter_of(int(sample[Q.LIMIT_BITS])) is limiter_of(int(row["reasons"]))


def test_the_simulated_h200_rests_as_the_recorded_one():
    cards, clock = made("h200-sxm")
    sample = at(cards, clock, 60).values
    assert sample[Q.POWER_AVERAGE_W] == pytest.approx(77, abs=1.5)
    assert sample[Q.SM_CLOCK_MHZ] == 345
    assert sample[Q.CORE_TEMPERATURE_C] == pytest.approx(33, abs=2)
    cards.models[0].set_process("w", ProcessOnCard(pid=7, name=None, user=None, command=None, memory_bytes=0))
    woken = at(cards, clock, 120).values
    assert woken[Q.POWER_AVERAGE_W] == pytest.approx(119, abs=2)
    assert woken[Q.SM_CLOCK_MHZ] == 1980


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_lost_card_is_lost_and_comes_back():
    cards, clock = made("rtx-3090", "rtx-3090", faults=[(10, "lost", {"card": 1, "duration_s": 20})])
    at(cards, clock, 9, index=1)
    clock.advance_to_ns(12 * S)
    with pytest.raises(DeviceLost) as caught:
        cards.sample(cards.models[1].uuid, Tier.FAST, clock.now_ns())
    assert caught.value.code == "card_lost"
    states = cards.cards()
    assert (states[0].state, states[1].state) == (CardState.READY, CardState.LOST)
    assert states[1].lost_since_ns == 10 * S
    at(cards, clock, 31, index=1)
    assert cards.cards()[1].state is CardState.READY


def test_a_hung_call_moves_the_clock_past_any_deadline_once():
    cards, clock = made("rtx-3090", faults=[(5, "hung", {})])
    at(cards, clock, 4)
    at(cards, clock, 6)
    assert clock.now_ns() == 36 * S
    at(cards, clock, 37)
    assert clock.now_ns() == 37 * S


def test_a_hang_on_the_wall_ends_when_the_clock_is_closed():
    clock = WallDrivenClock()
    clock.close()
    before = clock.now_ns()
    clock.advance_to_ns(before + 3600 * S)
    assert clock.now_ns() < before + 60 * S


def test_no_permission_is_a_reason_and_hides_the_processes():
    script = [(5, "no_permission", {"quantities": "fan_fraction,power_instant_w", "duration_s": 5})]
    cards, clock = made("rtx-3090", faults=script)
    sample = at(cards, clock, 6)
    assert sample.missing[Q.POWER_INSTANT_W] is Reason.NO_PERMISSION
    assert Q.POWER_AVERAGE_W in sample.values
    assert cards.processes(cards.models[0].uuid, clock.now_ns()).reason is Reason.NO_PERMISSION
    assert Q.POWER_INSTANT_W in at(cards, clock, 11).values
    everything, clock = made("rtx-3090", faults=[(0, "no_permission", {})])
    assert not at(everything, clock, 1).values


def test_a_stuck_sensor_keeps_its_value_though_power_moves():
    cards, clock = made("rtx-3090", faults=[(5, "stuck_sensor", {})])
    before = at(cards, clock, 5).values[Q.CORE_TEMPERATURE_C]
    loaded(cards.models[0])
    after = at(cards, clock, 60).values
    assert after[Q.CORE_TEMPERATURE_C] == before
    assert after[Q.POWER_AVERAGE_W] > 300
    assert cards.models[0].physics.core_c > before + 20


def test_a_power_glitch_is_rejected_if_impossible_and_told_if_plausible():
    cards, clock = made("rtx-3090", faults=[(5, "power_glitch", {}), (10, "power_glitch", {"power_w": 380.5})])
    assert at(cards, clock, 5.2).missing[Q.POWER_AVERAGE_W] is Reason.IMPLAUSIBLE
    assert cards.rejected == 2
    assert at(cards, clock, 6).values[Q.POWER_AVERAGE_W] < 100
    assert at(cards, clock, 10.2).values[Q.POWER_INSTANT_W] == 380.5


def test_xids_are_told_once_and_79_loses_the_card():
    cards, clock = made("rtx-3090", faults=[(5, "xid", {"xid": 31}), (8, "xid", {})])
    at(cards, clock, 6)
    (seen,) = cards.xids()
    assert (seen.xid, seen.t_ns, seen.card) == (31, 5 * S, cards.models[0].uuid)
    assert cards.xids() == ()
    clock.advance_to_ns(9 * S)
    assert cards.cards()[0].state is CardState.LOST
    assert [x.xid for x in cards.xids()] == [79]


def test_a_stopped_fan_reads_zero_under_load():
    cards, clock = made("rtx-2080-ti-22g", faults=[(20, "fan_stopped", {})])
    loaded(cards.models[0])
    assert at(cards, clock, 19, Tier.SLOW).values[Q.FAN_FRACTION] > 0.25
    stopped = at(cards, clock, 21, Tier.SLOW).values
    assert (stopped[Q.FAN_FRACTION], stopped[Q.FAN_RPM]) == (0, 0)


def test_a_card_tells_who_may_compute_on_it():
    cards, _ = made("rtx-2080-ti-22g")
    assert cards.cards()[0].readings["compute_mode"].value == "default"
    cards, _ = made("rtx-2080-ti-22g", faults=[(0, "compute_mode", {})])
    assert cards.cards()[0].readings["compute_mode"].value == "exclusive_process"


def test_overheating_eats_the_margin_and_ends_in_shutdown():
    cards, clock = made("rtx-3090", faults=[(5, "overheat", {"air_c": 110})])
    slowdown = cards.cards()[0].number("slowdown_c")
    temperatures = [at(cards, clock, t).values[Q.CORE_TEMPERATURE_C] for t in (5, 10, 15, 20)]
    assert temperatures == sorted(temperatures)
    assert temperatures[-1] > slowdown - 3
    clock.advance_to_ns(120 * S)
    assert cards.cards()[0].state is CardState.LOST
    with pytest.raises(DeviceLost):
        at(cards, clock, 121)


def test_a_margin_is_told_where_the_board_has_one():
    cards, clock = made("h200-sxm")
    sample = at(cards, clock, 5).values
    assert sample[Q.SLOWDOWN_MARGIN_C] + sample[Q.CORE_TEMPERATURE_C] == pytest.approx(89, abs=1)


def test_unknown_cards_and_faults_are_refused():
    with pytest.raises(UsageError):
        made("rtx-0000")
    with pytest.raises(UsageError) as caught:
        made("rtx-3090", faults=[(1, "meteor", {})])
    assert caught.value.code == "unknown_fault"
    cards, _ = made("rtx-3090")
    with pytest.raises(DeviceLost):
        cards.card("GPU-nobody")


# --- demonstration ----------------------------------------------------------------------------------------------------


def test_the_demo_load_shows_a_training_with_its_process():
    cards, clock = made("rtx-4090-48g")
    cards.attach(DemoLoad)
    powers, names = [], set()
    for second in range(1, 140):
        powers.append(at(cards, clock, second).values[Q.POWER_AVERAGE_W])
        names |= {p.command for p in cards.processes(cards.models[0].uuid, clock.now_ns()).processes}
    assert min(powers) < 60
    assert 350 < max(powers) <= 452
    assert names == {"python train.py (simulated)"}


def test_two_cards_show_different_phases():
    cards, clock = made("rtx-3090", "rtx-3090")
    cards.attach(DemoLoad)
    differing = 0
    for second in range(1, 60):
        clock.advance_to_ns(second * S)
        a, b = (cards.sample(c.uuid, Tier.FAST, clock.now_ns()).values[Q.POWER_AVERAGE_W] for c in cards.models)
        differing += abs(a - b) > 50
    assert differing > 10


def test_whoever_looks_at_a_demonstration_sees_cards_at_work_at_once() -> None:
    cards = SimulatedCards(["rtx-4090-48g"] * 8, SimulatedClock())
    cards.attach(DemoLoad)
    for uuid in (info.uuid for info in cards.cards()):
        assert cards.sample(uuid, Tier.FAST, 10**9).values[Q.GPU_UTILISATION] > 0.5
        assert [p.name for p in cards.processes(uuid, 10**9).processes] == ["python"]
