import pytest

from gputuner.analysis.heat import total_resistance
from gputuner.catalog import load
from gputuner.devices.simulated_load import Load
from gputuner.devices.simulated_models import derive
from gputuner.devices.simulated_physics import CardPhysics
from gputuner.model.quantities import LimitBit

CATALOG = load()
EVERY = CATALOG.ids


def physics(card_id, contexts=True):
    facts = CATALOG.card(card_id)
    made = CardPhysics(facts, derive(facts))
    if contexts:
        made.open_context("w")
    return made


def heavy(card, activity=1.0, traffic=0.25):
    """A load that keeps the pipes busy all the time, and the memory for a share of it."""
    step_s = 0.01
    return Load(
        compute_cycles=step_s * card.model.clock_max_mhz * 1e6,
        dram_bytes=traffic * step_s * card.bandwidth,
        activity=activity,
    )


def run(card, load, seconds):
    card.loads["w"] = load
    card.disturbed()
    card.advance(seconds)


@pytest.mark.parametrize("card_id", EVERY)
def test_the_power_cap_holds_on_every_card(card_id):
    card = physics(card_id)
    run(card, heavy(card, activity=1.6), 3.0)
    energy = card.totals.energy_j
    card.advance(10.0)
    mean_w = (card.totals.energy_j - energy) / 10
    assert mean_w <= 1.003 * card.power_limit_w
    assert card.bits == LimitBit.SW_POWER_CAP
    assert mean_w >= 0.97 * card.power_limit_w


@pytest.mark.parametrize("card_id", EVERY)
def test_every_card_lives_in_sane_bounds_under_its_full_limit(card_id):
    card = physics(card_id)
    run(card, heavy(card), 400)
    model = card.model
    assert 45 < card.core_c <= model.target_c + 1
    assert card.memory_c <= model.memory_limit_c + 1
    assert 0.4 * model.clock_max_mhz < card.clock_mhz <= model.clock_max_mhz
    assert not card.bits & LimitBit.HW_THERMAL


def test_a_lower_cap_lowers_the_clock_and_a_light_load_meets_no_limit():
    card = physics("rtx-4090-48g")
    run(card, heavy(card), 30)
    free = card.clock_mhz
    card.power_limit_w = 300
    card.advance(30)
    assert card.clock_mhz < 0.95 * free
    assert card.power_w == pytest.approx(300, rel=0.01)
    run(card, heavy(card, activity=0.2), 30)
    assert card.bits == 0
    assert card.power_w < 290


@pytest.mark.parametrize("card_id", ["h200-sxm", "a100-sxm-80g", "t4"])
def test_steady_heat_is_power_times_resistance(card_id):
    card = physics(card_id)
    run(card, heavy(card, activity=0.3, traffic=0.5), 900)
    model = card.model
    memory_w = model.memory_idle_w + 0.5 * model.memory_active_w * card.clock_mhz / model.clock_max_mhz
    core_w = card.power_w - memory_w - 0.1 * card.power_w
    sink = card.power_w * total_resistance(model.sink)
    assert card.core_c == pytest.approx(model.air_c + sink + core_w * total_resistance(model.die), abs=0.1)
    expected_memory = model.air_c + sink + memory_w * total_resistance(model.memory) + model.memory_offset_c
    assert card.memory_c == pytest.approx(expected_memory, abs=0.1)


def test_energy_is_the_integral_of_power():
    card = physics("rtx-3090")
    card.loads["w"] = heavy(card)
    card.disturbed()
    integral = 0.0
    for _ in range(2000):
        before = card.totals.t_s
        card.advance(0.005)
        integral += card.power_w * (card.totals.t_s - before)
    assert card.totals.energy_j == pytest.approx(integral, rel=1e-9)
    assert card.totals.t_s == pytest.approx(10.0)


