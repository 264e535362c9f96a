"""Users' situations C-018 … C-032 as far as they concern cards and the driver."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.cards import CardState
from gputuner.model.errors import DeviceError, DeviceLost, ExitCode
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses
from tests.fake_nvml.build import broken_library
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import MIB, Scenario, case

CASES = Path(__file__).parents[1] / "data" / "cases"


def scenario(name: str) -> tuple[Scenario, dict[str, Any]]:
    found = case(CASES / f"{name}.json")
    return Scenario.from_case(found), found


def with_processes(scene: Scenario, *pids: int) -> Scenario:
    scene.cards[0]["nvmlDeviceGetComputeRunningProcesses"] = [{"pid": pid, "used_bytes": MIB} for pid in pids]
    return scene


def utilisation(table: CardProcesses) -> dict[int, float]:
    return {p.pid: p.sm_utilisation for p in table.processes if p.sm_utilisation is not None}


def test_c018_garbage_of_process_utilisation_is_dropped(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c018_nvml_proc_util_garbage")
    fake_nvml.show(with_processes(scene, 6120, 3221225472))
    source = NvmlSource(unix_us=lambda: 1624011200350000)
    table = source.processes(source.cards()[0].uuid, 0)
    assert utilisation(table) == {6120: 0.14}
    assert {p.pid for p in table.processes} == {6120, 3221225472}, "a real pid is not lost for its bad percentage"
    assert source.rejected == 2
    source.close()


def test_c019_used_and_reserved_are_apart(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c019_nvml_memory_v1_v2")
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    fast, slow = (source.sample(uuid, tier, 0).values for tier in (Tier.FAST, Tier.SLOW))
    assert fast[Quantity.MEMORY_USED_BYTES] == 8178892
    assert fast[Quantity.MEMORY_FREE_BYTES] == 41993371648
    assert slow[Quantity.MEMORY_RESERVED_BYTES] == 948122420
    assert source.notes == ()
    source.close()


def test_c019_without_the_second_call_a_note_says_that_reserved_is_included(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c019_nvml_memory_v1_v2")
    scene.cards[0]["nvmlDeviceGetMemoryInfo_v2"] = {"error": "NVML_ERROR_FUNCTION_NOT_FOUND"}
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    for t in range(2):
        fast = source.sample(uuid, Tier.FAST, t).values
        slow = source.sample(uuid, Tier.SLOW, t)
    assert fast[Quantity.MEMORY_USED_BYTES] == 956301312
    assert slow.missing[Quantity.MEMORY_RESERVED_BYTES] is Reason.DRIVER_TOO_OLD
    assert source.notes == (("nvml_memory_includes_reserved", {"card": uuid}),)
    source.close()


def test_c020_no_utilisation_with_mig_and_memory_per_instance(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c020_nvml_mig")
    fake_nvml.show(scene)
    source = NvmlSource()
    (info,) = source.cards()
    sample = source.sample(info.uuid, Tier.FAST, 0)
    source.close()
    assert sample.missing[Quantity.GPU_UTILISATION] is Reason.NOT_WITH_MIG
    assert Quantity.GPU_UTILISATION not in sample.values
    assert 91.5 in (sample.values.get(Quantity.POWER_AVERAGE_W), sample.values.get(Quantity.POWER_INSTANT_W))
    assert info.readings["mig_enabled"].value is True
    (instance,) = info.mig
    assert (instance.uuid, instance.profile) == ("MIG-00000000-1111-2222-3333-000000000001", "3g.40gb")
    assert instance.memory_used_bytes == 33120 * MIB
    assert instance.memory_total_bytes == 40192 * MIB


def test_c022_stale_process_samples_are_not_current_and_last_seen_is_passed(fake_nvml: FakeNvml) -> None:
    scene, found = scenario("c022_nvml_proc_util_stale")
    now = found["devices"][0]["ret"]["now_us"]
    fake_nvml.show(with_processes(scene, 101, 102, 103, 104))
    source = NvmlSource(unix_us=lambda: now)
    uuid = source.cards()[0].uuid
    assert utilisation(source.processes(uuid, 0)) == {101: 0.05, 102: 0.05}
    assert utilisation(source.processes(uuid, 1)) == {}, "nothing is newer than the last seen"
    asked = [name for _, name in fake_nvml.calls() if name.startswith("nvmlDeviceGetProcessUtilization")]
    assert asked[0].endswith("(0)")
    assert asked[-1].endswith("(1)"), "the second call passes a time"
    assert source.sample(uuid, Tier.FAST, 0).values[Quantity.GPU_UTILISATION] == 0.24
    source.close()


def test_c024_the_lost_card_keeps_its_place_and_its_handle_is_never_used(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c024_nvml_one_lost")
    fake_nvml.show(scene)  # the fake aborts the process on a call with a failed handle
    source = NvmlSource(now_ns=lambda: 77)
    cards = source.cards()
    assert [(info.index, info.state) for info in cards] == [(0, "ready"), (1, "lost"), (2, "ready")]
    assert cards[1].lost_since_ns == 77
    temperatures = [source.sample(cards[i].uuid, Tier.FAST, 0).values[Quantity.CORE_TEMPERATURE_C] for i in (0, 2)]
    assert temperatures == [28, 35]
    for ask in (source.processes, lambda card, t: source.sample(card, Tier.SLOW, t)):
        with pytest.raises(DeviceLost):
            ask(cards[1].uuid, 0)
    source.close()
    assert {name for device, name in fake_nvml.calls() if device == 1} == {"handle"}


def test_c025_no_library_is_a_word_and_an_exit_code(tmp_path: Path) -> None:
    script = (
        "from gputuner.devices.nvml.source import NvmlSource\n"
        "from gputuner.model.errors import GputunerError\n"
        "try: NvmlSource()\n"
        "except GputunerError as err: print(err.code, int(err.exit_code))\n"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(broken_library(tmp_path))}
    child = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["nvml_library_missing", str(int(ExitCode.NO_CARD))]


def test_c027_no_fans_is_said_without_asking_again(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c027_nvml_zero_fans")
    fake_nvml.show(scene)
    source = NvmlSource()
    (info,) = source.cards()
    assert info.number("fan_count") == 0
    for t in range(3):
        missing = source.sample(info.uuid, Tier.SLOW, t).missing
        assert missing[Quantity.FAN_FRACTION] is missing[Quantity.FAN_RPM] is Reason.NOT_SUPPORTED
    source.close()
    assert not [name for _, name in fake_nvml.calls() if name.startswith("nvmlDeviceGetFanSpeed")]


def test_c028_mismatch_is_named(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c028_nvml_mismatch")
    fake_nvml.show(scene)
    with pytest.raises(DeviceError) as caught:
        NvmlSource()
    assert caught.value.code == "nvml_driver_mismatch"
    assert caught.value.exit_code == ExitCode.DEVICE
    assert "reboot" in str(caught.value)


FOREIGN = """
import json, os
DEVICE = json.loads(open(os.environ["CASE"]).read())["devices"][0]
class NVMLError(Exception):
    def __init__(self, value):
        self.value = value
