"""The power sweep on simulated cards: answers against a fine sweep of the same card, and every way back."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gputuner.analysis.power_curve import Visit
from gputuner.assembly.control import simulated_control
from gputuner.engine.options import Options
from gputuner.experiments.contention_jobs import parse_job
from gputuner.experiments.power import Power
from gputuner.experiments.power_dial import StoredVisit
from gputuner.model.advice import Advice
from gputuner.model.control import Setting
from gputuner.model.errors import UsageError
from gputuner.model.events import AdviceGiven, Event, Outcome, PointMeasured, RunFinished, SettingChanged, Warned
from gputuner.model.points import Point
from gputuner.model.steps import Done, Plan, Set, Work
from tests.engine.rig import Fault, Scripted, Simulated

Start = Callable[..., Simulated]
FINE = [float(w) for w in range(200, 701, 20)]


@pytest.fixture
def settable(simulated: Start, monkeypatch: pytest.MonkeyPatch) -> Start:
    def start(*faults: Fault, card: str) -> Simulated:
        found = simulated(*faults, card=card)
        make = found._stage

        def stage() -> object:
            made = make()
            made.open_control = lambda: simulated_control(found.cards)
            return made

        monkeypatch.setattr(found.engine, "_open_stage", stage)
        return found

    return start


def points(events: list[Event], metric: str) -> list[Point]:
    return [e.point for e in events if isinstance(e, PointMeasured) and e.point.metric == metric]


def advised(events: list[Event]) -> dict[str, Advice]:
    return {a.id: a for e in events if isinstance(e, AdviceGiven) for a in e.advice}


def finished(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def fine_sweep(found: Simulated, work: Work) -> dict[float, tuple[float, float]]:
    """Samples/s and joules per sample at each of many caps."""
    seen: dict[float, tuple[float, float]] = {}

    def make() -> Plan:
        for cap in FINE:
            yield Set(setting=Setting.POWER_LIMIT, value=(cap,))
            result = yield work
            assert isinstance(result, Done)
            assert result.conditions is not None
            assert result.conditions.power_w is not None
            trial = result.trials[0]
            rate = trial.work["samples"] * len(trial.iteration_s) / sum(trial.iteration_s)
            seen[cap] = rate, result.conditions.power_w / rate

    found.run(Scripted(make=make))
    return seen


def test_a_sweep_is_within_two_per_cent_of_a_fine_one(settable: Start):
    events = settable(card="h200-sxm").run(Power())
    (knee,) = points(events, "power_knee")
    (fastest,) = points(events, "power_fastest")
    (best,) = points(events, "power_best_energy")
    params = {"batch": 64, "precision": "bf16", "channels_last": True, "image": 224}
    work = Work(label="matmul", workload="resnet50", params=params, measure_s=6.0, budget_s=40.0, warmup_s=1.0)
    fine = fine_sweep(settable(card="h200-sxm"), work)
    most, least = max(r for r, _ in fine.values()), min(j for _, j in fine.values())
    true = next(cap for cap in FINE if fine[cap][0] >= 0.97 * most)
    assert knee.value == pytest.approx(true, abs=500 / 7)
    assert float(knee.extra["rate"]) >= 0.95 * most
    assert fine[20 * round(fastest.value / 20)][0] >= 0.98 * most
    assert fine[20 * round(best.value / 20)][1] <= 1.02 * least
    (plateau,) = points(events, "power_plateau")
    assert plateau.value < 700.0
    assert {"power.cap", "power.plateau"} <= advised(events).keys()


def test_each_setting_is_visited_twice_in_a_random_order_that_is_the_same_again(settable: Start):
    events = settable(card="h200-sxm").run(Power())
    rates = points(events, "power_rate")
    caps = [float(p.params["cap_w"]) for p in rates]
    assert 6 <= len(set(caps)) <= 8
    assert all(caps.count(cap) == 2 for cap in caps)
    assert (min(caps), max(caps)) == (200.0, 700.0)
    assert caps[:5] not in (sorted(caps[:5]), sorted(caps[:5], reverse=True))
    assert {p.extra["energy_source"] for p in points(events, "power_energy")} == {"counter"}
    assert all(p.conditions is not None and p.conditions.duration_s >= 5.0 for p in rates)
    again = settable(card="h200-sxm").run(Power())
    assert [p.params["cap_w"] for p in points(again, "power_rate")] == caps


def test_the_card_is_as_it_was_found_and_no_cap_below_its_own_lowest(settable: Start):
    found = settable(card="rtx-4090-48g")
    events = found.run(Power(price=0.3, hours=4000.0))
    changes = [e for e in events if isinstance(e, SettingChanged)]
    assert changes[0].old == changes[-1].new == 450.0
    assert all(200.0 <= float(e.new) <= 450.0 for e in changes if e.new is not None)
    ended = finished(events)
    assert (ended.outcome, ended.settings_restored) == (Outcome.COMPLETED, True)
    assert found.model.physics.power_limit_w == 450.0
    (knee,) = points(events, "power_knee")
    saved = float(knee.extra["money_saved"])
    assert float(knee.extra["money_saved_low"]) <= saved <= float(knee.extra["money_saved_high"])
    assert saved == pytest.approx(-float(knee.extra["money_before"]) * float(knee.extra["energy_change"]))


def test_a_cancelled_sweep_puts_back_what_it_found(settable: Start):
    found = settable(card="rtx-3090")
    events: list[Event] = []
    run = found.engine.start(Power(), Options(cards=(found.model.uuid,)))
    for event in run:
        events.append(event)
        if isinstance(event, SettingChanged):
            run.cancel()
    assert (finished(events).outcome, finished(events).settings_restored) == (Outcome.CANCELLED, True)
    assert found.model.physics.power_limit_w == 350.0


def test_locked_clocks_answer_in_megahertz_and_are_unlocked(settable: Start):
    found = settable(card="rtx-3090")
    events = found.run(Power(clocks=True))
    (knee,) = points(events, "power_knee")
    assert (knee.unit, knee.value % 15) == ("MHz", 0)
    assert float(knee.extra["rate_change"]) == pytest.approx(-0.03, abs=0.01)
    assert found.model.physics.settings.sm_lock_mhz is None
    assert finished(events).settings_restored is True
    assert f"lock-clocks 300,{knee.value:.0f}" in str(advised(events)["power.cap"].snippet)


def test_a_short_time_visits_fewer_settings_and_says_so(settable: Start):
    found = settable(card="rtx-3090")
    events = found.run(Power(minutes=2.0))
    assert "power_time_short" in {e.code for e in events if isinstance(e, Warned)}
    assert points(events, "power_knee")
    assert finished(events).outcome is Outcome.COMPLETED
    assert found.model.physics.power_limit_w == 350.0


def test_a_card_that_takes_no_lock_so_low_says_from_where_on(settable: Start, monkeypatch: pytest.MonkeyPatch):
    found = settable(card="rtx-3090")
    range_ = replace(found.model.model, clock_idle_mhz=405.0, clock_reported_max_mhz=2100.0)
    monkeypatch.setattr(found.model, "model", range_)
    events = found.run(Power(clocks=True))
    (knee,) = points(events, "power_knee")
    assert knee.extra["floor"] == 405.0
    locks = {str(e.new) for e in events if isinstance(e, SettingChanged) and e.new is not None}
    assert locks
    assert all(lock.startswith("405,") for lock in locks)
    assert "405,2100" in locks  # its readings tell 2130 MHz
    assert "power_cut" not in {e.code for e in events if isinstance(e, Warned)}


def test_without_permission_it_says_what_it_can(simulated: Start):
    events = simulated(card="rtx-3090").run(Power())
    assert {"control_not_offered", "power_not_set"} <= {e.code for e in events if isinstance(e, Warned)}
    assert len(points(events, "power_rate")) == 2
    assert not points(events, "power_knee")
    assert {q.id for e in events if isinstance(e, AdviceGiven) for q in e.questions} == {"power_allow"}
    assert finished(events).outcome is Outcome.COMPLETED
    assert not [e for e in events if isinstance(e, SettingChanged)]
    (plateau,) = points(events, "power_plateau")
    assert float(plateau.extra["peak_w"]) < plateau.value < 350.0


def test_a_load_that_fails_by_itself_ends_the_sweep_with_its_error(simulated: Start):
    last = finished(simulated(card="rtx-3060-12g").run(Power(load="mine.py:make", minutes=4.0)))
    assert (last.outcome, last.error_code) == (Outcome.FAILED, "training_failed")


def test_a_load_that_does_not_fit_leaves_what_sessions_told(simulated: Start):
    seen = [
        StoredVisit(
            workload="resnet50",
            params={"batch": 64},
            visit=Visit(setting=cap, rate=rate, joules=cap / rate, draw_w=cap),
            session="s",
        )
        for cap, rate in ((200.0, 800.0), (275.0, 980.0), (350.0, 1000.0))
    ]
    spec = Power(load="resnet50:batch=9000", passive=True, stored=tuple(seen))
    nothing = simulated(card="rtx-3090").run(spec)
    assert not [e for e in nothing if isinstance(e, PointMeasured)]  # of another batch
    assert "does_not_fit" in {e.code for e in nothing if isinstance(e, Warned)}
    assert "null_nothing" not in {e.code for e in nothing if isinstance(e, Warned)}
    same = tuple(replace(each, params={"batch": 9000}) for each in seen)
    told = simulated(card="rtx-3090").run(replace(spec, stored=same))
    assert not points(told, "power_knee")  # its number format and layout are not told: another training
    job = parse_job(spec.load).made("bf16", cpu=False).params()
    told = simulated(card="rtx-3090").run(replace(spec, stored=tuple(replace(each, params=job) for each in seen)))
    (knee,) = points(told, "power_knee")
    assert 200.0 < knee.value <= 275.0
    assert knee.extra["how"] == "passive"


def test_equal_visits_are_no_fall(simulated: Start):
    events = simulated(card="rtx-3090").run(Power(null=True))
    (null,) = points(events, "null_difference")
    assert null.value < 0.02
    assert float(null.extra["false_difference_rate"]) <= 0.05
    assert not advised(events)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"minutes": 0.5}, "option_out_of_range"),
        ({"loss": 0.0}, "option_out_of_range"),
        ({"price": 0.3}, "power_price_hours"),
        ({"hours": 100.0}, "power_price_hours"),
        ({"price": 0.3, "hours": 9000.0}, "option_out_of_range"),
        ({"clocks": True, "up_to_w": 300.0}, "options_exclude"),
        ({"load": "alexnet:batch=2"}, "workload_unknown"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields: dict[str, object], code: str):
    with pytest.raises(UsageError) as refused:
        Power(**fields)  # type: ignore[arg-type]
    assert refused.value.code == code
