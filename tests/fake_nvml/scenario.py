"""Scenarios of the fake NVML: what each call answers, written in Python or read from a case's JSON.

``card()`` gives the calls of an ordinary card; a case's ``ret`` (or your own changes) go on top. A value is what the
call returns (numbers, text, lists, dicts as in the cases), ``{"error": "NVML_ERROR_…"}``, ``{"sequence": […]}`` with
one answer per call (the last repeats; ``"cycle": true`` begins again), ``{"bytes_hex": …}``, ``HANG`` or ``CRASH``;
``{"value": …, "us": 120}`` costs that many microseconds.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CODES = {
    "OK": 0,
    "UNINITIALIZED": 1,
    "INVALID_ARGUMENT": 2,
    "NOT_SUPPORTED": 3,
    "NO_PERMISSION": 4,
    "NOT_FOUND": 6,
    "DRIVER_NOT_LOADED": 9,
    "TIMEOUT": 10,
    "LIBRARY_NOT_FOUND": 12,
    "FUNCTION_NOT_FOUND": 13,
    "GPU_IS_LOST": 15,
    "RESET_REQUIRED": 16,
    "OPERATING_SYSTEM": 17,
    "LIB_RM_VERSION_MISMATCH": 18,
    "UNKNOWN": 999,
}
HANG = {"hang": True}
CRASH = {"crash": True}
ALL_ONES = 0xFFFFFFFFFFFFFFFF
MIB = 2**20
_FIELD_TYPES = {82: 1, 94: 1, 185: 1, 186: 1, 187: 1, 188: 1, 189: 1, 190: 1, 192: 1, 193: 5, 194: 5, 195: 5, 196: 5}
"""``nvmlValueType_t`` of fields as an H200 answered: 1 unsigned int, 5 signed int; others unsigned long long."""
_FIELD_OF = {
    185: "nvmlDeviceGetPowerUsage",
    186: "nvmlDeviceGetPowerUsage",
    83: "nvmlDeviceGetTotalEnergyConsumption",
    190: "nvmlDeviceGetEnforcedPowerLimit",
}

Calls = dict[str, Any]


def error(name: str) -> dict[str, str]:
    """An answer that is an error."""
    return {"error": f"NVML_ERROR_{name}"}


NOT_SUPPORTED = error("NOT_SUPPORTED")


def card(index: int = 0, *, name: str = "NVIDIA GeForce RTX 3090", total_mib: int = 24576, **calls: Any) -> Calls:
    """Calls of an ordinary card at idle (a GeForce RTX 3090 in its numbers); ``calls`` replace some."""
    total = total_mib * MIB
    base: Calls = {
        "nvmlDeviceGetUUID": f"GPU-{index:08x}-aaaa-bbbb-cccc-{index:012x}",
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetPciInfo": f"00000000:{index + 1:02X}:00.0",
        "nvmlDeviceGetIndex": index,
        "nvmlDeviceGetVbiosVersion": "94.02.42.00.A1",
        "nvmlDeviceGetCudaComputeCapability": [8, 6],
        "nvmlDeviceGetNumGpuCores": 10496,
        "nvmlDeviceGetTemperature": 41,
        "nvmlDeviceGetTemperatureThreshold(0)": 98,
        "nvmlDeviceGetTemperatureThreshold(1)": 95,
        "nvmlDeviceGetTemperatureThreshold(3)": 93,
        "nvmlDeviceGetTemperatureThreshold(5)": 83,
        "nvmlDeviceGetPowerUsage": 31000,
        "nvmlDeviceGetPowerManagementLimit": 350000,
        "nvmlDeviceGetEnforcedPowerLimit": 350000,
        "nvmlDeviceGetPowerManagementDefaultLimit": 350000,
        "nvmlDeviceGetPowerManagementLimitConstraints": [100000, 366000],
        "nvmlDeviceGetTotalEnergyConsumption": 1234567,
        "nvmlDeviceGetClockInfo(0)": 210,
        "nvmlDeviceGetClockInfo(1)": 210,
        "nvmlDeviceGetClockInfo(2)": 405,
        "nvmlDeviceGetClockInfo(3)": 555,
        "nvmlDeviceGetMaxClockInfo(0)": 2100,
        "nvmlDeviceGetMaxClockInfo(1)": 2100,
        "nvmlDeviceGetMaxClockInfo(2)": 9751,
        "nvmlDeviceGetMaxClockInfo(3)": 1950,
        "nvmlDeviceGetCurrentClocksEventReasons": 1,
        "nvmlDeviceGetUtilizationRates": {"gpu": 0, "memory": 1},
        "nvmlDeviceGetEncoderUtilization": [0, 100000],
        "nvmlDeviceGetDecoderUtilization": [0, 100000],
        "nvmlDeviceGetMemoryInfo": {"total": total, "free": total - 500 * MIB, "used": 500 * MIB},
        "nvmlDeviceGetBAR1MemoryInfo": {"total": 256 * MIB, "free": 250 * MIB, "used": 6 * MIB},
        "nvmlDeviceGetPerformanceState": 8,
        "nvmlDeviceGetCurrPcieLinkGeneration": 1,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkGeneration": 4,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetNumFans": 2,
        "nvmlDeviceGetFanSpeed": 30,
        "nvmlDeviceGetFanSpeed_v2": 30,
        "nvmlDeviceGetFanSpeedRPM": 1100,
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetDisplayActive": 0,
        "nvmlDeviceGetComputeMode": 0,
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetGraphicsRunningProcesses": [],
        "field(74)": 0,
        "field(76)": 0,
        "field(269)": 0,
        "field(270)": 0,
        "field(271)": 0,
    }
    return base | calls


def _completed(calls: Calls) -> Calls:
    """Fill in what follows from the rest: the second memory call, and power and energy as fields."""
    out = dict(calls)
    memory = out.get("nvmlDeviceGetMemoryInfo")
    if isinstance(memory, Mapping) and "total" in memory and "nvmlDeviceGetMemoryInfo_v2" not in out:
        out["nvmlDeviceGetMemoryInfo_v2"] = {**memory, "reserved": 0}
    for field, call in _FIELD_OF.items():
        if call in out:
            out.setdefault(f"field({field})", out[call])
    return out


_MEMBERS = {
    "nvmlDeviceGetMemoryInfo": ("total", "free", "used"),
    "nvmlDeviceGetBAR1MemoryInfo": ("total", "free", "used"),
    "nvmlDeviceGetMemoryInfo_v2": ("total", "reserved", "free", "used"),
    "nvmlDeviceGetUtilizationRates": ("gpu", "memory"),
}


def _numbers(call: str, value: Any) -> list[int]:
    if call in _MEMBERS:
        return [int(value[member]) for member in _MEMBERS[call]]
    if call.endswith("RunningProcesses") or "RunningProcesses_" in call:
        return [n for p in value for n in (p["pid"], ALL_ONES if p["used_bytes"] is None else p["used_bytes"])]
    if call.startswith("nvmlDeviceGetProcessUtilization"):
        rest = ("sm", "mem", "enc", "dec")
        return [n for s in value for n in (s["pid"], s["ts_us"], *(s.get(key, 0) for key in rest))]
    return [int(v) for v in value] if isinstance(value, (list, tuple)) else [int(value)]


def _answer(call: str, value: Any) -> str:
    if isinstance(value, Mapping):
        if "us" in value:
            return f"{_answer(call, value['value'])}@{value['us']}"
        if "error" in value:
            return f"e:{CODES[value['error'].removeprefix('NVML_ERROR_')]}"
        if "bytes_hex" in value:
            return f"s:{value['bytes_hex']}"
        if value.get("hang"):
            return "hang"
        if value.get("crash"):
            return "crash"
    if isinstance(value, (str, Path)):
        return "s:" + str(value).encode().hex()
    return "v:" + ",".join(map(str, _numbers(call, value)))


def _line(device: int, call: str, value: Any, costs: Mapping[str, float]) -> str:
    flags = [f"us={costs.get(call, costs.get(call.partition('(')[0], 0))}"]
    if found := re.fullmatch(r"field\((\d+)\)", call):
        flags.append(f"type={_FIELD_TYPES.get(int(found[1]), 3)}")
    answers = [value]
    if isinstance(value, Mapping) and "sequence" in value:
        answers = list(value["sequence"])
        flags.append("cycle=1" if value.get("cycle") else "cycle=0")
    return "\t".join([str(device), call, ";".join(flags), *(_answer(call, answer) for answer in answers)])


def settable(index: int = 0, **calls: Any) -> Calls:
    """Calls of an ordinary card whose settings can be changed by whoever asks."""
    base: Calls = {
        "nvmlDeviceSetPowerManagementLimit": 0,
        "nvmlDeviceSetGpuLockedClocks": 0,
        "nvmlDeviceResetGpuLockedClocks": 0,
        "nvmlDeviceSetMemoryLockedClocks": 0,
        "nvmlDeviceResetMemoryLockedClocks": 0,
        "nvmlDeviceSetClockOffsets": 0,
        "nvmlDeviceGetClockOffsets(0)": [0, -1000, 1000],
        "nvmlDeviceGetClockOffsets(2)": [0, -2000, 6000],
        "nvmlDeviceSetFanSpeed_v2": 0,
        "nvmlDeviceSetDefaultFanSpeed_v2": 0,
        "nvmlDeviceGetFanControlPolicy_v2": 0,
        "nvmlDeviceGetMinMaxFanSpeed": [30, 100],
        "nvmlDeviceGetSupportedMemoryClocks": [9751, 5001, 405],
        "nvmlDeviceGetSupportedGraphicsClocks": [2100, 1500, 1200, 300, 210],
    }
    return card(index, **(base | calls))


class Scenario:
    """A machine: its cards, driver and faults. ``text()`` is the scenario file."""

    def __init__(self, *cards: Calls, driver: str = "550.54.14", cuda: int = 12040, init: str = "OK") -> None:
        """A healthy machine with these cards; ``init`` names the result of NVML's initialisation."""
        self.cards = list(cards)
        self.system: Calls = {"driver": driver, "nvml_version": f"12.{driver}", "cuda": cuda}
        if init != "OK":
            self.system["init"] = error(init.removeprefix("NVML_ERROR_"))
        self.mig: dict[int, list[Calls]] = {}
        self.costs: dict[str, float] = {}
        """Cost of calls in µs, by name with or without argument."""

    @classmethod
    def from_case(cls, case: Mapping[str, Any]) -> "Scenario":
        """The scenario of a case of kind ``nvml``; calls not listed give ordinary values."""
        cards: list[Calls] = []
        mig: dict[int, list[Calls]] = {}
        for device in case["devices"]:
            index = device["index"]
            if "handle" in device:
                cards.append({"handle": device["handle"]})
                continue
            given = {call: value for call, value in device["ret"].items() if call.startswith("nvml")}
            own = {"nvmlDeviceGetUUID": device["uuid"], "nvmlDeviceGetPciInfo": device["pci"]}
            cards.append(card(index, name=device["name"], total_mib=device["total_mib"], **(own | given)))
            if device.get("mig"):
                cards[-1]["nvmlDeviceGetMaxMigDeviceCount"] = 7
                mig[index] = [_instance(device["name"], entry) for entry in device["mig"]]
        scenario = cls(*cards, driver=case["driver"] or "0", init=case["init"])
        scenario.mig = mig
        return scenario

    @classmethod
    def from_recording(cls, recording: Mapping[str, Any], count: int = 1, costs: bool = True) -> "Scenario":
        """``count`` copies of a recorded card (``nvml-h200.json``), each call costing what it did."""
        told = (_recorded(name, entry) for name, entry in recording["functions"].items())
        calls = {name: value for name, value in told if value is not None}
        fields = recording["fields_supported"].values()
        calls |= {f"field({e['id']})": e["value"] for e in fields if e["value"] is not None}
        memory = calls["nvmlDeviceGetMemoryInfo"]
        cards: list[Calls] = []
        for index in range(count):
            name = {"nvmlDeviceGetUUID": f"GPU-{index:08x}-1111-2222-3333-444444444444"}
            name |= {"nvmlDeviceGetIndex": index, "nvmlDeviceGetPciInfo": f"00000000:{index + 6:02X}:00.0"}
            cards.append(calls | {"nvmlDeviceGetMemoryInfo_v2": {**memory, "reserved": 0}} | name)
        scenario = cls(*cards, driver=recording["driver"], cuda=recording["cuda"])
        if costs:
            scenario.costs = {name.removesuffix("_v3"): e["us_median"] for name, e in recording["functions"].items()}
            scenario.costs |= {f"field({e['id']})": e["latency_us"] for e in fields}
        return scenario

    def text(self) -> str:
        """The scenario file's content."""
        lines = ["# DEVICE KEY FLAGS ANSWERS"]
        system = self.system | {"count": len(self.cards)}
        lines += [_line(-1, key, value, self.costs) for key, value in system.items()]
        for index, calls in enumerate(self.cards):
            lines += [_line(index, call, value, self.costs) for call, value in _completed(calls).items()]
            for position, instance in enumerate(self.mig.get(index, [])):
                device = 1000 * (index + 1) + position
                lines += [_line(device, call, value, self.costs) for call, value in _completed(instance).items()]
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> Path:
        """Write (or replace at one stroke) the scenario file."""
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(self.text())
        os.replace(fresh, path)
        return path


