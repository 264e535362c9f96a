"""Opening NVML: the binding's kinds, missing libraries, sleeping cards."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gputuner.devices.nvml.binding import is_official
from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.errors import DeviceError, NoCard, NoPermission
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason
from tests.fake_nvml.build import broken_library
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, card, error

ASK = """
from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.errors import GputunerError
try:
    source = NvmlSource()
    print("opened", [card.name for card in source.cards()], source.notes)
except GputunerError as err:
    print(err.code, int(err.exit_code))
"""


def ask(environment: dict[str, str]) -> str:
    child = subprocess.run(
        [sys.executable, "-c", ASK], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return child.stdout.strip()


@pytest.mark.parametrize(
    ("init", "cls", "code"),
    [
        ("LIB_RM_VERSION_MISMATCH", DeviceError, "nvml_driver_mismatch"),
        ("DRIVER_NOT_LOADED", DeviceError, "nvml_driver_not_loaded"),
        ("NO_PERMISSION", NoPermission, "nvml_no_permission"),
        ("OPERATING_SYSTEM", DeviceError, "nvml_system_blocked"),
        ("UNKNOWN", DeviceError, "nvml_unknown"),
    ],
)
def test_what_keeps_nvml_from_starting_has_a_name(
    fake_nvml: FakeNvml, init: str, cls: type[DeviceError], code: str
) -> None:
    fake_nvml.show(Scenario(init=init))
    with pytest.raises(cls) as caught:
        NvmlSource()
    assert caught.value.code == code


def test_no_cards_is_no_error(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario())
    source = NvmlSource()
    assert source.cards() == ()
    assert source.xids() == ()
    source.close()
    source.close()


def test_real_loader_meets_the_library_in_a_child(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(name="NVIDIA GeForce RTX 4090")))
    assert ask(fake_nvml.environment()) == "opened ['NVIDIA GeForce RTX 4090'] ()"


def test_symbols_that_are_really_absent(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card()))
    absent = (
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetFieldValues",
    )
    script = (
        "from gputuner.devices.nvml.source import NvmlSource\n"
        "from gputuner.model.quantities import Tier\n"
        "s = NvmlSource(); uuid = s.cards()[0].uuid\n"
        "v = s.sample(uuid, Tier.FAST, 0).values\n"
        "print(v['core_temperature_c'], v['limit_bits'], v['power_average_w'], v['energy_j'])\n"
        "print(s.processes(uuid, 0).reason, s.sample(uuid, Tier.SLOW, 0).missing['memory_reserved_bytes'])\n"
        "print([code for code, _ in s.notes])\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **fake_nvml.environment(absent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.splitlines() == [
        "41 1 31.0 1234.567",
        "None driver_too_old",
        "['nvml_memory_includes_reserved']",
    ]


def test_no_library(tmp_path: Path) -> None:
    assert ask({"LD_LIBRARY_PATH": str(broken_library(tmp_path))}) == "nvml_library_missing 3"


def test_no_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NoCard) as caught:
        NvmlSource()
    assert caught.value.code == "nvml_binding_missing"


def test_something_else_named_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", ModuleType("pynvml"))
    with pytest.raises(NoCard) as caught:
        NvmlSource()
    assert caught.value.code == "nvml_impostor"


def test_the_official_binding_is_told_by_the_module_itself() -> None:
    import pynvml

    assert is_official(pynvml)
    package = ModuleType("pynvml")
    package.__file__ = str(Path("site-packages", "pynvml", "__init__.py"))
    package._nvmlGetFunctionPointer = len
    assert not is_official(package)
    bare = ModuleType("pynvml")
    bare.__file__ = str(Path("site-packages", "pynvml.py"))
    assert not is_official(bare)


def pci(root: Path, bus_id: str, status: str, vendor: str = "0x10de", kind: str = "0x030000") -> Path:
    folder = root / "bus" / "pci" / "devices" / bus_id
    (folder / "power").mkdir(parents=True, exist_ok=True)
    (folder / "vendor").write_text(vendor + "\n")
    (folder / "class").write_text(kind + "\n")
    (folder / "power" / "control").write_text("auto\n")
    (folder / "power" / "runtime_status").write_text(status + "\n")
    return folder / "power" / "runtime_status"


def test_a_sleeping_card_is_not_woken_and_found_when_it_wakes(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    status = pci(tmp_path, "0000:01:00.0", "suspended")
    pci(tmp_path, "0000:00:02.0", "active", vendor="0x8086")
    pci(tmp_path, "0000:01:00.1", "suspended", kind="0x040300")
    memory = tmp_path / "driver" / "nvidia" / "gpus" / "0000:01:00.0"
    memory.mkdir(parents=True)
    own = card()
    (memory / "information").write_text(f"Model: \t NVIDIA Laptop\nGPU UUID: \t {own['nvmlDeviceGetUUID']}\n")
    fake_nvml.show(Scenario(own))
    source = NvmlSource(sysfs=tmp_path, procfs=tmp_path)
    (info,) = source.cards()
    assert (info.state, info.name, info.uuid) == ("asleep", "NVIDIA Laptop", own["nvmlDeviceGetUUID"])
    sample = source.sample(info.uuid, Tier.FAST, 0)
    assert set(sample.missing.values()) == {Reason.ASLEEP}
    assert set(sample.missing) == {q for q, i in QUANTITIES.items() if i.tier is Tier.FAST}
    assert source.processes(info.uuid, 0).reason is Reason.ASLEEP
    assert source.xids() == ()
    assert fake_nvml.calls() == [], "not even initialised"
    status.write_text("active\n")
    (info,) = source.cards()
    assert info.state == "ready"
    assert source.sample(info.uuid, Tier.FAST, 0).values[Quantity.CORE_TEMPERATURE_C] == 41
    status.write_text("suspended\n")
    before = len(fake_nvml.calls())
    assert set(source.sample(info.uuid, Tier.FAST, 0).missing.values()) == {Reason.ASLEEP}
    assert len(fake_nvml.calls()) == before
    source.close()


def test_of_two_cards_only_the_waking_one_is_asked(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    pci(tmp_path, "0000:01:00.0", "suspended")
    pci(tmp_path, "0000:02:00.0", "active")
    fake_nvml.show(Scenario(card(0), card(1)))
    source = NvmlSource(sysfs=tmp_path, procfs=tmp_path)
    sleeps, wakes = source.cards()
    assert (sleeps.state, wakes.state) == ("asleep", "ready")
    assert wakes.uuid == card(1)["nvmlDeviceGetUUID"]
    assert {device for device, _ in fake_nvml.calls()} == {-1, 1}
    source.close()


def test_a_card_that_vanished_while_reopening_is_lost(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(0), card(1)))
    source = NvmlSource(now_ns=lambda: 5)
    source.cards()
    fake_nvml.show(Scenario(card(0)))
    source.reopen()
    assert [info.state for info in source.cards()] == ["ready", "lost"]
    source.close()


def test_a_crash_in_the_library_ends_the_child_by_signal(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(nvmlDeviceGetName={"crash": True})))
    child = subprocess.run(
        [sys.executable, "-c", ASK], env={**os.environ, **fake_nvml.environment()}, capture_output=True, check=False
    )
    assert child.returncode == -11


def test_a_card_that_refuses_its_handle_by_permission_says_so(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(0), {"handle": error("NO_PERMISSION")}))
    source = NvmlSource()
    fine, refused = source.cards()
    source.close()
    assert fine.state == "ready"
    assert refused.readings["handle"].reason is Reason.NO_PERMISSION
