"""A run tells the user's alerts as events, from faults of a simulated card to the stored stream and back."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gputuner.engine.options import Options
from gputuner.experiments.record import Record
from gputuner.model import codec
from gputuner.model.alerts import DEFAULT_RULES, AlertKind, AlertRule, default_rule
from gputuner.model.events import AlertCleared, AlertRaised, Event
from tests.engine.rig import Simulated

Start = Callable[..., Simulated]


def record(rig: Simulated, seconds: float, rules: tuple[AlertRule, ...] = DEFAULT_RULES) -> list[Event]:
    return list(rig.engine.start(Record(duration_s=seconds), Options(cards=(rig.model.uuid,), alerts=rules)))


def alerts(events: list[Event]) -> list[AlertRaised | AlertCleared]:
    return [event for event in events if isinstance(event, (AlertRaised, AlertCleared))]


def test_heat_and_a_standing_fan_are_told_in_the_session(simulated: Start):
    rig = simulated((20.0, "overheat", {"air_c": 60}), (20.0, "fan_stopped", {}))
    warm = replace(default_rule(AlertKind.TEMPERATURE), name="warm", threshold=60.0, hold_s=10.0)
    events = record(rig, 300.0, (*DEFAULT_RULES, warm))
    raised = {event.rule: event for event in alerts(events) if isinstance(event, AlertRaised)}
    assert set(raised) == {"warm", "fan"}
    hot = raised["warm"]
    assert hot.value is not None
    assert hot.value >= 60
    assert (hot.threshold, hot.card, hot.alert) == (60, rig.model.uuid, AlertKind.TEMPERATURE)
    assert raised["fan"].detail == "0 rpm"
    stored = [event for event in rig.stores[0].events if isinstance(event, AlertRaised)]
    assert stored == [event for event in events if isinstance(event, AlertRaised)]
    assert codec.decode_event(codec.encode(hot)) == hot


def test_a_card_that_is_lost_and_comes_back_is_raised_and_cleared(simulated: Start):
    events = alerts(record(simulated((30.0, "lost", {"duration_s": 40.0})), 200.0))
    assert [(event.alert, isinstance(event, AlertRaised)) for event in events] == [
        (AlertKind.LOST, True),
        (AlertKind.LOST, False),
    ]
    assert isinstance(events[1], AlertCleared)
    assert events[1].lasted_s == pytest.approx(45, abs=25), "seen by a scan, which comes after growing pauses"


def test_an_xid_is_told_with_its_number(simulated: Start):
    (event,) = alerts(record(simulated((10.0, "xid", {"xid": 31})), 60.0))
    assert isinstance(event, AlertRaised)
    assert (event.alert, event.value) == (AlertKind.XID, 31)


def test_a_healthy_card_raises_nothing_and_without_rules_nothing_is_told(simulated: Start):
    assert alerts(record(simulated(), 300.0)) == []
    assert alerts(record(simulated((10.0, "xid", {"xid": 31})), 60.0, ())) == []


def test_a_glitch_of_the_power_reading_and_a_refused_one_raise_nothing(simulated: Start):
    low = (*DEFAULT_RULES, replace(default_rule(AlertKind.TEMPERATURE), name="low", threshold=30.0, hold_s=0.0))
    refused = simulated((0.0, "no_permission", {}), (20.0, "power_glitch", {}))
    assert [event for event in alerts(record(refused, 120.0, low)) if event.alert is not AlertKind.SILENT] == []
