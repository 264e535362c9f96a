"""``contend --command``: commands of the user's side by side on the processor, ended on every path."""

import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.torch]

LONG_S = 600.0
STEPS = """
import json, os, pathlib, subprocess, sys, time
subprocess.Popen(["sleep", "600"], start_new_session=True)
folder = os.environ["GPUTUNER_WATCH_DIR"]
record = os.path.join(folder, f"{os.getpid()}-1.jsonl")
def write(**line):
    with open(record, "a") as file:
        file.write(json.dumps(line) + chr(10))
write(k="hello", pid=os.getpid(), t=time.time())
samples = 40 if len(sys.argv) == 1 else 0
while True:
    time.sleep(0.1)
    write(k="window", t=time.time(), steps=5, training_s=0.1, step_us=[20000] * 5, samples=samples)
"""
"""Writes what the hooks would of a training of 20 ms a step, and leaves a child behind."""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(STEPS))
    return f"{shlex.quote(sys.executable)} train.py"


def left(folder: Path) -> list[psutil.Process]:
    """Processes that run in ``folder``, where the commands do."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def test_two_commands_at_once_each_between_runs_alone(fresh, script, tmp_path):
    ended = fresh(
        "contend", "--command", script, "--command", f"{script} --token hunter2", "--yes",
        "--gpu", "cpu", "--minutes", "0.2", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "started 3 times or more" in ended.err
    assert left(tmp_path) == []
    document = ended.document
    told = [point for point in document["points"] if point["metric"] == "co_run_slowdown"]
    assert {point["workload"] for point in told} == {"train.py", "train.py#2"}
    assert told[0]["params"]["mix"] == "train.py+train.py#2"
    for point in told:
        assert point["value"] == pytest.approx(1.0, abs=0.01), "what these tell is the same alone and together"
    rates = {point["workload"]: point for point in document["points"] if point["params"].get("phase") == "alone"}
    assert (rates["train.py"]["metric"], rates["train.py"]["unit"]) == ("train_throughput", "samples/s")
    assert rates["train.py"]["value"] == pytest.approx(400.0, rel=0.01)
    assert (rates["train.py#2"]["metric"], rates["train.py#2"]["unit"]) == ("train_step_rate", "steps/s")
    assert rates["train.py#2"]["value"] == pytest.approx(50.0, rel=0.01)
    assert "hunter2" not in ended.out + ended.err
    logs = Path(document["session_path"]).with_suffix(".output")
    assert {file.name for file in logs.iterdir()} >= {"1-1.log", "1-2.log", "2-1.log", "2-2.log"}
    assert fresh("sessions", "delete", document["session_id"]).code == 0
    assert not logs.exists()


def test_when_gputuner_is_killed_nothing_of_the_command_is_left(fresh, script, tmp_path):
    program = fresh.start(
        "contend", "--command", script, "--yes", "--gpu", "cpu", "--minutes", "2",
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    with program:
        ours = psutil.Process(program.pid)
        while not (commands := [each for each in left(tmp_path) if "sleep" in each.name()]):
            with pytest.raises(subprocess.TimeoutExpired):
                program.wait(0.2)
        tree = [*ours.children(recursive=True), *commands]
        program.send_signal(signal.SIGKILL)
    assert program.returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs(tree, timeout=LONG_S)
    assert alive == []
    assert left(tmp_path) == []