def test_the_step_does_not_decide_the_result():
    fine, coarse = physics("rtx-3090"), physics("rtx-3090")
    for card in (fine, coarse):
        card.loads["w"] = heavy(card)
        card.disturbed()
    for _ in range(3000):
        fine.advance(0.02)
    coarse.advance(60)
    assert coarse.core_c == pytest.approx(fine.core_c, abs=0.2)
    assert coarse.totals.energy_j == pytest.approx(fine.totals.energy_j, rel=0.002)
    assert coarse.iterations["w"] == pytest.approx(fine.iterations["w"], rel=0.002)


def test_leakage_makes_a_hot_card_slower_at_its_cap():
    card = physics("h200-sxm")
    run(card, heavy(card), 2)
    cold = card.clock_mhz
    card.advance(120)
    assert card.clock_mhz < cold - 3


def test_software_thermal_control_holds_the_target():
    card = physics("rtx-3090")
    card.air_target_c = 55.0
    run(card, heavy(card), 900)
    assert card.core_c == pytest.approx(card.model.target_c, abs=1.0)
    assert card.bits & LimitBit.SW_THERMAL
    assert not card.bits & LimitBit.SW_POWER_CAP
    assert card.power_w < 0.95 * card.power_limit_w
    assert card.totals.thermal_software_s > 100


def test_hot_memory_throttles_a_cool_core():
    card = physics("rtx-3080-20g")
    run(card, heavy(card, activity=0.7, traffic=0.8), 300)
    assert card.bits & LimitBit.SW_THERMAL
    assert card.core_c < card.model.target_c - 10
    assert card.memory_c == pytest.approx(card.model.memory_limit_c, abs=1.5)


def test_hardware_slowdown_halves_the_clock_until_it_has_cooled():
    card = physics("h200-sxm")
    card.air_c = card.air_target_c = 75.0
    run(card, heavy(card), 0.6)
    assert card.bits & LimitBit.HW_THERMAL
    assert card.clock_mhz < 0.55 * card.model.clock_max_mhz
    assert card.totals.thermal_hardware_s > 0


def test_fans_follow_the_heat_and_zero_rpm_stands_still():
    card = physics("rtx-3090", contexts=False)
    card.advance(60)
    assert card.fan == pytest.approx(0, abs=0.01)
    run(card, heavy(card), 300)
    assert 0.4 < card.fan <= 1.0
    blower = physics("rtx-4090-48g", contexts=False)
    blower.advance(60)
    assert blower.fan >= 0.29
    stopped = physics("rtx-3090")
    stopped.fan_stopped = True
    run(stopped, heavy(stopped, activity=0.5), 300)
    turning = physics("rtx-3090")
    run(turning, heavy(turning, activity=0.5), 300)
    assert stopped.fan == pytest.approx(0, abs=0.01)
    assert stopped.core_c > turning.core_c + 5


def test_a_card_without_context_sleeps_and_a_geforce_sleeps_with_one():
    sleeping = physics("rtx-4090-48g", contexts=False)
    sleeping.advance(5)
    assert sleeping.asleep
    assert sleeping.power_w == pytest.approx(0.05 * 450, abs=2)
    consumer, server = physics("rtx-4090-48g"), physics("h200-sxm")
    for card in (consumer, server):
        run(card, heavy(card), 1)
        card.loads.clear()
        card.advance(5)
        assert not card.asleep
        card.advance(20)
    assert consumer.asleep
    assert not server.asleep


def test_average_power_trails_by_a_second_and_use_by_less():
    card = physics("h200-sxm")
    run(card, heavy(card, activity=0.5), 30)
    high = card.power_w
    card.loads.clear()
    card.disturbed()
    card.advance(0.5)
    low = card.power_w
    assert card.window(1.0)[0] == pytest.approx(0.5 * (high + low), rel=0.02)
    assert card.window(0.2)[1] == pytest.approx(0.0, abs=1e-9)
    card.advance(0.6)
    assert card.window(1.0)[0] == pytest.approx(low, rel=0.02)


def test_a_clock_lock_shows_as_the_users_cap():
    card = physics("rtx-3090")
    card.settings.sm_lock_mhz = (210, 1200)
    run(card, heavy(card, activity=0.5), 5)
    assert card.clock_mhz == pytest.approx(1200)
    assert card.bits == LimitBit.USER_CLOCKS
