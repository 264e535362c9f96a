"""A command of the user's as a job: steady, measured, ended; and nothing of it left, whoever is killed."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from gputuner.engine.commanded import told_commands
from gputuner.engine.commanded_log import KEPT_BYTES, MOST_BYTES, keep_small, ran_out, tail
from gputuner.engine.commanded_tree import Mark, marked
from gputuner.workloads.observed.environment import FOLDER
from tests.engine.commanded_rig import DETACHED, LONG_S, STEPS, Job, python
from tests.held_signals import STATUS, held, told


def test_a_training_is_measured_over_whole_steps_of_the_window(tmp_path):
    job = Job(tmp_path, *python(STEPS + "    train(10000)"))
    job.until("armed")
    job.process.send({"kind": "go", "id": "t1"})
    result = job.until("result")
    job.end()
    assert len(result["iteration_s"]) >= 3
    assert result["iteration_s"] == pytest.approx([0.02] * len(result["iteration_s"]))
    assert result["t1_ns"] > result["t0_ns"]
    assert result["work"] == {"samples": 8}
    assert result["memory"] == {"rss_peak_bytes": 7}
    assert result["notes"]["steps_seen"] is True


@pytest.mark.torch
def test_a_training_with_torch_is_measured_by_its_hooks(tmp_path):
    code = """
        import time
        import torch
        torch.set_num_threads(1)
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.utils.data.DataLoader(torch.zeros(10**6, 8), batch_size=16)
        for batch in data:
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.03)
    """
    job = Job(tmp_path, *python(code))
    job.until("armed")
    job.process.send({"kind": "go", "id": "t1"})
    result = job.until("result")
    job.end()
    assert len(result["iteration_s"]) >= 3
    assert min(result["iteration_s"]) >= 0.03
    assert sum(result["iteration_s"]) == pytest.approx((result["t1_ns"] - result["t0_ns"]) / 1e9, rel=0.02)
    assert result["work"] == {"samples": pytest.approx(16.0)}
    assert result["notes"]["optimizer"] == "SGD"
    assert 0.0 < result["notes"]["host_busy"] <= 1.0


def test_a_command_without_steps_runs_beside_others_with_a_rate_that_is_not_known(tmp_path):
    job = Job(tmp_path, *python("import time\nprint('no torch here', flush=True)\ntime.sleep(600)"), patience_s=1.0)
    job.until("armed")
    job.process.send({"kind": "go", "id": "t1"})
    result = job.until("result")
    job.end()
    assert result["iteration_s"] == []
    assert result["t1_ns"] - result["t0_ns"] >= 1e9
    assert result["notes"]["steps_seen"] is False
    assert (tmp_path / "logs" / "1-1.log").read_text() == "no torch here\n"


@pytest.mark.parametrize(
    ("code", "error", "message", "last"),
    [
        ("raise RuntimeError('its own fault')", "command_failed", "exit code 1", "RuntimeError: its own fault"),
        ("print('all done')", "command_ended", "exit code 0", "all done"),
        ("import os; print('bye', flush=True); os.kill(os.getpid(), 9)", "command_failed", "SIGKILL", "bye"),
    ],
)
def test_one_that_ends_by_itself_is_told_with_its_last_words(tmp_path, code, error, message, last):
    job = Job(tmp_path, *python(code))
    failed = job.until("failed")
    assert (failed["error"], failed["message"]) == (error, message)
    assert failed["traceback"].splitlines()[-1] == last
    job.end()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_it_holds_and_ignores_no_signal_whatever_we_do(tmp_path):
    with held():
        job = Job(tmp_path, *STATUS)
    assert told(job.until("failed")["traceback"]) == set()
    job.end()


def test_one_that_runs_out_of_memory_is_told_as_such(tmp_path):
    job = Job(
        tmp_path, *python("raise MemoryError('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9 GiB')")
    )
    assert job.until("failed")["error"] == "out_of_memory"
    assert job.until("gone") == {"exit_code": 5}
    assert job.all_gone()


def test_one_that_is_not_found_is_told(tmp_path):
    job = Job(tmp_path, "no-such-program-anywhere")
    failed = job.until("failed")
    assert failed["error"] == "command_not_started"
    assert "no-such-program-anywhere" in failed["message"]
    job.end()


def test_at_the_end_what_hears_no_sigterm_and_what_detached_itself_is_gone_too(tmp_path):
    job = Job(tmp_path, *python(DETACHED + STEPS + "    train(10000)"), grace_s=0.5)
    job.until("armed")
    assert len(marked(job.mark)) == 2
    job.end()


def test_it_may_write_a_checkpoint_on_sigterm(tmp_path):
    code = """
        import pathlib, signal, sys, time
        def save(*_):
            pathlib.Path("checkpoint").write_text("saved")
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        time.sleep(600)
    """
    job = Job(tmp_path, *python(code), patience_s=1.0, grace_s=60.0)
    job.until("armed")
    job.end()
    assert (tmp_path / "checkpoint").read_text() == "saved"


def test_a_second_wish_to_end_does_not_wait_for_its_checkpoint(tmp_path):
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    job = Job(tmp_path, *python(code), patience_s=1.0, grace_s=600.0)
    job.until("armed")
    job.process.terminate()
    job.until("gone")
    assert job.all_gone()


def test_when_our_child_is_killed_nothing_of_the_command_is_left(tmp_path):
    job = Job(tmp_path, *python(DETACHED + STEPS + "    train(10000)"))
    job.until("armed")
    job.process.kill()
    job.until("gone")
    assert job.all_gone()


def test_when_gputuner_is_killed_nothing_of_the_command_is_left(tmp_path):
    """The engine's process dies by SIGKILL: its child sees the end of stdin."""
    script = f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from tests.engine.commanded_rig import DETACHED, STEPS, Job, python
        job = Job(Path({str(tmp_path)!r}), *python(DETACHED + STEPS + "    train(10000)"), grace_s=0.5)
        job.until("armed")
        print(job.mark.value, job.process._process.pid, flush=True)
        sys.stdin.read()
    """
    driver = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    with driver.stdin, driver.stdout:
        records, child_pid = driver.stdout.readline().split()
        mark = Mark(name=FOLDER, value=records)
        child, left = psutil.Process(int(child_pid)), marked(mark)
        assert len(left) == 2
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    _, alive = psutil.wait_procs([child, *left], timeout=LONG_S)
    assert alive == []
    assert marked(mark) == []


def test_a_session_tells_commands_without_folders_and_secrets():
    spec = {"jobs": ["edsr"], "commands": [["python", "/home/ann/thesis/train.py", "--token", "hunter2"]]}
    assert told_commands(spec)["commands"] == [["python", "train.py", "--token", "***"]]
    assert told_commands({"jobs": ["edsr"]}) == {"jobs": ["edsr"]}


def test_the_last_words_are_lines_without_control_signs(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"\n".join(b"line %d" % n for n in range(100)) + b"\n\n10%\r20%\r\x1b[31mred\x1b[0m \xff\n")
    assert tail(log).splitlines()[-3:] == ["10%", "20%", "[31mred[0m \ufffd"]
    assert len(tail(log).splitlines()) == 20
    assert tail(tmp_path / "none") == ""


def test_a_log_that_grows_long_keeps_its_end(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(MOST_BYTES)
        file.seek(0, 2)
        file.write(b"the end")
    keep_small(log)
    assert log.stat().st_size == KEPT_BYTES
    assert log.read_bytes().endswith(b"\0the end")
    keep_small(log)
    assert log.stat().st_size == KEPT_BYTES


def test_words_of_memory_are_known():
    assert ran_out("Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert not ran_out("RuntimeError: shapes cannot be multiplied")