def nvmlInit(): pass
def nvmlShutdown(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return "handle"
def nvmlDeviceGetName(handle): return bytes.fromhex(DEVICE["ret"]["nvmlDeviceGetName"]["bytes_hex"])
def nvmlDeviceGetUUID(handle): return bytes.fromhex(DEVICE["ret"]["nvmlDeviceGetUUID"]["bytes_hex"])
class Pci:
    busId = DEVICE["pci"].encode()
def nvmlDeviceGetPciInfo(handle): return Pci
def nvmlDeviceGetTemperature(handle, sensor): return 51
class Memory:
    total, free, used = 24 << 30, 23 << 30, 1 << 30
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlSystemGetDriverVersion(): return b"470.57.02"
def nvmlDeviceGetPowerUsage(handle): raise NVMLError(3)
"""


def test_c029_a_foreign_pynvml_that_gives_bytes_is_read_and_named_once(tmp_path: Path) -> None:
    package = tmp_path / "pynvml"
    package.mkdir()
    (package / "__init__.py").write_text(FOREIGN)
    script = (
        "from gputuner.devices.nvml.source import NvmlSource\n"
        "from gputuner.model.quantities import Tier\n"
        "s = NvmlSource(); c, = s.cards(); s.reopen(); s.cards()\n"
        "print([c.name, c.uuid, c.pci_bus_id, c.readings['driver'].value, c.memory_total_bytes])\n"
        "f = s.sample(c.uuid, Tier.FAST, 0); s.sample(c.uuid, Tier.SLOW, 0)\n"
        "print(f.values['core_temperature_c'], f.missing['power_instant_w'].value)\n"
        "print([n for n in s.notes if n[0] == 'nvml_impostor'])\n"
    )
    root = str(Path(__file__).parents[2])
    child = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), root]),
            "CASE": str(CASES / "c029_nvml_bytes.json"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.splitlines() == [
        "['NVIDIA GeForce RTX 3090', 'GPU-abcd', '0000:01:00.0', '470.57.02', 25769803776]",
        "51 not_supported",
        f"[('nvml_impostor', {{'path': '{package / '__init__.py'}'}})]",
    ]


def test_c029_bytes_that_are_not_text_do_not_stop_a_card(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c029_nvml_bytes")
    scene.cards[0]["nvmlDeviceGetName"] = {"bytes_hex": "4e5649444941ff"}
    fake_nvml.show(scene)
    source = NvmlSource()
    assert source.cards()[0].name == "NVIDIA\ufffd"
    source.close()


def test_c030_unknown_error_leaves_a_gap_is_marked_and_goes_away(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c030_nvml_unknown_then_ok")
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    seen: list[float | None] = []
    trouble: list[str | None] = []
    for t in range(7):
        sample = source.sample(uuid, Tier.FAST, t)
        seen.append(sample.values.get(Quantity.CORE_TEMPERATURE_C))
        trouble.append(source.trouble(uuid))
        if seen[-1] is None:
            assert sample.missing[Quantity.CORE_TEMPERATURE_C] is Reason.ERROR
            source.reopen()
    source.close()
    assert seen == [55, 56, None, None, None, 54, 54], "the last value is never repeated"
    assert trouble == [None, None, "nvml_unknown", "nvml_unknown", "nvml_unknown", None, None]


def test_c031_memory_that_nobody_owns(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c031_nvml_orphan_memory")
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    table = source.processes(uuid, 0)
    sample = source.sample(uuid, Tier.FAST, 0)
    source.close()
    assert table.processes == ()
    assert table.reason is None
    assert table.unowned_bytes == 9730 * MIB
    assert sample.values[Quantity.GPU_UTILISATION] == 1.0
    assert sample.values[Quantity.MEMORY_FREE_BYTES] == 75696701440, "admission counts it as used"


def test_c032_process_memory_unknown_on_this_driver_model(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c032_nvml_proc_mem_none")
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    table = source.processes(uuid, 0)
    sample = source.sample(uuid, Tier.FAST, 0)
    source.close()
    assert [(p.pid, p.memory_bytes, p.memory_reason) for p in table.processes] == [
        (79, None, Reason.DRIVER_MODEL),
        (80, None, Reason.DRIVER_MODEL),
    ]
    assert table.unowned_bytes is None
    assert sample.values[Quantity.MEMORY_USED_BYTES] == 13980 * MIB


def test_a_process_is_named_with_its_user(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c031_nvml_orphan_memory")
    mine = os.getpid()
    scene.cards[0]["nvmlDeviceGetComputeRunningProcesses"] = [{"pid": mine, "used_bytes": 700 * MIB}]
    scene.cards[0]["nvmlDeviceGetGraphicsRunningProcesses"] = [
        {"pid": mine, "used_bytes": 700 * MIB},
        {"pid": 2**31 - 1, "used_bytes": 30 * MIB},
        {"pid": 0, "used_bytes": 5},
    ]
    fake_nvml.show(scene)
    source = NvmlSource()
    table = source.processes(source.cards()[0].uuid, 3)
    ours, unseen = table.processes
    assert (ours.pid, ours.compute, ours.memory_bytes) == (mine, True, 700 * MIB)
    assert ours.command is not None
    assert ours.command.split() == " ".join(psutil.Process(mine).cmdline()).split()
    assert ours.user
    assert ours.started_s
    assert (unseen.name, unseen.user, unseen.compute) == (None, None, False)
    assert table.unowned_bytes == (9730 - 730) * MIB
    assert source.rejected == 1
    source.close()


def test_a_lost_card_is_told_by_the_process_table_too(fake_nvml: FakeNvml) -> None:
    scene, _ = scenario("c031_nvml_orphan_memory")
    scene.cards[0]["nvmlDeviceGetComputeRunningProcesses"] = {"error": "NVML_ERROR_GPU_IS_LOST"}
    scene.cards[0]["handle"] = {
        "sequence": [{"error": "NVML_ERROR_NOT_SUPPORTED"}, {"error": "NVML_ERROR_GPU_IS_LOST"}]
    }
    fake_nvml.show(scene)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    with pytest.raises(DeviceLost):
        source.processes(uuid, 9)
    (info,) = source.cards()
    source.close()
    assert (info.state, info.lost_since_ns) == (CardState.LOST, 9)