def case(path: Path) -> dict[str, Any]:
    """A case's JSON."""
    return json.loads(path.read_text())


def _instance(parent: str, entry: Mapping[str, Any]) -> Calls:
    total, used = entry["total_mib"] * MIB, entry["used_mib"] * MIB
    return {
        "nvmlDeviceGetUUID": entry["uuid"],
        "nvmlDeviceGetName": f"{parent} MIG {entry['profile']}",
        "nvmlDeviceGetMemoryInfo": {"total": total, "free": total - used, "used": used},
    }


_RECORDED_ERRORS = {"Not Supported": "NOT_SUPPORTED", "Invalid Argument": "INVALID_ARGUMENT"}


def _recorded(name: str, entry: Mapping[str, Any]) -> tuple[str, Any]:
    """One call of a recording; structures by their members' names, None for what is not replayed."""
    key = name.replace("_v3", "").replace("GetPciInfo_v3", "GetPciInfo")
    if entry["error"]:
        return key, error(_RECORDED_ERRORS.get(entry["error"], "NOT_SUPPORTED"))
    value = entry["value"]
    if isinstance(value, dict):
        value = {member.removeprefix("bar1").lower(): number for member, number in value.items()}
        if key not in _MEMBERS:
            return key, None
    if isinstance(value, list) and any(not isinstance(v, (int, float)) for v in value):
        return key, None
    return key, value if value != [] or key.endswith("RunningProcesses") else None
