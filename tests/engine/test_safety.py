from dataclasses import replace

import pytest

from gputuner.engine.safety import SILENCE_S, SafetyLimits, SafetyWatch
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, CatalogMatch
from gputuner.model.quantities import Quantity as Q
from gputuner.model.readings import Reading
from gputuner.model.samples import Sample, XidSeen
from gputuner.telemetry.feed import Tick

CARD = CardInfo(
    uuid="GPU-a",
    index=0,
    name="a",
    readings={
        "slowdown_c": Reading(value=90.0, unit="degC"),
        "memory_max_c": Reading(value=100.0, unit="degC"),
        "power_limit_enforced_w": Reading(value=350.0, unit="W"),
    },
)


def tick(t_s: float, **values: float) -> Tick:
    sample = Sample(card="GPU-a", t_ns=int(t_s * 1e9), values={Q(k): v for k, v in values.items()})
    return Tick(t_ns=sample.t_ns, samples=(sample,))


def loaded(limits: SafetyLimits | None = None) -> SafetyWatch:
    watch = SafetyWatch(CARD, limits or SafetyLimits())
    watch.load_starts(0)
    return watch


@pytest.mark.parametrize(
    ("values", "trigger"),
    [
        ({"slowdown_margin_c": 2.0, "core_temperature_c": 50.0}, "core_hot"),
        ({"core_temperature_c": 88.0}, "core_hot"),
        ({"core_temperature_c": 60.0, "memory_temperature_c": 95.0}, "memory_hot"),
    ],
)
def test_one_tick_of_heat_stops(values: dict[str, float], trigger: str):
    stopped = loaded().check(tick(1, **values))
    assert stopped is not None
    assert stopped.trigger == trigger


@pytest.mark.parametrize(
    "values",
    [
        {"slowdown_margin_c": 3.0, "core_temperature_c": 87.0},
        {"core_temperature_c": 87.0},
        {"memory_temperature_c": 94.0},
        {"power_average_w": 384.0},
        {"fan_fraction": 0.0, "core_temperature_c": 55.0},
    ],
)
def test_just_inside_the_limits_goes_on(values: dict[str, float]):
    watch = loaded()
    assert all(watch.check(tick(t, **values)) is None for t in range(1, 10))


def test_the_users_limit_counts_before_the_cards():
    watch = loaded(SafetyLimits(core_max_c=80.0))
    assert watch.check(tick(1, core_temperature_c=79.0)) is None
    stopped = watch.check(tick(2, core_temperature_c=80.0))
    assert stopped is not None
    assert (stopped.trigger, stopped.limit) == ("core_user_limit", 80.0)


def test_power_must_exceed_its_limit_three_ticks_in_a_row():
    watch = loaded()
    seen = [watch.check(tick(t, power_average_w=w)) for t, w in enumerate([400, 400, 340, 400, 400, 400])]
    assert seen[:5] == [None] * 5
    assert seen[5] is not None
    assert seen[5].trigger == "power_above_limit"


def test_a_board_without_a_fan_that_shows_one_at_zero_goes_on_until_one_was_seen_turning():
    passive = replace(CARD, catalog=CatalogMatch(catalog_id="tesla-p40", name="Tesla P40", passive=True))
    for turned, stops in ((0.0, False), (0.4, True)):
        watch = SafetyWatch(passive, SafetyLimits())
        watch.load_starts(0)
        assert watch.check(tick(1, fan_fraction=turned, core_temperature_c=50.0)) is None
        for t in (2, 3):
            stopped = watch.check(tick(t, fan_fraction=0.0, core_temperature_c=70.0))
        assert (stopped is not None) is stops


def test_fan_that_stands_still_under_load_stops():
    watch = loaded()
    assert watch.check(tick(1, fan_fraction=0.0, core_temperature_c=70.0)) is None
    stopped = watch.check(tick(2, fan_fraction=0.0, core_temperature_c=71.0))
    assert stopped is not None
    assert stopped.trigger == "fan_stopped"


