"""The health test on simulated cards, sound and with planted faults, from the plan to advice."""

from collections.abc import Callable

import pytest

from gputuner.analysis.health import as_sold, verdict
from gputuner.assembly.knowledge import KNOWLEDGE
from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.experiments.health import Health
from gputuner.experiments.health_stages import BURN_IN, KEEP_SHARE, USUAL
from gputuner.language.health_tables import identity_table
from gputuner.model.advice import Confidence
from gputuner.model.errors import UsageError
from gputuner.model.events import AdviceGiven, Event, Outcome, PointMeasured, RunFinished, Warned
from gputuner.model.points import Point
from gputuner.model.quantities import Limiter
from tests.engine.rig import Simulated

Start = Callable[..., Simulated]
GIB = 1 << 30


@pytest.fixture
def started(simulated: Start, tmp_path) -> Start:
    """As ``simulated``, with the sheets of the catalogue."""

    def start(*faults, card="rtx-3060-12g"):
        made = simulated(*faults, card=card)
        made.engine = Engine(made._stage, made._store, tmp_path, knowledge=KNOWLEDGE)
        return made

    return start


def points(events: list[Event]) -> list[Point]:
    return [e.point for e in events if isinstance(e, PointMeasured)]


def of(events: list[Event], metric: str) -> list[Point]:
    return [p for p in points(events) if p.metric == metric]


def advice(events: list[Event]) -> dict[str, dict[str, object]]:
    return {a.id: dict(a.params) for e in events if isinstance(e, AdviceGiven) for a in e.advice}


def asked(events: list[Event]) -> set[str]:
    return {q.id for e in events if isinstance(e, AdviceGiven) for q in e.questions}


def test_a_sound_card_passes_all_stages_and_is_what_it_is(started: Start):
    events = started().run(Health(minutes=3.0))
    assert verdict(points(events)) == "pass"
    assert [p.params["name"] for p in of(events, "health_stage")] == [stage.kind for stage in USUAL]
    assert {(p.params["pass"], p.params["heat"]) for p in of(events, "vram_errors")} == {
        (name, heat)
        for name in ("address", "inversions", "checkerboard", "random", "retention")
        for heat in ("cold", "hot")
    }
    (coverage,) = of(events, "vram_coverage")
    assert 0.9 < coverage.value < 1.0
    (rate,) = of(events, "vram_test_rate")
    assert float(rate.extra["of_copy"]) >= 0.6
    passes = [p.extra for p in of(events, "vram_errors")]
    moved = {name: sum(float(extra[name]) for extra in passes) for name in ("moved_bytes", "moving_s")}
    assert rate.value == pytest.approx(moved["moved_bytes"] / moved["moving_s"]), "all bytes over all time"
    (found,) = of(events, "identity_verdict")
    assert (found.params["verdict"], found.params["sheet"], found.params["sureness"]) == (
        "as_sold",
        "rtx-3060-12g",
        "measured",
    )
    assert advice(events).keys() == {"health.sound"}
    assert asked(events) == {"health_longer"}
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED
    assert last.t_ns <= 3.3 * 60e9


def test_the_l2_is_what_the_worker_tells_since_nvml_has_no_call_for_it(started: Start):
    made = started()
    assert made.model.info.number("l2_bytes") is None
    checks = {p.params["check"]: p.value for p in of(made.run(Health(minutes=3.0)), "identity_check")}
    assert (checks["l2"], checks["l2_step"]) == (1.0, 1.0)


def test_the_row_of_memory_without_repetition_says_how_much_was_tested(started: Start):
    events = started(card="rtx-4090-48g").run(Health(minutes=2.0))
    rows = {row[0]: row for row in identity_table(points(events)).rows}
    (check,) = [p for p in of(events, "identity_check") if p.params["check"] == "memory_real"]
    (coverage,) = of(events, "vram_coverage")
    assert check.extra == {"seen": coverage.extra["checked_bytes"], "expected": coverage.extra["total_bytes"]}
    assert rows["memory without repetition"][1:] == ("46 GiB", "48 GiB", "as far as tested", "measured", "agrees")


def test_memory_that_repeats_itself_at_the_donors_size_is_named(started: Start):
    fault = (0.0, "bad_memory", {"mode": "alias", "capacity_mib": 24564.0})
    events = started(fault, card="rtx-4090-48g").run(Health(minutes=2.0))
    assert verdict(points(events)) == "fail"
    assert not as_sold(points(events))
    (told,) = [params for name, params in advice(events).items() if name == "health.aliasing"]
    assert told["distance"] == 24564 << 20
    assert told["donor"] == pytest.approx(24 * GIB, rel=0.01)
    (found,) = of(events, "identity_verdict")
    assert (found.params["verdict"], found.params["sureness"]) == ("less_memory", "measured")
    (check,) = [p for p in of(events, "identity_check") if p.params["check"] == "memory_real"]
    assert (check.value, check.extra["seen"]) == (0.0, 24564 << 20)


