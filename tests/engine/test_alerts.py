"""What raises and clears each kind of alert, and what must not."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gputuner.engine.alerts import AlertWatch
from gputuner.model.alerts import DEFAULT_RULES, AlertChange, AlertKind, AlertRule, default_rule
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, CatalogMatch
from gputuner.model.quantities import LimitBit, Quantity
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import Sample, XidSeen
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.rates import Rates

NS = 1_000_000_000
Q = Quantity
CARD = CardInfo(uuid="GPU-0", index=0, name="card", readings={"slowdown_c": Reading(value=90.0, unit="degC")})
LOST = replace(CARD, state=CardState.LOST)


def rule(kind: AlertKind, **values: object) -> AlertRule:
    return replace(default_rule(kind), **values)  # type: ignore[arg-type]


def sample(t_s: float, card: str = "GPU-0", missing: Iterable[Quantity] = (), **values: float) -> Sample:
    found = {Quantity(name): value for name, value in values.items()}
    return Sample(card=card, t_ns=round(t_s * NS), values=found, missing=dict.fromkeys(missing, Reason.ERROR))


def tick(t_s: float, *samples: Sample, **parts: object) -> Tick:
    return Tick(t_ns=round(t_s * NS), samples=samples, **parts)  # type: ignore[arg-type]


def play(watch: AlertWatch, samples: Iterable[Sample]) -> list[AlertChange]:
    return [change for each in samples for change in watch.take(Tick(t_ns=each.t_ns, samples=(each,)))]


def told(changes: Iterable[AlertChange]) -> list[tuple[str, bool, float]]:
    return [(change.rule.name, change.raised, change.t_ns / NS) for change in changes]


def test_a_temperature_is_raised_after_its_time_and_cleared_behind_its_margin():
    watch = AlertWatch([rule(AlertKind.TEMPERATURE, threshold=85, hold_s=10, clear_margin=5)], [CARD])
    hot = [sample(t, core_temperature_c=86) for t in range(15)]
    still = [sample(15 + t, core_temperature_c=82) for t in range(60)]
    cool = [sample(75 + t, core_temperature_c=80) for t in range(15)]
    changes = play(watch, [*hot, *still, *cool])
    assert told(changes) == [("temperature", True, 10), ("temperature", False, 85)]
    assert [change.value for change in changes] == [86, 80]
    assert changes[1].lasted_s == 75


@pytest.mark.parametrize("raised", [False, True])
def test_what_is_not_reported_neither_raises_nor_clears(raised: bool):
    watch = AlertWatch([rule(AlertKind.TEMPERATURE, threshold=85, hold_s=5)], [CARD])
    play(watch, [sample(t, core_temperature_c=90 if raised else 40) for t in range(10)])
    assert bool(watch.raised) is raised
    dumb = [sample(10 + t, missing=[Q.CORE_TEMPERATURE_C], sm_clock_mhz=1000) for t in range(600)]
    assert play(watch, dumb) == []
    assert bool(watch.raised) is raised


def test_readings_before_and_behind_a_suspend_do_not_add_up():
    watch = AlertWatch([rule(AlertKind.TEMPERATURE, threshold=85, hold_s=30)], [CARD])
    hot = [sample(t, core_temperature_c=90) for t in (0, 1, 2, 36_000, 36_001, 36_002)]
    assert play(watch, hot) == []


def test_a_clock_that_jumps_back_raises_nothing():
    watch = AlertWatch([rule(kind) for kind in AlertKind], [CARD])
    times = [*range(100, 120), *range(20, 40), *range(5000, 5020)]
    assert play(watch, [sample(t, core_temperature_c=60, power_average_w=100 + t % 7) for t in times]) == []
    assert watch.look(50 * NS) == ()


def test_the_distance_to_slowdown_follows_the_cards_own_limit():
    watch = AlertWatch([rule(AlertKind.MARGIN, threshold=3, hold_s=0, clear_margin=3)], [CARD])
    changes = play(watch, [sample(t, core_temperature_c=c) for t, c in enumerate((86, 87, 86, 84))])
    assert [(change.raised, change.value) for change in changes] == [(True, 3), (False, 6)]
    told_itself = AlertWatch([rule(AlertKind.MARGIN, hold_s=0)], [CARD])
    assert play(told_itself, [sample(0, core_temperature_c=50, slowdown_margin_c=2)])[0].value == 2


def fans(watch: AlertWatch, core: float, **fan: float) -> list[AlertChange]:
    fast = [sample(t, core_temperature_c=core) for t in range(0, 60, 1)]
    slow = [sample(t + 0.5, **fan) for t in range(0, 60, 5)] if fan else []
    return play(watch, sorted([*fast, *slow], key=lambda each: each.t_ns))


def test_a_fan_that_rests_in_idle_is_no_alarm_and_one_that_stands_in_the_heat_is():
    assert fans(AlertWatch([rule(AlertKind.FAN)], [CARD]), 50, fan_fraction=0.0) == []
    assert fans(AlertWatch([rule(AlertKind.FAN)], [CARD]), 70, fan_fraction=0.5) == []
    (change,) = fans(AlertWatch([rule(AlertKind.FAN)], [CARD]), 70, fan_fraction=0.0)
    assert (change.value, change.detail) == (70, "0%")
    assert change.t_ns == round(15.5 * NS), "three readings of the slow tier behind the first"


def test_a_fan_that_is_told_to_turn_and_does_not_is_an_alarm():
    (change,) = fans(AlertWatch([rule(AlertKind.FAN)], [CARD]), 70, fan_fraction=0.6, fan_rpm=0)
    assert change.detail == "0 rpm"


def test_a_fan_may_have_to_turn_faster_than_the_user_says():
    wanted = rule(AlertKind.FAN, threshold=75, least_fan=0.4)
    assert fans(AlertWatch([wanted], [CARD]), 76, fan_fraction=0.4) == []
    assert [c.detail for c in fans(AlertWatch([wanted], [CARD]), 76, fan_fraction=0.3)] == ["30%"]


def test_c027_a_card_without_a_fan_has_no_alarm_of_one():
    watch = AlertWatch([rule(AlertKind.FAN)], [CARD])
    gone = (Q.FAN_FRACTION, Q.FAN_RPM)
    assert play(watch, [sample(t, core_temperature_c=95, missing=gone) for t in range(120)]) == []


def test_c023_a_frozen_temperature_blinds_the_alerts_on_heat_and_is_told():
    """Frozen at 24 °C while the card draws 300 W: no alarm of heat, but the word that there can be none."""
    watch = AlertWatch(DEFAULT_RULES, [CARD])
    power = [25.0] * 30 + [300.0] * 300
    frozen = [sample(t, core_temperature_c=24, power_average_w=w) for t, w in enumerate(power)]
    (change,) = play(watch, frozen)
    assert change.rule.kind is AlertKind.STUCK
    moves = play(watch, [sample(400 + t, core_temperature_c=25 + t, power_average_w=300) for t in range(3)])
    assert [(each.rule.kind, each.raised) for each in moves] == [(AlertKind.STUCK, False)]


def test_a_sensor_that_freezes_hot_does_not_raise_once_it_is_known_to_be_frozen():
    watch = AlertWatch([rule(AlertKind.STUCK), rule(AlertKind.TEMPERATURE, threshold=85, hold_s=3000)], [CARD])
    power = [25.0] * 30 + [300.0] * 3600
    frozen = [sample(t, core_temperature_c=90, power_average_w=w) for t, w in enumerate(power)]
    assert [change.rule.kind for change in play(watch, frozen)] == [AlertKind.STUCK]


def test_time_in_a_limit_adds_up_and_the_hardwares_thermal_limit_counts_at_once():
    wanted = rule(AlertKind.LIMIT, threshold=20, clear_margin=10)
    watch = AlertWatch([wanted], [CARD])
    flicker = [sample(t, limit_bits=LimitBit.SW_THERMAL if t % 2 else 0) for t in range(100)]
    (change,) = play(watch, flicker)
    assert change.raised
    assert 38 <= change.t_ns / NS <= 42, "half of the seconds: 20 of them after 40 s"
    assert change.detail == "thermal_software"
    (back,) = play(watch, [sample(100 + t, limit_bits=0) for t in range(100)])
    assert not back.raised
    at_once = AlertWatch([wanted], [CARD])
    (hard,) = play(at_once, [sample(0, limit_bits=LimitBit.HW_THERMAL | LimitBit.HW_SLOWDOWN)])
    assert hard.detail == "thermal_hardware"


def test_an_xid_is_told_once_and_again_only_after_its_quiet_time():
    watch = AlertWatch([rule(AlertKind.XID, quiet_s=60)], [CARD])

    def seen(t_s: float, number: int) -> list[tuple[bool, float | None]]:
        xid = XidSeen(card="GPU-0", t_ns=round(t_s * NS), xid=number)
        return [(change.raised, change.value) for change in watch.take(tick(t_s, xids=(xid,)))]

    assert seen(0, 31) == [(True, 31)]
    assert seen(10, 31) == []
    assert seen(11, 79) == [(True, 79)], "another number is another alert"
    assert [(c.raised, c.value) for c in watch.look(70 * NS)] == [(False, 31)]
    assert [(c.raised, c.value) for c in watch.look(71 * NS)] == [(False, 79)]
    assert seen(72, 31) == [(True, 31)]


def test_only_the_xids_that_were_named_count():
    watch = AlertWatch([rule(AlertKind.XID, xids=(48, 79))], [CARD])
    seen = [XidSeen(card="GPU-0", t_ns=NS, xid=number) for number in (13, 79)]
    assert [c.value for c in watch.take(tick(1, xids=tuple(seen)))] == [79]


def test_c024_a_card_that_is_lost_from_the_start_raises_and_its_neighbours_do_not():
    others = [replace(CARD, uuid=f"GPU-{i}", index=i) for i in (0, 2)]
    lost = CardInfo(uuid="lost-1", index=1, name="card", state=CardState.LOST)
    watch = AlertWatch(DEFAULT_RULES, [others[0], lost, others[1]])
    changes = watch.take(tick(1, *(sample(1, card.uuid, core_temperature_c=30) for card in others)))
    assert [(change.rule.kind, change.card) for change in changes] == [(AlertKind.LOST, "lost-1")]


def test_a_lost_card_is_told_at_once_is_not_silent_and_is_cleared_when_it_is_back():
    watch = AlertWatch([rule(AlertKind.LOST), rule(AlertKind.SILENT, threshold=30)], [CARD])
    watch.take(tick(0, sample(0, core_temperature_c=50)))
    assert told(watch.take(tick(1, cards=(LOST,)))) == [("lost", True, 1)]
    assert [c for t in range(2, 120) for c in watch.look(t * NS)] == []
    assert told(watch.take(tick(120, cards=(CARD,)))) == [("lost", False, 120)]
    assert watch.look(121 * NS) == ()


def test_a_card_that_sleeps_is_neither_lost_nor_silent():
    watch = AlertWatch(DEFAULT_RULES, [CARD])
    watch.take(tick(0, sample(0, core_temperature_c=40)))
    assert watch.take(tick(1, cards=(replace(CARD, state=CardState.ASLEEP),))) == ()
    assert [c for t in range(2, 4000) for c in watch.look(t * NS)] == []


def test_silence_is_told_by_the_clock_and_over_with_the_first_reading():
    watch = AlertWatch([rule(AlertKind.SILENT, threshold=30)], [CARD])
    watch.take(tick(0, sample(0, core_temperature_c=50)))
    assert told([c for t in range(1, 60) for c in watch.look(t * NS)]) == [("silent", True, 30)]
    slow = watch.take(tick(61, sample(61, fan_fraction=0.4)))
    assert slow == (), "fans say nothing of the core"
    assert told(watch.take(tick(62, sample(62, core_temperature_c=50)))) == [("silent", False, 62)]


def test_when_we_ourselves_stood_still_no_card_was_silent():
    watch = AlertWatch([rule(AlertKind.SILENT, threshold=30)], [CARD])
    watch.take(tick(0, sample(0, core_temperature_c=50)))
    assert watch.look(9_000 * NS) == ()
    assert told([c for t in range(9_001, 9_040) for c in watch.look(t * NS)]) == [("silent", True, 9_030)]


def test_raised_again_within_its_quiet_time_it_is_kept_but_not_told():
    watch = AlertWatch([rule(AlertKind.TEMPERATURE, threshold=85, hold_s=0, clear_margin=2, quiet_s=100)], [CARD])
    wave = [sample(t, core_temperature_c=90 if (t // 20) % 2 == 0 else 70) for t in range(0, 200)]
    raises = [(change.t_ns // NS, change.quiet) for change in play(watch, wave) if change.raised]
    assert raises == [(0, False), (40, True), (80, True), (120, False), (160, True)]


def test_the_processor_is_watched_only_where_it_is_named():
    processor = CardInfo(uuid=CPU_CARD, index=0, name="processor")
    hot = [sample(t, CPU_CARD, core_temperature_c=99) for t in range(60)]
    assert play(AlertWatch(DEFAULT_RULES, [processor]), hot) == []
    named = rule(AlertKind.TEMPERATURE, cards=(CPU_CARD,))
    assert len(play(AlertWatch([named], [processor]), hot)) == 1


def test_a_rule_for_one_card_leaves_the_others_alone_and_an_off_one_all():
    named = rule(AlertKind.TEMPERATURE, cards=("GPU-1",), hold_s=0)
    cards = [CARD, replace(CARD, uuid="GPU-1", index=1)]
    hot = tick(1, *(sample(1, card.uuid, core_temperature_c=99) for card in cards))
    assert [change.card for change in AlertWatch([named], cards).take(hot)] == ["GPU-1"]
    assert AlertWatch([replace(named, on=False)], cards).take(hot) == ()


def test_a_rule_that_is_changed_or_gone_clears_what_it_had_raised():
    hot = rule(AlertKind.TEMPERATURE, threshold=85, hold_s=0)
    watch = AlertWatch([hot, rule(AlertKind.LOST)], [CARD])
    play(watch, [sample(0, core_temperature_c=90)])
    assert watch.follow(watch.rules, NS) == ()
    (cleared,) = watch.follow([replace(hot, threshold=95.0)], 2 * NS)
    assert (cleared.raised, cleared.lasted_s) == (False, 2)
    assert watch.raised == ()


def test_a_blink_at_a_change_of_the_p_state_is_no_heat_and_lasting_heat_is_one_alert():
    blink = [
        sample(t / 2, core_temperature_c=45, limit_bits=LimitBit.HW_SLOWDOWN if t % 10 == 0 else 0) for t in range(240)
    ]
    assert play(AlertWatch(DEFAULT_RULES, [CARD]), blink) == []
    hot = LimitBit.HW_SLOWDOWN | LimitBit.HW_THERMAL
    pulses = [sample(t / 2, limit_bits=hot if t % 10 == 0 else 0) for t in range(240)]
    (change,) = play(AlertWatch(DEFAULT_RULES, [CARD]), pulses)
    assert (change.raised, change.detail) == (True, "thermal_hardware")


@pytest.mark.parametrize("hz", [2.0, 0.5, 0.2, 0.1])
def test_the_time_in_a_limit_does_not_depend_on_how_often_it_is_read(hz: float):
    watch = AlertWatch([rule(AlertKind.LIMIT, threshold=20, clear_margin=10)], [CARD], Rates(fast_hz=hz))
    (change,) = play(watch, [sample(k / hz, limit_bits=LimitBit.SW_THERMAL) for k in range(int(100 * hz) + 1)])
    assert 20 <= change.t_ns / NS < 20 + 1 / hz


def test_heat_that_only_the_counter_of_the_card_shows_is_told():
    samples = [sample(t, limit_bits=0, limited_thermal_hardware_ns=1e12 + t // 5 * 1e9) for t in range(60)]
    (change,) = play(AlertWatch(DEFAULT_RULES, [CARD]), samples)
    assert (change.t_ns, change.detail) == (5 * NS, "thermal_hardware")


@pytest.mark.parametrize(("most", "raised_from"), [(95.0, 90), (85.0, 80), (110.0, 105), (None, 100)])
def test_memory_is_held_against_the_cards_own_limit(most: float | None, raised_from: int):
    """95 °C: what an H200 tells of its HBM; 85 °C: V100; without a word 105 °C is assumed."""
    readings = {} if most is None else {"memory_max_c": Reading(value=most, unit="degC")}
    card = replace(CARD, readings=readings)
    for degrees in (raised_from - 1, raised_from):
        held = [sample(t, memory_temperature_c=degrees) for t in range(40)]
        changes = play(AlertWatch(DEFAULT_RULES, [card]), held)
        assert [change.rule.threshold for change in changes] == [raised_from] * (degrees == raised_from)
    own = AlertWatch([rule(AlertKind.MEMORY_TEMPERATURE, threshold=70, hold_s=0)], [card])
    assert len(play(own, [sample(0, memory_temperature_c=70)])) == 1


def test_a_passive_board_that_shows_a_fan_at_zero_is_no_alarm_until_one_has_turned():
    """A P40 shows a fan at 0 % that it does not have (facts on cooling); one wired to the board may stop."""
    passive = replace(CARD, catalog=CatalogMatch(catalog_id="tesla-p40", name="Tesla P40", passive=True))
    watch = AlertWatch([rule(AlertKind.FAN)], [passive])
    assert fans(watch, 70, fan_fraction=0.0) == []
    wired = AlertWatch([rule(AlertKind.FAN)], [passive])
    play(wired, [sample(0, core_temperature_c=40), sample(0, fan_fraction=0.5)])
    assert [change.raised for change in fans(wired, 70, fan_fraction=0.0)] == [True]


def test_a_card_that_never_spoke_is_silent_from_when_it_is_watched():
    watch = AlertWatch(DEFAULT_RULES, [CARD])
    assert told([c for t in range(60) for c in watch.look(t * NS)]) == [("silent", True, 30)]
    ticks = AlertWatch(DEFAULT_RULES, [CARD, replace(CARD, uuid="GPU-1", index=1)])
    others = [c for t in range(60) for c in ticks.take(tick(t, sample(t, "GPU-1", core_temperature_c=40)))]
    assert [(change.rule.kind, change.card) for change in others] == [(AlertKind.SILENT, CARD.uuid)]


def test_ticks_of_two_feeds_that_come_a_little_out_of_order_hide_no_silence():
    other = replace(CARD, uuid=CPU_CARD, index=0)
    watch = AlertWatch([rule(AlertKind.SILENT, threshold=30)], [CARD, other])
    changes = [
        change
        for t in range(60)
        for t_s in (t + 0.2, t)
        for change in watch.take(tick(t_s, sample(t_s, CPU_CARD, gpu_utilisation=0.1)))
    ]
    assert [(change.card, change.rule.kind) for change in changes] == [(CARD.uuid, AlertKind.SILENT)]
