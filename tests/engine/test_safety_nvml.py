"""Every trigger of the safety stop through the driver: fake NVML → shipped collector → engine → worker process."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.safety import SILENCE_S, SafetyLimits
from gputuner.engine.stage import WallStage
from gputuner.model.errors import ExitCode
from gputuner.model.events import (
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    StepStarted,
    TelemetrySampled,
    TorchFound,
    WorkerExited,
)
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.points import Point
from gputuner.model.steps import Plan, Report, Work
from gputuner.telemetry.client import CollectorFeed
from gputuner.telemetry.rates import Rates
from tests.engine.rig import SCRIPT, MemoryStore, Scripted
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import HANG, Scenario, card, error

TEMPERATURE = "nvmlDeviceGetTemperature"
MEMORY_TEMPERATURE = "field(82)"
MEMORY_MAX = "nvmlDeviceGetTemperatureThreshold(2)"
FAN_RPM = "nvmlDeviceGetFanSpeedRPM"
FAN = "nvmlDeviceGetFanSpeed_v2"
LIMIT_MW = 350_000


class Driven:
    """An engine over one fake card, whose answers may change while a run goes on."""

    def __init__(self, fake: FakeNvml, folder: Path) -> None:
        self.fake = fake
        self.show()
        self.feed = CollectorFeed(
            [sys.executable, "-m", "gputuner", "--collector"],
            Rates(fast_hz=10.0, slow_s=0.5, hang_s=1.0, start_s=30.0),
            environment={**os.environ, **fake.environment()},
            first_pause_s=0.05,
        )
        known = threading.Event()
        unsubscribe = self.feed.subscribe(lambda tick: known.set() if tick.processes else None)
        assert known.wait(30.0), self.feed.status()
        unsubscribe()
        self.store = MemoryStore(folder / "run")
        self.engine = Engine(self._stage, lambda run_id: self.store, folder)

    def _stage(self) -> WallStage:
        return WallStage(
            self.feed,
            host=lambda: HostFingerprint(readings={}),
            command=lambda card, cap: [sys.executable, str(SCRIPT)],
            environment=lambda card, probe: {},
            sampling_hz=10.0,
        )

    def show(self, xid: int | None = None, **calls: Any) -> None:
        """Let the driver answer this from now on."""
        scenario = Scenario(card(0, **{TEMPERATURE: 65, MEMORY_MAX: 105, MEMORY_TEMPERATURE: 80, FAN: 60, **calls}))
        if xid is not None:
            scenario.system["nvmlEventSetWait"] = {"sequence": [[0, xid], error("TIMEOUT")]}
        self.fake.show(scenario, log=False, reload=True)

    def run(self, change: Callable[[], None], **limits: float) -> list[Event]:
        """All events of a run that works until it is stopped; ``change`` happens once its load has begun."""
        point = Point(id="p", card="c", metric="m", workload="w", params={}, value=1.0, unit="1")
        params = {"behaviour": "busy"}

        def make() -> Plan:
            yield Report(points=(point,))
            yield Work(label="trial", workload="scripted", params=params, measure_s=60.0, budget_s=60.0)

        options = Options(cards=(self.feed.cards()[0].uuid,), safety=SafetyLimits(**limits))
        events: list[Event] = []
        for event in self.engine.start(Scripted(make=make), options):
            events.append(event)
            if isinstance(event, StepStarted):
                change()
        return events


@pytest.fixture
def driven(fake_nvml: FakeNvml, tmp_path: Path) -> Iterator[Driven]:
    found = Driven(fake_nvml, tmp_path)
    yield found
    found.feed.close()


def stopped(found: Driven, events: list[Event], trigger: str) -> RunFinished:
    """The run's end, once everything about it has been seen to be in order."""
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.error_code, last.outcome) == (f"safety_{trigger}", Outcome.STOPPED_FOR_SAFETY)
    assert last.exit_code == ExitCode.DEVICE
    assert [e.point.id for e in found.store.events if isinstance(e, PointMeasured)] == ["p"]
    assert found.store.closed
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["cancelled"]
    assert any(isinstance(e, TorchFound) for e in events)
    return last


@pytest.mark.parametrize(
    ("answers", "trigger", "value"),
    [
        ({TEMPERATURE: 93}, "core_hot", 2.0),
        ({MEMORY_TEMPERATURE: 100}, "memory_hot", 100.0),
        ({"nvmlDeviceGetPowerUsage": 400_000}, "power_above_limit", 400.0),
        ({FAN: 0, "nvmlDeviceGetFanSpeed": 0, FAN_RPM: 0}, "fan_stopped", 65.0),
        ({FAN_RPM: 0}, "fan_stopped", 65.0),
        ({"xid": 48}, "xid", 48.0),
    ],
    ids=["core", "memory", "power", "fan", "fan that should turn", "xid"],
)
def test_what_the_driver_tells_stops_the_load(driven: Driven, answers: dict[str, Any], trigger: str, value: float):
    events = driven.run(lambda: driven.show(**answers))
    assert stopped(driven, events, trigger).error_params["value"] == value


def test_the_users_limit_stops_the_load(driven: Driven):
    events = driven.run(lambda: driven.show(**{TEMPERATURE: 80}), core_max_c=75.0)
    assert stopped(driven, events, "core_user_limit").error_params["value"] == 80.0


def test_a_driver_that_hangs_is_silence_though_its_collector_is_started_again(driven: Driven):
    events = driven.run(lambda: driven.show(**{TEMPERATURE: HANG}))
    assert stopped(driven, events, "telemetry_silent").error_params["limit"] == SILENCE_S
    began = next(e.t_ns for e in events if isinstance(e, StepStarted))
    late = [e.t_ns for e in events if isinstance(e, TelemetrySampled) and e.t_ns - began > 10**9]
    assert late, "slow readings still come and are no sign of life"


def test_a_temperature_that_is_told_no_more_is_silence_too(driven: Driven):
    events = driven.run(lambda: driven.show(**{TEMPERATURE: error("UNKNOWN")}))
    stopped(driven, events, "telemetry_silent")


def test_a_card_lost_under_load_ends_the_run_by_its_own_word(driven: Driven):
    events = driven.run(lambda: driven.show(**{TEMPERATURE: error("GPU_IS_LOST"), "handle": error("GPU_IS_LOST")}))
    stopped(driven, events, "card_lost")