def test_xid_of_this_card_stops_and_of_another_does_not():
    other = Tick(t_ns=1, xids=(XidSeen(card="GPU-b", t_ns=1, xid=79),))
    own = Tick(t_ns=2, xids=(XidSeen(card="GPU-a", t_ns=2, xid=79),))
    watch = loaded()
    assert watch.check(other) is None
    stopped = watch.check(own)
    assert stopped is not None
    assert (stopped.trigger, stopped.value) == ("xid", 79.0)


def test_silence_counts_from_the_last_sample_with_values():
    watch = loaded()
    watch.check(tick(2, core_temperature_c=50.0))
    watch.check(Tick(t_ns=int(4e9), samples=(Sample(card="GPU-a", t_ns=int(4e9), values={}),)))
    assert watch.check_silence(int((2 + SILENCE_S) * 1e9) - 1) is None
    stopped = watch.check_silence(int((2 + SILENCE_S) * 1e9))
    assert stopped is not None
    assert stopped.trigger == "telemetry_silent"


def test_slow_readings_alone_are_silence():
    """The tier that tells how hot the card is hangs; the other one still answers."""
    watch = loaded()
    assert watch.check(tick(1, core_temperature_c=50.0)) is None
    assert watch.check(tick(3, fan_fraction=0.5, pcie_generation=4)) is None
    stopped = watch.check_silence(int((1 + SILENCE_S) * 1e9))
    assert stopped is not None


def test_a_card_without_a_temperature_sensor_lives_by_its_other_readings():
    watch = loaded()
    assert all(watch.check(tick(t, sm_clock_mhz=1500.0)) is None for t in (1, 3, 5, 7))
    assert watch.check_silence(int(9e9)) is None


def test_a_silence_that_is_over_when_it_is_noticed_stops_all_the_same():
    watch = loaded()
    assert watch.check(tick(1, core_temperature_c=50.0)) is None
    stopped = watch.check(tick(30, core_temperature_c=50.0))
    assert stopped is not None
    assert stopped.trigger == "telemetry_silent"


def test_ten_ticks_a_second_do_not_make_an_overshoot_a_danger():
    watch = loaded()
    assert all(watch.check(tick(1 + n / 10, power_instant_w=440.0)) is None for n in range(10))
    stopped = watch.check(tick(2.0, power_instant_w=440.0))
    assert stopped is not None
    assert stopped.trigger == "power_above_limit"


def test_limits_that_change_in_mid_run_count():
    watch = loaded()
    lower = replace(CARD, readings={**CARD.readings, "slowdown_c": Reading(value=80.0, unit="degC")})
    assert watch.check(Tick(t_ns=1, cards=(lower,))) is None
    assert watch.check(tick(1, core_temperature_c=78.0)) is not None


def test_a_lost_card_ends_our_work_and_only_ours():
    lost = Tick(t_ns=1, cards=(replace(CARD, state=CardState.LOST, lost_since_ns=1),))
    assert SafetyWatch(CARD, SafetyLimits()).check(lost) is None
    watch = SafetyWatch(CARD, SafetyLimits())
    watch.work_starts()
    stopped = watch.check(lost)
    assert stopped is not None
    assert stopped.trigger == "card_lost"
    other = Tick(t_ns=1, cards=(replace(CARD, uuid="GPU-b", state=CardState.LOST),))
    assert loaded().check(other) is None


def test_nothing_stops_while_no_load_of_ours_runs():
    watch = SafetyWatch(CARD, SafetyLimits())
    assert watch.check(tick(1, core_temperature_c=99.0)) is None
    assert watch.check_silence(10**12) is None
    watch.load_starts(0)
    watch.load_ends()
    assert watch.check(tick(2, core_temperature_c=99.0)) is None


def test_the_hosts_own_processor_is_given_more_time():
    cpu = CardInfo(uuid=CPU_CARD, index=0, name="cpu")
    watch = SafetyWatch(cpu, SafetyLimits())
    watch.load_starts(0)
    assert watch.check_silence(int(10e9)) is None
    assert watch.check_silence(int(16e9)) is not None
