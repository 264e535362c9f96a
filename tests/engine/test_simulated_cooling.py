"""The thermal test on simulated cards, from the plan to advice."""

import itertools
from collections.abc import Callable

import pytest

from gputuner.experiments.cooling import Cooling
from gputuner.language.advice import advice_action, advice_why
from gputuner.language.cooling import table
from gputuner.language.sentences import point_value
from gputuner.model.errors import UsageError
from gputuner.model.events import AdviceGiven, Event, Outcome, PointMeasured, RunFinished, Warned
from gputuner.model.points import Flag, Point
from tests.engine.rig import Simulated

Start = Callable[..., Simulated]


def points(events: list[Event], metric: str) -> list[Point]:
    return [e.point for e in events if isinstance(e, PointMeasured) and e.point.metric == metric]


def given_advice(events: list[Event]) -> set[str]:
    return {a.id for e in events if isinstance(e, AdviceGiven) for a in e.advice}


def asked(events: list[Event]) -> dict[str, str]:
    return {q.id: q.command for e in events if isinstance(e, AdviceGiven) for q in e.questions}


def looks_end(events: list[Event]) -> float:
    """The core's temperature at the last look, °C."""
    return float([p for p in points(events, "steady_temperature") if p.params["phase"] == "look"][-1].extra["now_c"])


def test_every_forecast_holds_where_the_card_ends(simulated: Start):
    events = simulated(card="rtx-3090").run(Cooling(minutes=20.0))
    looks = [p for p in points(events, "steady_temperature") if p.params["phase"] == "look"]
    end = float(looks[-1].extra["now_c"])
    inside = [float(p.extra["low90"]) <= end + 0.5 and end - 0.5 <= float(p.extra["high90"]) for p in looks]
    assert len(looks) >= 4
    assert sum(inside) >= len(inside) - 1
    assert float(looks[0].extra["high90"]) - float(looks[0].extra["low90"]) > 8.0
    (resistance,) = points(events, "thermal_resistance")
    (steady,) = [p for p in points(events, "steady_temperature") if p.params["phase"] == "verdict"]
    assert steady.extra["closed"] is True
    assert "low90" in resistance.extra
    # The simulated card's inlet air is 27 °C.
    (air,) = points(events, "surroundings_temperature")
    assert float(air.extra["low90"]) - 1.0 <= 27.0 <= float(air.extra["high90"]) + 1.0
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


def test_a_resistance_that_the_unknown_air_keeps_open_is_told_with_the_room(simulated: Start):
    """The simulated card's inlet air is 27 °C: its resistance is the steady rise over it by the power."""
    events = simulated(card="rtx-3090").run(Cooling(minutes=20.0))
    (alone,) = points(events, "thermal_resistance")
    assert (alone.extra["closed"], Flag.NOT_STEADY in alone.flags) == (False, False)
    assert "open" in table([alone]).rows[0][0]
    (question,) = [q for e in events if isinstance(e, AdviceGiven) for q in e.questions if q.id == "cooling_room"]
    assert question.params["known"] is True
    assert "--room" in question.command
    events = simulated(card="rtx-3090").run(Cooling(minutes=20.0, room_c=27.0))
    (known,) = points(events, "thermal_resistance")
    (steady,) = [p for p in points(events, "steady_temperature") if p.params["phase"] == "verdict"]
    assert known.extra["closed"] is True
    assert "open" not in table([known]).rows[0][0]
    assert known.value == pytest.approx((float(looks_end(events)) - 27.0) / float(known.extra["power_w"]), rel=0.05)
    assert float(steady.extra["low90"]) <= looks_end(events) + 0.5
    assert "cooling_room" not in asked(events)


def test_too_short_a_test_says_how_many_minutes_are_missing(simulated: Start):
    events = simulated(card="rtx-3090").run(Cooling(minutes=4.0))
    (resistance,) = points(events, "thermal_resistance")
    assert resistance.extra["closed"] is False
    assert "cooling_longer" in asked(events)
    assert "--minutes" in asked(events)["cooling_longer"]
    assert "cooling.enough" not in given_advice(events)


def test_a_load_that_fails_by_itself_ends_the_test_with_its_error(simulated: Start):
    events = simulated(card="rtx-3090").run(Cooling(load="/folder/mine.py:make", minutes=4.0))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.outcome, last.error_code) == (Outcome.FAILED, "training_failed")
    assert not given_advice(events)
    assert not asked(events)


