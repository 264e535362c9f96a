"""What a command holds on a card is told apart from what others hold there: driver → collector → session → document."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gputuner.settings import preferences
from gputuner.settings.paths import paths
from tests.fake_nvml.scenario import CRASH, HANG, MIB, Scenario, card, error

pytestmark = pytest.mark.e2e
LIMIT_S = 600
ROOT = Path(__file__).resolve().parents[2]
PROCESSES = "nvmlDeviceGetComputeRunningProcesses"
COMMAND = """
import os, sys, time
os.write(1, b"%d\\n" % os.getpid())  # at once: the watcher writes lines to the same pipe
sys.stdin.readline()
"""


class OnCard:
    """A command under observation on a machine with cards of the fake driver, whose answers may change."""

    def __init__(self, fake, folder):
        self.fake = fake
        self.data_dir = folder / "data"
        self.data_dir.mkdir()
        preferences.change(paths(self.data_dir).preferences, fast_hz=5.0, slow_s=1.0)
        self.child = None

    def start(self, *scenario):
        self.fake.show(Scenario(*scenario), reload=True)
        ours = [sys.executable, "-m", "gputuner", "--cli", "watch", "--json", "--data-dir", str(self.data_dir)]
        self.child = subprocess.Popen(
            [*ours, "--", sys.executable, "-c", COMMAND],
            env={**os.environ, **self.fake.environment(), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = self.child.stderr.readline()
        while first and not first.strip().isdecimal():
            first = self.child.stderr.readline()
        return int(first)

    def show(self, *scenario, tables=3):
        """Let the driver answer this from now on, until so many process tables were read."""
        self.show_scenario(Scenario(*scenario), tables)

    def show_scenario(self, scenario, tables=3):
        before = self._tables()
        self.fake.show(scenario, reload=True)
        while self._tables() < before + tables and self.child.poll() is None:
            continue

    def _tables(self):
        return sum(name.startswith(PROCESSES) for _device, name in self.fake.calls())

    def end(self):
        out, err = self.child.communicate("\n", timeout=LIMIT_S)
        assert self.child.returncode == 0, err
        return json.loads(out), err


@pytest.fixture
def on_card(fake_nvml, tmp_path):
    on_card = OnCard(fake_nvml, tmp_path)
    yield on_card
    if on_card.child is not None and on_card.child.poll() is None:
        on_card.child.kill()
        on_card.child.communicate()


def busy(*processes, index=0, **calls):
    held = sum(process["used_bytes"] for process in processes)
    memory = {"total": 24576 * MIB, "used": held + 500 * MIB, "free": 24076 * MIB - held}
    return card(
        index,
        **{
            PROCESSES: list(processes),
            "nvmlDeviceGetMemoryInfo": memory,
            "nvmlDeviceGetUtilizationRates": {"gpu": 80, "memory": 30},
            **calls,
        },
    )


def test_memory_of_the_command_and_of_others_by_card(on_card):
    pid = on_card.start(card(0), card(1))
    own = {"pid": pid, "used_bytes": 6000 * MIB}
    stranger = {"pid": os.getpid(), "used_bytes": 2000 * MIB}
    on_card.show(busy(own, stranger), card(1), tables=8)
    document, _err = on_card.end()
    (use,) = document["command"]["use"]["cards"]
    assert use["uuid"] == card(0)["nvmlDeviceGetUUID"]
    assert use["tree_memory_peak_bytes"] == 6000 * MIB
    assert use["others_memory_bytes"] == 2000 * MIB
    assert use["others_computed"] is True
    assert use["memory_total_bytes"] == 24576 * MIB
    assert document["where_time_went"]["by"] == "telemetry"
    held = [process["card_bytes"] for process in document["processes"] if process["pid"] == pid]
    assert held == [{use["uuid"]: 6000 * MIB}]
    assert [device["uuid"] for device in document["devices"]] == [
        card(0)["nvmlDeviceGetUUID"],
        card(1)["nvmlDeviceGetUUID"],
    ]


def test_a_card_that_it_leaves_alone_is_not_its_own(on_card):
    on_card.start(busy({"pid": os.getpid(), "used_bytes": 2000 * MIB}))
    on_card.show(busy({"pid": os.getpid(), "used_bytes": 2000 * MIB}))
    document, _err = on_card.end()
    assert document["command"]["use"]["cards"] == []
    assert {point["card"] for point in document["points"]} == {"cpu"}


def test_in_a_container_the_card_that_fills_is_its_own_and_whose_memory_it_is_stays_open(on_card):
    on_card.start(card(0), card(1))
    on_card.show(card(0), card(1), tables=12)
    on_card.show(card(0), busy({"pid": 4_000_000, "used_bytes": 6000 * MIB}, index=1), tables=8)
    document, _err = on_card.end()
    (use,) = document["command"]["use"]["cards"]
    assert use["uuid"] == card(1)["nvmlDeviceGetUUID"]
    assert use["memory_used_peak_bytes"] == 6500 * MIB
    assert (use["tree_memory_peak_bytes"], use["others_memory_bytes"], use["others_computed"]) == (None, None, None)


def test_an_error_that_the_driver_reports_is_told(on_card):
    scenario = Scenario(card(0))
    on_card.start(card(0))
    scenario.system["nvmlEventSetWait"] = {"sequence": [[0, 31], error("TIMEOUT")], "cycle": True}
    on_card.show_scenario(scenario, tables=12)
    document, err = on_card.end()
    assert [(w["code"], w["params"]["xid"]) for w in document["warnings"]] == [("watch_xid", 31)]
    assert "XID 31" in err


@pytest.mark.parametrize("answer", [HANG, CRASH, error("GPU_IS_LOST")], ids=["hangs", "crashes", "is lost"])
def test_a_driver_that_fails_harms_neither_the_command_nor_its_exit_code(on_card, answer):
    on_card.start(card(0))
    on_card.show(card(0, nvmlDeviceGetTemperature=answer), tables=0)
    document, _err = on_card.end()
    assert document["command_exit"] == 0
    assert document["session_id"] is not None
