"""Users' situations C-018 … C-036 as the command line meets them: the real program over the fake NVML."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import run, sessions
from tests.fake_nvml.build import broken_library
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import MIB, Scenario, card, case

pytestmark = pytest.mark.e2e
CASES = Path(__file__).parents[1] / "data" / "cases"
MIG = "MIG-00000000-1111-2222-3333-00000000000"


class Machine:
    """The command line on a machine whose driver answers a scenario."""

    def __init__(self, fake: FakeNvml, folder: Path) -> None:
        self.fake = fake
        self.folder = folder
        self.environment: dict[str, str] = {"COLUMNS": "200"}

    def show(self, scenario: Scenario | str) -> Scenario:
        found = Scenario.from_case(case(CASES / f"{scenario}.json")) if isinstance(scenario, str) else scenario
        self.fake.show(found, log=False)
        self.environment |= self.fake.environment()
        return found

    def __call__(self, *words: str, **environment: str) -> tuple[int, str, str]:
        folder = ["--data-dir", str(self.folder / "data")]
        return run(*words, *folder, environment={**self.environment, **environment})

    def devices(self, **environment: str) -> list[dict[str, Any]]:
        code, out, err = self("devices", "--json", **environment)
        assert code == 0, err
        return json.loads(out)["devices"]

    def interpreter(self) -> Path:
        """A ``--python`` that tells which card it was given, and that it has no torch."""
        script = self.folder / "python-that-tells"
        said = '{"kind":"unusable","code":"torch_missing","message":"none","params":{}}'
        script.write_text(f"#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES\" >> {self.folder}/given\necho '{said}'\nexit 3\n")
        script.chmod(0o755)
        return script

    def given(self) -> list[str]:
        """What CUDA_VISIBLE_DEVICES was in each worker so far."""
        path = self.folder / "given"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(fake_nvml: FakeNvml, tmp_path: Path) -> Machine:
    return Machine(fake_nvml, tmp_path)


# --- telemetry --------------------------------------------------------------------------------------------------------


def test_c018_no_percentage_of_six_digits_is_shown(machine: Machine):
    scenario = Scenario.from_case(case(CASES / "c018_nvml_proc_util_garbage.json"))
    scenario.cards[0]["nvmlDeviceGetComputeRunningProcesses"] = [{"pid": 6120, "used_bytes": MIB}]
    machine.show(scenario)
    (found,) = machine.devices()
    assert [p["pid"] for p in found["processes"]] == [6120]
    shares = [p["sm_utilisation"] for p in found["processes"] if p["sm_utilisation"] is not None]
    shares += [found["readings"][name]["value"] or 0 for name in ("gpu_utilisation", "memory_utilisation")]
    assert all(0 <= share <= 1 for share in shares)


def test_c019_an_old_driver_is_told_to_count_its_own_memory_as_used(machine: Machine):
    scenario = Scenario.from_case(case(CASES / "c019_nvml_memory_v1_v2.json"))
    scenario.cards[0]["nvmlDeviceGetMemoryInfo_v2"] = {"error": "NVML_ERROR_FUNCTION_NOT_FOUND"}
    machine.show(scenario)
    code, _, err = machine("record", "--duration", "7")
    assert code == 0
    assert err.count("includes what the driver reserves") == 1


def test_c020_mig_shows_no_utilisation_and_memory_by_instance(machine: Machine):
    machine.show("c020_nvml_mig")
    (found,) = machine.devices()
    assert found["readings"]["gpu_utilisation"] == {"reason": "not_with_mig"} | {
        k: v for k, v in found["readings"]["gpu_utilisation"].items() if k != "reason"
    }
    assert found["readings"]["gpu_utilisation"].get("value") is None
    (instance,) = found["mig"]
    assert (instance["memory_used_bytes"], instance["memory_total_bytes"]) == (33120 * MIB, 40192 * MIB)
    code, out, _ = machine("devices")
    assert code == 0
    assert "not available while MIG is on: GPU busy" in out


@pytest.mark.parametrize("how", ["library", "binding"])
def test_c025_without_nvml_logs_are_read_and_a_named_gpu_is_refused(tmp_path: Path, how: str):
    """No library: an empty one in its place. No binding: a module that cannot be imported."""
    environment = {"LD_LIBRARY_PATH": str(broken_library(tmp_path))}
    if how == "binding":
        (tmp_path / "pynvml.py").write_text("raise ModuleNotFoundError('no pynvml', name='pynvml')\n")
        environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    folder = ["--data-dir", str(tmp_path / "data")]
    code, _, err = run("record", "--simulate", "rtx-4090-48g", "--duration", "5", *folder, environment=environment)
    assert code == 0, err
    for words in (["sessions", "list"], ["sessions", "show"], ["devices", "--simulate", "rtx-3090"]):
        code, out, err = run(*words, *folder, environment=environment)
        assert (code, err) == (0, ""), err
        assert out
    before = sessions(tmp_path / "data")
    code, out, err = run("tune", "--gpu", "0", *folder, environment=environment)
    assert (code, out) == (3 if how == "library" else code, "")
    assert code in (3, 7)
    assert len(err.strip().splitlines()) == 1
    assert sessions(tmp_path / "data") == before


def test_c027_a_card_without_fans_has_no_fan_errors(machine: Machine):
    machine.show("c027_nvml_zero_fans")
    code, out, err = machine("devices")
    assert (code, err) == (0, "")
    assert "fan setting" in out.split("not supported by this card")[2]
    assert "0 %" not in next(line for line in out.splitlines() if "fan" in line)


def test_c028_a_mismatch_is_one_plain_sentence_and_old_sessions_are_read(machine: Machine):
    code, _, err = machine("record", "--simulate", "rtx-3090", "--duration", "5")
    assert code == 0, err
    machine.show("c028_nvml_mismatch")
    code, out, err = machine("tune", "--quick")
    assert (code, out) == (7, "")
    assert "differ in version" in err
    assert "restart" in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    code, out, err = machine("sessions", "list")
    assert (code, err) == (0, "")
    assert "record" in out


def test_c029_the_shadowing_package_is_named_once(tmp_path: Path):
    from tests.devices.test_cases_telemetry import FOREIGN

    package = tmp_path / "pynvml"
    package.mkdir()
    (package / "__init__.py").write_text(FOREIGN)
    environment = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
        "CASE": str(CASES / "c029_nvml_bytes.json"),
    }
    folder = ["--data-dir", str(tmp_path / "data")]
    code, out, err = run("record", "--duration", "2", "--json", *folder, environment=environment)
    assert code == 0, err
    assert err.count("is not NVIDIA's") == 1
    session = json.loads(out)["session_path"]
    target = tmp_path / "out.json"
    code, _, err = run("sessions", "export", session, "--format", "json", "--out", str(target), *folder)
    assert code == 0, err
    text = target.read_text()
    assert "GeForce RTX 3090" in text
    assert "b'" not in text


def test_c030_the_session_written_through_a_failure_is_whole(machine: Machine):
    machine.show("c030_nvml_unknown_then_ok")
    code, out, err = machine("record", "--duration", "6", "--json")
    assert code == 0, err
    assert json.loads(out)["outcome"] == "completed"
    code, out, err = machine("sessions", "show", "--json")
    assert (code, err) == (0, "")


# --- processes --------------------------------------------------------------------------------------------------------


def test_c031_memory_without_an_owner_is_told_with_its_causes_and_nobody_is_to_be_killed(machine: Machine):
    machine.show("c031_nvml_orphan_memory")
    (found,) = machine.devices()
    assert (found["processes"], found["unowned_bytes"]) == ([], 9730 * MIB)
    code, out, err = machine("devices")
    assert (code, err) == (0, "")
    assert "9.5 GiB in use belong to no process" in out
    assert "killed training" in out
    assert "kill " not in out


def test_c032_process_memory_that_is_not_told_is_said_so(machine: Machine):
    machine.show("c032_nvml_proc_mem_none")
    (found,) = machine.devices()
    assert [(p["memory_bytes"], p["memory_reason"]) for p in found["processes"]] == [(None, "driver_model")] * 2
    assert found["readings"]["memory_used_bytes"]["value"] == 13980 * MIB
    assert found["memory_total_bytes"] == 16376 * MIB
    code, out, _ = machine("devices")
    assert code == 0
    assert "18446744073709551615" not in out
    assert "17179869184" not in out
    assert out.count("driver model") == 2


# --- identity ---------------------------------------------------------------------------------------------------------


def dry(machine: Machine, *words: str, **environment: str) -> tuple[int, str, str]:
    return machine("tune", "--dry-run", "--json", *words, **environment)


def test_c033_an_ambiguous_prefix_is_quoted(machine: Machine):
    machine.show("c033_ident_uuid")
    variants = case(CASES / "c033_ident_uuid.json")["env_variants"]
    value = next(v["CUDA_VISIBLE_DEVICES"] for v in variants if v.get("expect") == "ambiguous")
    code, _, err = dry(machine, CUDA_VISIBLE_DEVICES=value)
    assert code == 2
    assert value in err


def test_c034_the_worker_gets_the_uuid_of_the_card_that_was_chosen(machine: Machine):
    scenario = machine.show("c034_ident_fastest_first")
    for index, entry in enumerate(scenario.cards):
        machine("tune", "--gpu", str(index), "--python", str(machine.interpreter()))
        assert machine.given()[-1] == entry["nvmlDeviceGetUUID"]


def test_c035_of_two_instances_the_first_is_used_and_said(machine: Machine):
    scenario = Scenario.from_case(case(CASES / "c020_nvml_mig.json"))
    first = scenario.mig[0][0]
    memory = {"total": 20 << 30, "free": 19 << 30, "used": 1 << 30}
    scenario.mig[0] = [first, first | {"nvmlDeviceGetUUID": f"{MIG}2", "nvmlDeviceGetMemoryInfo": memory}]
    machine.show(scenario)
    both = f"{MIG}1,{MIG}2"
    python = str(machine.interpreter())
    code, out, _ = machine("tune", "--python", python, "--json", CUDA_VISIBLE_DEVICES=both)
    assert code == 3, "the interpreter has no torch"
    assert machine.given() == [f"{MIG}1"]
    assert [w["code"] for w in json.loads(out)["warnings"]] == ["visible_one_mig"]
    machine("tune", "--python", python, CUDA_VISIBLE_DEVICES=f"{MIG}2")
    assert machine.given()[-1] == f"{MIG}2"


@pytest.mark.parametrize("value", ["", "-1"])
def test_c036_hidden_cards_are_shown_and_not_measured(machine: Machine, value: str):
    machine.show(Scenario(card(0), card(1)))
    assert [d["index"] for d in machine.devices(CUDA_VISIBLE_DEVICES=value)] == [0, 1]
    for words in ((), ("--gpu", "0"), ("--gpu", "all")):
        code, _, err = machine("tune", "--dry-run", *words, CUDA_VISIBLE_DEVICES=value)
        assert code == 3
        assert "CUDA_VISIBLE_DEVICES" in err
        assert "hides every card" in err
        assert len(err.strip().splitlines()) == 1
    code, _, err = dry(machine, "--gpu", "cpu", CUDA_VISIBLE_DEVICES=value)
    assert code == 0, err


def test_c036_a_bad_entry_ends_the_list_and_is_said(machine: Machine):
    machine.show(Scenario(card(0), card(1)))
    code, out, err = dry(machine, "--gpu", "all", CUDA_VISIBLE_DEVICES="0,9,1")
    assert code == 0, err
    assert [d["index"] for d in json.loads(out)["devices"]] == [0]
    code, _, err = dry(machine, "--gpu", "1", CUDA_VISIBLE_DEVICES="0,9,1")
    assert code == 3
    assert "9 is no card" in err
    code, out, _ = machine("tune", "--python", str(machine.interpreter()), "--json", CUDA_VISIBLE_DEVICES="0,9,1")
    assert machine.given() == [card(0)["nvmlDeviceGetUUID"]]
    assert [w["code"] for w in json.loads(out)["warnings"]] == ["visible_stops_at"]


def test_a_card_that_the_variable_does_not_name_is_refused_by_name(machine: Machine):
    machine.show(Scenario(card(0), card(1)))
    code, _, err = dry(machine, "--gpu", "1", CUDA_VISIBLE_DEVICES="0")
    assert code == 3
    assert "hides GeForce RTX 3090" in err


def test_doctor_tells_of_the_variable(machine: Machine):
    machine.show(Scenario(card(0), card(1)))
    code, out, _ = machine("doctor", "--python", sys.executable, CUDA_VISIBLE_DEVICES="-1")
    assert code == 9
    assert "CUDA_VISIBLE_DEVICES is -1" in out
