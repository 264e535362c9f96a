"""A plan that changes settings: what it receives, what is told, and that the card is as it was on every path."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputuner.assembly.control import simulated_control
from gputuner.devices.control_client import HelperControl
from gputuner.engine.options import Options
from gputuner.engine.settings import Settings
from gputuner.language.warnings import warning
from gputuner.model.cards import CardInfo
from gputuner.model.control import Setting
from gputuner.model.events import Event, Outcome, RunFinished, SettingChanged, Warned
from gputuner.model.steps import Done, Plan, Refused, Set, StepResult, Watch, Work
from tests.devices.control_bench import GPU, HelperBench
from tests.engine.rig import Fault, Scripted, Simulated
from tests.fake_nvml.fixtures import FakeNvml

Start = Callable[..., Simulated]
LOAD = Work(label="matmul", workload="matmul", params={"precision": "bf16", "n": 8192}, measure_s=5.0, budget_s=20.0)


@pytest.fixture
def settable(simulated: Start, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Simulated]:
    def start(*faults: Fault) -> Simulated:
        found = simulated(*faults)
        make = found._stage

        def stage() -> object:
            made = make()
            made.open_control = lambda: simulated_control(found.cards)
            return made

        monkeypatch.setattr(found.engine, "_open_stage", stage)
        return found

    return start


def changes(events: list[Event]) -> list[tuple[str, object, object]]:
    return [(e.setting, e.old, e.new) for e in events if isinstance(e, SettingChanged)]


def finished(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def capped(seen: list[StepResult], then: Callable[[], Iterator[Work | Watch]]) -> Callable[[], Plan]:
    def make() -> Plan:
        seen.append((yield Set(setting=Setting.POWER_LIMIT, value=(300.0,))))
        seen.append((yield Set(setting=Setting.SM_CLOCK_LOCK, value=(300.0, 1500.0), may_forget=True)))
        for step in then():
            seen.append((yield step))  # noqa: PERF401  a comprehension cannot yield

    return make


BACK = [
    ("power_limit", 450.0, 300.0),
    ("sm_clock_lock", None, "300,1500"),
    ("sm_clock_lock", "300,1500", None),
    ("power_limit", 300.0, 450.0),
]


def test_a_plan_changes_settings_and_the_end_puts_them_back(settable: Start) -> None:
    found, seen = settable(), list[StepResult]()
    events = found.run(Scripted(make=capped(seen, lambda: iter([LOAD]))))
    assert [type(result) for result in seen] == [Done, Done, Done]
    assert changes(events) == BACK
    ended = finished(events)
    assert (ended.outcome, ended.settings_restored) == (Outcome.COMPLETED, True)
    assert found.model.physics.power_limit_w == 450.0
    assert found.model.physics.settings.sm_lock_mhz is None


def test_a_run_that_fails_or_is_stopped_puts_them_back(settable: Start) -> None:
    def fail() -> Iterator[Work]:
        yield LOAD
        raise RuntimeError("a plan with a bug")

    for faults, then, outcome in (
        ((), fail, Outcome.FAILED),
        (((1.0, "overheat", {"air_c": 95}),), lambda: iter([LOAD] * 60), Outcome.STOPPED_FOR_SAFETY),
    ):
        found = settable(*faults)
        events = found.run(Scripted(make=capped([], then)))
        assert changes(events) == BACK
        assert (finished(events).outcome, finished(events).settings_restored) == (outcome, True)
        assert found.model.physics.power_limit_w == 450.0


def test_a_cancelled_run_puts_them_back(settable: Start) -> None:
    found = settable()
    run = found.engine.start(
        Scripted(make=capped([], lambda: iter([Watch(label="watch")]))), Options(cards=(found.model.uuid,))
    )
    events: list[Event] = []
    for event in run:
        events.append(event)
        if isinstance(event, SettingChanged):
            run.cancel()
    assert finished(events).outcome is Outcome.CANCELLED
    assert changes(events)[-1] == ("power_limit", 300.0, 450.0)
    assert found.model.physics.power_limit_w == 450.0


def test_what_is_refused_is_an_outcome_with_its_range(settable: Start, simulated: Start) -> None:
    seen: list[StepResult] = []

    def make() -> Plan:
        seen.append((yield Set(setting=Setting.POWER_LIMIT, value=(50.0,))))
        seen.append((yield Set(setting=Setting.SM_CLOCK_LOCK, value=(300.0, 1500.0))))

    events = settable().run(Scripted(make=make))
    first, second = seen
    assert isinstance(first, Refused)
    assert (first.code, first.params["low"], first.params["high"]) == ("control_out_of_range", 200.0, 450.0)
    assert isinstance(second, Refused)
    assert second.code == "control_lock_unread"
    assert finished(events).settings_restored is None
    seen.clear()
    simulated().run(Scripted(make=make))
    assert [result.code for result in seen if isinstance(result, Refused)] == ["control_not_offered"] * 2


def test_a_real_card_by_the_helper_and_drift_is_warned_of(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    bench = HelperBench(fake_nvml, tmp_path / "journal")
    events: list[tuple[type, dict[str, object]]] = []

    class Stage:
        open_control = staticmethod(
            lambda: HelperControl([sys.executable, "-m", "gputuner", "--helper"], bench.environment())
        )

    card = CardInfo(uuid=GPU, index=0, name="H200")
    settings = Settings(Stage(), card, lambda kind, **fields: events.append((kind, fields)))
    assert isinstance(settings.apply(Set(setting=Setting.POWER_LIMIT, value=(450.0,))), Done)
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 320_000)
    assert isinstance(settings.apply(Set(setting=Setting.CORE_OFFSET, value=(50.0,))), Done)
    assert settings.end() is False
    warned = [fields for kind, fields in events if kind is Warned]
    assert [fields["code"] for fields in warned] == ["control_drift"]
    said = warning("control_drift", warned[0]["params"])
    assert "power limit was set to 450 W and is 320 W now" in said
    assert bench.fake.writes() == [
        "0 SetPowerManagementLimit 450000 = 0",
        "0 SetClockOffsets 0 0 50 = 0",
        "0 SetClockOffsets 0 0 0 = 0",
    ]


@pytest.mark.parametrize("then", ["dies", "dies and others change it", "others change it"])
def test_what_was_not_put_back_is_not_told_as_restored(fake_nvml: FakeNvml, tmp_path: Path, then: str) -> None:
    bench = HelperBench(fake_nvml, tmp_path / "journal")
    made: list[HelperControl] = []
    events: list[tuple[type, dict[str, object]]] = []

    def start() -> HelperControl:
        made.append(bench.start())
        return made[-1]

    class Stage:
        open_control = staticmethod(start)

    card = CardInfo(uuid=GPU, index=0, name="H200")
    settings = Settings(Stage(), card, lambda kind, **fields: events.append((kind, fields)))
    assert isinstance(settings.apply(Set(setting=Setting.POWER_LIMIT, value=(450.0,))), Done)
    if "dies" in then:
        made[0]._process.kill()
        made[0]._process.wait()
    if "others" in then:
        bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 320_000)
    assert settings.end() is (then == "dies")
    changed = [fields["new"] for kind, fields in events if kind is SettingChanged]
    assert changed == ([450.0, 500.0] if then == "dies" else [450.0])
    assert bench.pages() == ()
