"""``bench`` and its guard in the real program: killed workers, interrupts, readers that go away, and the exit codes."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.cli.stored import planted
from tests.e2e.program import Program, run, running, sessions

pytestmark = pytest.mark.e2e
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="signals and pipes of Linux")
NAME = "gemm-fp32"
BEFORE = "20260101-000000-bench-aaaa"
FASTER = 1000.0
"""Times the real rate: however busy this machine is, it is slower than that."""
SIMULATED = ["--simulate", "rtx-4090-48g"]
CPU = ["--gpu", "cpu"]


def before(data_dir: Path, where: list[str]) -> Path:
    """A data folder with a session that was measured there, and the same with faster figures."""
    code, out, err = run("bench", NAME, *where, "--json", "--data-dir", str(data_dir))
    assert code == 0, err
    planted(Path(json.loads(out)["session_path"]), FASTER, BEFORE)
    return data_dir


@pytest.fixture(scope="module")
def on_processor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return before(tmp_path_factory.mktemp("processor"), CPU)


@pytest.fixture(scope="module")
def on_simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return before(tmp_path_factory.mktemp("simulated"), SIMULATED)


def guarded(data_dir: Path, where: list[str], stored: Path) -> list[str]:
    """The command line of a guard's run against a faster session, on a copy of the folder that holds it."""
    shutil.copytree(stored, data_dir, dirs_exist_ok=True)
    return ["bench", NAME, *where, "--against", BEFORE, "--data-dir", str(data_dir)]


def kill_worker_twice(program: Program) -> None:
    """While it measures, and while the same is tried once more."""
    program.wait_for("[1")
    first = worker(program)
    first.kill()
    program.wait_for("[2")
    worker(program, but=first.pid).kill()


def worker(program: Program, but: int = 0) -> psutil.Process:
    """The worker; waits until there is one that is not ``but``."""
    while program.process.poll() is None:
        for child in program.children():
            with suppress(psutil.NoSuchProcess):
                if child.pid != but and "--worker" in child.cmdline():
                    return child
    raise AssertionError("the program ended without a worker")


@LINUX
@pytest.mark.torch
def test_ctrl_c_during_the_second_measurement_ends_with_130(tmp_path: Path, on_processor: Path):
    with running([*guarded(tmp_path, CPU, on_processor), "--json"]) as program:
        program.wait_for("measuring once more")
        program.wait_for("[1")
        program.interrupt()
        code, out, _err = program.end()
    document = json.loads(out)
    assert (code, document["outcome"], document["regression"]["verdict"]) == (130, "cancelled", "interrupted")
    assert document["regression"]["worse"] == []
    assert document["points"]


@LINUX
@pytest.mark.torch
def test_a_second_measurement_that_dies_is_no_pass(tmp_path: Path, on_processor: Path):
    with running(guarded(tmp_path, CPU, on_processor)) as program:
        program.wait_for("measuring once more")
        kill_worker_twice(program)
        code, out, err = program.end()
    assert code == 9, err
    assert out.splitlines()[-1] == f"Against {BEFORE}: 1 figure looks worse and could not be confirmed."


@LINUX
@pytest.mark.torch
def test_a_benchmark_that_dies_where_the_session_has_figures_is_no_pass(tmp_path: Path, on_processor: Path):
    with running([*guarded(tmp_path, CPU, on_processor), "--json"]) as program:
        kill_worker_twice(program)
        code, out, err = program.end()
    assert code == 9, err
    (gone,) = json.loads(out)["regression"]["gone"]
    assert gone == {"benchmark": NAME, "reason": "lost", "message": "the measuring process was lost"}


@LINUX
@pytest.mark.torch
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path):
    with running(["bench", NAME, *CPU, "--json", "--data-dir", str(tmp_path)]) as program:
        program.wait_for("[1")
        worker(program).kill()
        code, out, err = program.end()
    assert code == 0, err
    assert json.loads(out)["points"]
    assert "The measuring process was lost" in err


@LINUX
@pytest.mark.torch
def test_a_benchmark_whose_worker_is_killed_again_ends_with_7(tmp_path: Path):
    with running(["bench", NAME, *CPU, "--json", "--data-dir", str(tmp_path)]) as program:
        kill_worker_twice(program)
        code, out, _err = program.end()
    document = json.loads(out)
    assert (code, document["outcome"], document["error"]["exit_code"]) == (7, "failed", 7)
    assert document["error"]["message"] == f"No benchmark gave a figure ({NAME}: the measuring process was lost)."


@LINUX
@pytest.mark.parametrize("more", [[], ["--json"], ["--markdown"]])
def test_a_closed_stdout_leaves_the_guards_exit_code(tmp_path: Path, on_simulated: Path, more: list[str]):
    arguments = guarded(tmp_path, SIMULATED, on_simulated)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command(*arguments, *more), stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 9
    assert "Traceback" not in done.stderr


@LINUX
def test_a_reader_of_progress_that_goes_away_does_not_end_the_run(tmp_path: Path):
    arguments = ["bench", "launch", *SIMULATED, "--data-dir", str(tmp_path)]
    with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=600) == 0
    (path,) = sessions(tmp_path)
    _code, out, _err = run("sessions", "show", path.stem, "--json", "--data-dir", str(tmp_path))
    document = json.loads(out)
    assert document["outcome"] == "completed"
    assert document["points"]


def test_a_processor_is_none_of_the_simulated_cards(tmp_path: Path):
    where = ["--gpu", "cpu", *SIMULATED, "--data-dir", str(tmp_path)]
    for words in (["bench", "launch"], ["bench", "--list"], ["tune", "--dry-run"], ["devices"]):
        code, out, err = run(*words, *where)
        assert (code, out) == (2, ""), words
        assert err == "There is no processor among the simulated cards, so --gpu cpu names none; leave it out.\n"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gputuner", "--cli", *arguments]