@pytest.mark.parametrize(
    ("fault", "name", "heats"),
    [
        ({"mode": "stuck", "offset_mib": 700.0, "bit": 9}, "health.vram", {"cold", "hot"}),
        ({"mode": "hot", "offset_mib": 700.0}, "health.vram_hot", {"hot"}),
    ],
)
def test_cells_that_fail_are_told_with_the_heat_at_which_they_do(started: Start, fault, name, heats):
    events = started((0.0, "bad_memory", fault)).run(Health(minutes=2.0))
    wrong = [p for p in of(events, "vram_errors") if p.value]
    assert {p.params["heat"] for p in wrong} == heats
    assert all(p.extra["spans"] == f"{700 << 20:x}+4000" for p in wrong)
    assert verdict(points(events)) == "fail"
    assert name in advice(events)
    assert "health.sound" not in advice(events)


def test_a_slow_area_is_a_finding_and_no_error(started: Start):
    fault = {"mode": "slow", "offset_mib": 0.0, "fraction": 0.5}
    events = started((0.0, "bad_memory", fault)).run(Health(minutes=2.0))
    (slow,) = [e for e in events if isinstance(e, Warned) and e.code == "health_slow_area"]
    assert slow.params["offset"] == 0
    assert slow.params["fraction"] == pytest.approx(0.5, abs=0.1)
    assert verdict(points(events)) == "pass"
    assert "health.sound" not in advice(events), "that no fault was found does not stand beside one"
    assert "health_slow" in asked(events)


def test_wrong_products_fail_a_card_whose_memory_is_sound(started: Start):
    events = started((0.0, "wrong_product", {})).run(Health(minutes=2.0))
    assert verdict(points(events)) == "fail"
    assert "health.compute" in advice(events)


def test_a_card_that_is_lost_on_the_way_fails_and_keeps_what_was_tested(started: Start):
    events = started((70.0, "lost", {})).run(Health(minutes=3.0))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.exit_code != 0
    assert of(events, "vram_errors")
    assert verdict(points(events), last.error_code) == "fail"


def test_an_xid_on_the_way_fails_the_card(started: Start):
    events = started((70.0, "xid", {"xid": 48})).run(Health(minutes=3.0))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert verdict(points(events), last.error_code) == "fail"


def test_cancelled_it_keeps_what_was_tested_and_is_incomplete(started: Start):
    made = started()
    events: list[Event] = []
    under_way = made.engine.start(Health(minutes=3.0), Options(cards=(made.model.uuid,)))
    for event in under_way:
        events.append(event)
        if isinstance(event, PointMeasured) and event.point.metric == "burn_errors":
            under_way.cancel()
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.CANCELLED
    assert {p.params["heat"] for p in of(events, "vram_errors")} == {"cold"}
    assert verdict(points(events), last.error_code) == "incomplete"


def test_another_card_than_was_sold_is_told(started: Start):
    events = started().run(Health(minutes=2.0, sold_as="rtx-4090-48g"))
    (found,) = of(events, "identity_verdict")
    assert (found.params["verdict"], found.params["sold_as"]) == ("other_card", "rtx-4090-48g")
    assert "rtx-3060-12g" in str(found.extra["candidates"])
    assert "health.other_card" in advice(events)
    assert not as_sold(points(events))


def test_a_donor_that_was_sold_as_its_mod_is_told(started: Start):
    events = started(card="rtx-4090").run(Health(minutes=2.0, sold_as="rtx-4090-48g"))
    (found,) = of(events, "identity_verdict")
    assert found.params["verdict"] == "other_memory"
    assert "rtx-4090" in str(found.extra["candidates"]).split(", ")
    assert "health.other_card" in advice(events)
    assert not as_sold(points(events))


@pytest.mark.parametrize("stages", [USUAL, BURN_IN])
def test_stages_leave_time_for_the_rest(stages):
    assert sum(stage.share for stage in stages) <= 1.0 - KEEP_SHARE


def test_what_cannot_be_meant_is_refused():
    for minutes in (0.01, 9999.0):
        with pytest.raises(UsageError) as refused:
            Health(minutes=minutes)
        assert refused.value.code == "minutes_out_of_range"


def test_hot_memory_under_a_cool_core_is_told_where_no_sensor_sees_it(started: Start):
    events = started(card="rtx-4090-48g").run(Health(minutes=8.0))
    assert verdict(points(events)) == "pass"
    (told,) = [a for e in events if isinstance(e, AdviceGiven) for a in e.advice]
    assert told.id == "health.memory_heat"
    assert told.confidence is Confidence.MODEL
    assert "memory_c" not in told.params, "never a degree without a sensor"
    assert float(told.params["core_c"]) < float(told.params["target_c"]) - 5.0
    assert 0.0 < float(told.params["lost_low"]) < float(told.params["lost"]) < float(told.params["lost_high"]) < 0.3
    proof = [p for p in points(events) if p.id in told.evidence]
    assert all(p.params["heat"] == "hot" and p.conditions.limited_s[Limiter.THERMAL_SOFTWARE] > 0 for p in proof)


def test_a_card_whose_memory_has_a_sensor_that_stays_cool_gets_no_such_advice(started: Start):
    events = started(card="h200-sxm").run(Health(minutes=3.0))
    seen = [p.conditions.memory_temperature_end_c for p in of(events, "vram_errors") if p.params["heat"] == "hot"]
    assert all(degrees is not None and degrees < 85.0 for degrees in seen)
    assert advice(events).keys() == {"health.sound"}
    assert not asked(events) & {"health_memory_heat", "health_heat"}
