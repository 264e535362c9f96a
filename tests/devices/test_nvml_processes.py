"""The process table when nobody is on a card: asked in the shortest way, until somebody comes."""

import json
from pathlib import Path
from typing import Any

from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.readings import Reason
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

H200 = json.loads((Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json").read_text())
SECOND = 10**9
COMPUTE, GRAPHICS = "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"
MEMORY = {"total": 1 << 37, "reserved": 0, "free": 100 << 20}


def opened(fake: FakeNvml, **calls: Any) -> tuple[NvmlSource, str]:
    scene = Scenario.from_recording(H200, costs=False)
    scene.cards[0] |= {COMPUTE: [], GRAPHICS: [], **calls}
    fake.show(scene)
    source = NvmlSource()
    return source, source.cards()[0].uuid


def then(*answers: Any) -> dict[str, Any]:
    return {"sequence": list(answers)}


def test_nobody_is_asked_for_once_per_list_and_memory_stays_new(fake_nvml: FakeNvml) -> None:
    used = then(*({**MEMORY, "used": used} for used in (5, 5, 7)))  # the first is asked for the card's identity
    source, uuid = opened(fake_nvml, nvmlDeviceGetMemoryInfo_v2=used)
    first = source.processes(uuid, 0)
    before = len(fake_nvml.calls())
    second = source.processes(uuid, SECOND)
    asked = [name for _, name in fake_nvml.calls()[before:]]
    source.close()
    assert (first.processes, first.unowned_bytes) == ((), 5)
    assert (second.processes, second.unowned_bytes, second.reason, second.t_ns) == ((), 7, None, SECOND)
    assert len(asked) == 3


def test_who_comes_is_seen_at_once_and_who_goes_is_gone(fake_nvml: FakeNvml) -> None:
    somebody = [{"pid": 4_000_001, "used_bytes": 3 << 20}]
    # each question whether there is anybody is one answer; a list that is not empty takes two calls of the binding
    source, uuid = opened(fake_nvml, **{COMPUTE: then([], somebody, somebody, somebody, [])})
    told = [source.processes(uuid, t_s * SECOND) for t_s in range(4)]
    source.close()
    pids = [[process.pid for process in table.processes] for table in told]
    assert pids[:2] == [[], [4_000_001]]
    assert told[1].processes[0].memory_bytes == 3 << 20
    assert pids[-1] == []


def test_a_failure_later_on_is_told(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml, **{COMPUTE: then([], [], error("UNKNOWN"))})
    told = [source.processes(uuid, t_s * SECOND).reason for t_s in range(3)]
    source.close()
    assert told == [None, None, Reason.ERROR]


def test_a_list_that_the_card_does_not_have_is_left_out(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml, **{GRAPHICS: NOT_SUPPORTED})
    source.processes(uuid, 0)
    before = len(fake_nvml.calls())
    table = source.processes(uuid, SECOND)
    asked = [name for _, name in fake_nvml.calls()[before:]]
    source.close()
    assert (table.processes, table.reason) == ((), None)
    assert table.unowned_bytes is not None
    assert len(asked) == 2


def test_a_card_opened_anew_is_asked_through_its_new_handle(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml)
    source.processes(uuid, 0)
    source.processes(uuid, SECOND)
    source.reopen()
    assert source.processes(uuid, 2 * SECOND).reason is None
    assert source.processes(uuid, 3 * SECOND).processes == ()
    source.close()