def test_what_was_not_tried_is_marked_and_a_time_beyond_what_was_looked_at_is_a_least(simulated: Start):
    events = simulated(card="rtx-4090-48g").run(Cooling(minutes=3.0))
    verdict = {e.point.metric: e.point for e in events if isinstance(e, PointMeasured)}
    predicted = {name for name, point in verdict.items() if Flag.EXTRAPOLATED in point.flags}
    assert predicted >= {"steady_temperature", "cooler_good_for", "room_at_limit", "minutes_to_limit"}
    assert not predicted & {"thermal_resistance", "surroundings_temperature", "rise_time", "matmul_rate"}
    assert verdict["cooler_good_for"].extra["most_w"] == 450.0
    reached = verdict["minutes_to_limit"]
    assert reached.value == reached.extra["high90"] == 120.0
    assert (reached.extra["at_least"], reached.extra["high_at_least"]) == (True, True)
    assert point_value(reached) == "≥ 2 h 00 min"
    (row,) = table([reached]).rows
    assert row[0].endswith("[predicted, not tried out]")
    assert row[1] == "≥ 2 h 00 min"
    assert row[2].endswith("to ≥ 2 h 00 min")


def test_watts_beyond_the_highest_limit_are_not_advised_as_if_tried(simulated: Start):
    events = simulated(card="h200-sxm").run(Cooling(minutes=20.0))
    (told,) = [a for e in events if isinstance(e, AdviceGiven) for a in e.advice if a.id == "cooling.enough"]
    assert float(told.params["good_for_w"]) > float(told.params["most_w"]) == 700.0
    assert "700 W" in advice_action(told)
    assert str(told.params["good_for_w"]) not in advice_action(told)
    assert "cannot be tried" in advice_why(told)
    (good_for,) = points(events, "cooler_good_for")
    (row,) = table([good_for]).rows
    assert row[1] == "not reached: the card takes 700 W at most"
    assert row[2].endswith("by calculation")


def test_nine_minutes_are_looked_at_after_each_piece_of_load(simulated: Start):
    events = simulated(card="h200-sxm").run(Cooling(minutes=9.0))
    minutes = [float(p.params["load_min"]) for p in points(events, "steady_temperature") if p.params["phase"] == "look"]
    assert len(minutes) >= 5
    assert all(0.7 < later - earlier < 1.3 for earlier, later in itertools.pairwise(minutes))


def test_memory_that_is_hot_under_a_cool_core_is_no_sound_cooler(simulated: Start):
    """The 3080 20G of the catalogue: soft pads, software thermal limit at a cool core (facts on cooling §5)."""
    events = simulated(card="rtx-3080-20g").run(Cooling(minutes=12.0))
    assert "memory_heat.suspected" in given_advice(events)
    assert "cooling.enough" not in given_advice(events)


def test_a_cooler_worse_than_its_kind_is_told_with_degrees(simulated: Start):
    events = simulated(card="rtx-3090").run(Cooling(minutes=14.0, cooler="water", room_c=27.0))
    (advice,) = [a for e in events if isinstance(e, AdviceGiven) for a in e.advice if a.id == "cooling.worse_than_kind"]
    assert advice.params["usual"] == 0.07
    assert 0 < advice.params["degrees_low"] < advice.params["degrees_high"]  # type: ignore[operator]
    assert not {"cooling_room", "cooling_cooler"} & set(asked(events))


def test_a_stuck_sensor_is_no_forecast(simulated: Start):
    events = simulated((0.0, "stuck_sensor", {}), card="rtx-3090").run(Cooling(minutes=5.0))
    assert not points(events, "thermal_resistance")
    assert "cooling_nothing_read" in {e.code for e in events if isinstance(e, Warned)}
    assert asked(events).keys() == {"cooling_nothing"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"minutes": 1.0}, "minutes_out_of_range"),
        ({"room_c": 99.0}, "room_out_of_range"),
        ({"cooler": "fridge"}, "cooler_unknown"),
        ({"load": "alexnet:batch=2"}, "workload_unknown"),
        ({"load": "edsr:batch=x"}, "job_setting_value"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields: dict[str, object], code: str):
    with pytest.raises(UsageError) as refused:
        Cooling(**fields)  # type: ignore[arg-type]
    assert refused.value.code == code
