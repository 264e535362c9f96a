"""What goes wrong in the real program: killed processes, a dying library, a folder that cannot be written."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gputuner.model.errors import StoreError
from tests.e2e.program import all_gone, run, running, sessions
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import CRASH, HANG, Scenario, card

pytestmark = pytest.mark.e2e
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc of Linux")
CPU = ["tune", "--gpu", "cpu", "--memory-cap", "1"]


def tune(data_dir: Path, *more: str, minutes: float = 0.5) -> list[str]:
    return [*CPU, "--minutes", str(minutes), "--data-dir", str(data_dir), *more]


def document(text: str) -> dict:
    return json.loads(text)


@LINUX
@pytest.mark.torch
@pytest.mark.parametrize("stage", ["[1/", "TFLOP/s", "training step"])
def test_kill_9_of_the_program_leaves_no_child_and_a_readable_session(tmp_path: Path, stage: str):
    words = {"TFLOP/s": "FLOP/s"}.get(stage, stage)
    minutes = 2.0 if stage == "training step" else 0.5  # a slow machine leaves it out where time is short
    with running(tune(tmp_path, minutes=minutes)) as program:
        program.wait_for(words)
        children = program.children()
        assert children, "a worker must be running"
        program.process.send_signal(signal.SIGKILL)
        assert all_gone(children)
    code, out, _ = run("sessions", "list", "--json", "--data-dir", str(tmp_path))
    assert code == 0
    (entry,) = document(out)["sessions"]
    assert entry["outcome"] is None
    if stage != "[1/":
        code, out, _ = run("sessions", "show", "--json", "--data-dir", str(tmp_path), entry["session_id"])
        assert code == 0
        assert document(out)["points"], "what was measured before the kill is kept"


@LINUX
@pytest.mark.torch
def test_kill_9_of_the_worker_is_survived(tmp_path: Path):
    with running(tune(tmp_path, "--json")) as program:
        program.wait_for("memory copy")
        program.child("--worker").kill()
        code, out, err = program.end()
    assert code == 0, err
    found = document(out)
    assert found["outcome"] == "completed"
    measured = {p["metric"] for p in found["points"]}
    assert {"matmul_rate", "copy_bandwidth"} <= measured, "before the kill and after it"


@LINUX
@pytest.mark.torch
def test_interrupt_keeps_what_was_measured(tmp_path: Path):
    with running(tune(tmp_path, "--json")) as program:
        program.wait_for("FLOP/s")
        children = program.children()
        program.interrupt()
        code, out, _ = program.end()
    assert code == 130
    assert document(out)["outcome"] == "cancelled"
    assert document(out)["points"]
    assert all_gone(children)
    _, listed, _ = run("sessions", "list", "--json", "--data-dir", str(tmp_path))
    assert document(listed)["sessions"][0]["outcome"] == "cancelled"


@pytest.mark.torch
def test_a_second_program_on_the_same_card_is_refused(tmp_path: Path):
    with running(tune(tmp_path)) as first:
        first.wait_for("[1/")
        code, _, err = run(*tune(tmp_path))
        assert code == 3
        assert str(first.process.pid) in err
        assert len(sessions(tmp_path)) == 1
        first.interrupt()
        first.end()


@LINUX
def test_kill_9_of_the_collector_leaves_a_gap_and_recovers(tmp_path: Path, fake_nvml: FakeNvml):
    fake_nvml.show(Scenario(card(0)))
    with running(["record", "--data-dir", str(tmp_path), "--json"], fake_nvml.environment()) as program:
        program.wait_for("RTX 3090")
        program.child("--collector").kill()
        while not any(map(recovered, sessions(tmp_path))):
            assert program.process.poll() is None
            time.sleep(0.1)
        program.interrupt()
        code, _, err = program.end()
    assert code == 130, err


def recovered(path: Path) -> bool:
    """Whether a silence is a gap, and readings came again after it."""
    try:
        gaps, samples = gaps_and_samples(path)
    except StoreError:  # nothing stands in it yet
        return False
    return bool(gaps) and samples[-1] > gaps[-1][1]


@LINUX
@pytest.mark.parametrize("fault", ["hang", "crash"])
def test_a_call_that_hangs_or_crashes_ends_in_a_gap_not_in_a_hang(tmp_path: Path, fake_nvml: FakeNvml, fault: str):
    bad = HANG if fault == "hang" else CRASH
    temperature = {"sequence": [50, 51, bad, bad, 52]}
    fake_nvml.show(Scenario(card(0, nvmlDeviceGetTemperature=temperature, nvmlDeviceGetTemperatureV=temperature)))
    code, _, err = run(
        "record", "--duration", "5", "--data-dir", str(tmp_path), "--json", environment=fake_nvml.environment()
    )
    assert code == 0, err
    assert len(sessions(tmp_path)) == 1


def test_no_library_means_the_processor_and_a_named_gpu_means_exit_3(tmp_path: Path, fake_nvml: FakeNvml):
    fake_nvml.show(Scenario(init="LIBRARY_NOT_FOUND"))
    code, out, _ = run("devices", "--json", "--data-dir", str(tmp_path), environment=fake_nvml.environment())
    assert code == 0
    assert [d["uuid"] for d in document(out)["devices"]] == ["cpu"]
    code, _, err = run("tune", "--gpu", "0", "--data-dir", str(tmp_path), environment=fake_nvml.environment())
    assert code == 3
    assert len(err.strip().splitlines()) == 1


@LINUX
@pytest.mark.parametrize("reachable", [True, False])
def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(reachable: bool):
    with tempfile.TemporaryDirectory() as outer:
        os.chmod(outer, 0o755 if reachable else 0o700)
        refuse_to_write(Path(outer) / "locked")


def refuse_to_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o555)
    command = [sys.executable, "-m", "gputuner", "--cli", "record", "--duration", "1", "--simulate", "rtx-3090"]
    command += ["--data-dir", str(folder / "data")]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("setpriv is not installed")
        command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 4, done.stderr
    assert str(folder) in done.stderr
    assert "Traceback" not in done.stderr
    assert list(folder.iterdir()) == []


def gaps_and_samples(path: Path) -> tuple[list[tuple[float, float]], list[float]]:
    """Gaps and sample times of a session, in seconds of its clock."""
    from gputuner.model.events import TelemetrySampled
    from gputuner.sessions.reader import SessionReader

    gaps: list[tuple[float, float]] = []
    samples: list[float] = []
    with SessionReader(path) as reader:
        for event in reader.events({"telemetry_sampled"}):
            assert isinstance(event, TelemetrySampled)
            gaps += [(g.t0_ns / 1e9, g.t1_ns / 1e9) for g in event.gaps]
            samples += [s.t_ns / 1e9 for s in event.samples if s.values]
    return gaps, samples
