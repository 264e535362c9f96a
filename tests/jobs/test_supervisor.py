"""The supervisor of one job, as the process that it is: claim, gate, end, log, time limit, cancel."""

import os
import signal
import sys

import pytest

from gputuner.assembly.queue import open_queue
from gputuner.jobs.processes import start_mark
from gputuner.model.jobs import JobState
from tests.held_signals import STATUS, held, told

SH = ("/bin/sh", "-c")


@pytest.mark.parametrize(
    ("script", "state", "code", "reason"),
    [
        ("exit 0", JobState.DONE, 0, None),
        ("exit 7", JobState.FAILED, 7, "exit"),
        ("kill -KILL $$", JobState.FAILED, 137, "signal"),
        ("echo torch.OutOfMemoryError: CUDA out of memory.; exit 1", JobState.FAILED, 1, "out_of_memory"),
    ],
)
def test_how_a_job_ends_is_written_down(queue, script, state, code, reason):
    job = queue.run(queue.add(*SH, script))
    assert (job.state, job.exit_code, job.reason and job.reason.code) == (state, code, reason)
    assert job.attempt == 1
    assert job.started_unix_s <= job.ended_unix_s


def test_a_failed_job_keeps_the_last_lines_of_its_log(queue):
    job = queue.run(queue.add(*SH, "for i in 1 2 3; do echo line $i; done; echo bad >&2; exit 1"))
    assert job.tail == "line 1\nline 2\nline 3\nbad"
    assert queue.log(job.id) == "line 1\nline 2\nline 3\nbad\n"


def test_it_runs_in_its_folder_and_environment_on_its_cards_by_uuid(queue, tmp_path):
    script = "pwd; echo $CUDA_VISIBLE_DEVICES/$SECRET/$GPUTUNER_JOB_ID/$HOME"
    number = queue.add(
        *SH, script, environment={"SECRET": "hush", "PATH": "/bin:/usr/bin", "CUDA_VISIBLE_DEVICES": "9"}
    )
    queue.place(number, cards='["GPU-1", "GPU-2"]')
    queue.supervise(number).wait(timeout=600)
    assert queue.log(number) == f"{queue.data_dir}\nGPU-1,GPU-2/hush/{number}/\n"


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_it_holds_and_ignores_no_signal_whatever_the_runner_does(queue):
    number = queue.add(*STATUS)
    queue.place(number)
    with held():
        supervisor = queue.supervise(number)
    assert supervisor.wait(timeout=600) == 0
    assert told(queue.log(number)) == set()


def test_what_cannot_be_started_is_a_failure_with_its_reason(queue):
    job = queue.run(queue.add("no-such-program"))
    assert (job.state, job.exit_code) == (JobState.FAILED, 127)
    assert "no-such-program" in job.tail


def test_a_void_ticket_starts_nothing(queue, tmp_path):
    number = queue.add(*SH, f"touch {tmp_path}/ran")
    queue.place(number, ticket="new")
    assert queue.supervise(number, ticket="old").wait(timeout=600) == 0
    assert not (tmp_path / "ran").exists()
    assert queue.store.job(number).state is JobState.STARTING


def test_of_many_with_one_ticket_one_runs(queue, tmp_path):
    number = queue.add(*SH, f"echo ran >> {tmp_path}/ran")
    queue.place(number)
    for process in [queue.supervise(number) for _each in range(4)]:
        assert process.wait(timeout=600) == 0
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert queue.store.value("SELECT count(*) FROM starts") == 1


def test_a_cancelled_start_is_not_begun(queue, tmp_path):
    number = queue.add(*SH, f"touch {tmp_path}/ran")
    queue.place(number)
    assert queue.store.ask_cancel(number).state is JobState.CANCELLED
    queue.supervise(number).wait(timeout=600)
    assert not (tmp_path / "ran").exists()


def test_the_time_limit_ends_it(queue):
    job = queue.run(queue.add("sleep", "1000", timeout_s=0.1))
    assert (job.state, job.exit_code) == (JobState.TIMED_OUT, 143)


def test_cancel_ends_its_whole_group_and_lets_it_tidy_up(queue, tmp_path):
    script = f"trap 'echo tidied > {tmp_path}/tidied; exit 0' TERM; sleep 1000 & echo $! > {tmp_path}/child; wait"
    number = queue.add(*SH, script)
    queue.place(number)
    supervisor = queue.supervise(number)
    child = int(queue.until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip()))
    open_queue(queue.data_dir).cancel(number)
    supervisor.wait(timeout=600)
    assert queue.store.job(number).state is JobState.CANCELLED
    assert (tmp_path / "tidied").exists()
    assert start_mark(child) is None


def test_told_to_stop_by_the_system_it_is_interrupted_not_cancelled(queue, tmp_path):
    number = queue.add(*SH, f"touch {tmp_path}/ran; exec sleep 1000")
    queue.place(number)
    supervisor = queue.supervise(number)
    queue.until((tmp_path / "ran").exists)
    supervisor.send_signal(signal.SIGTERM)
    supervisor.wait(timeout=600)
    job = queue.store.job(number)
    assert (job.state, job.reason.code) == (JobState.INTERRUPTED, "stopped_outside")


def test_a_closing_terminal_ends_neither_the_job_nor_its_supervisor(queue, tmp_path):
    number = queue.add(*SH, f"touch {tmp_path}/ran; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
    queue.place(number)
    supervisor = queue.supervise(number)
    queue.until((tmp_path / "ran").exists)
    for hint in (signal.SIGHUP, signal.SIGINT):
        supervisor.send_signal(hint)
    (tmp_path / "go").touch()
    supervisor.wait(timeout=600)
    assert queue.store.job(number).state is JobState.DONE


def test_it_leads_a_session_of_its_own_and_the_job_a_group_of_its_own(queue, tmp_path):
    number = queue.add(*SH, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
    queue.place(number)
    supervisor = queue.supervise(number)
    job = queue.until(lambda: queue.store.job(number).state is JobState.RUNNING and queue.store.job(number))
    assert os.getsid(job.pid) == supervisor.pid
    assert os.getpgid(job.pid) == job.pid
    (tmp_path / "go").touch()
    supervisor.wait(timeout=600)


@pytest.fixture
def detached(tmp_path):
    """A job's script that leaves a process in a session of its own, and how to find it."""
    inner = f"echo $$ > {tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/child; while :; do sleep 0.05; done"

    def child():
        path = tmp_path / "child"
        return int(path.read_text()) if path.exists() else None

    yield f'setsid sh -c "{inner.replace("$", chr(92) + "$")}" & ', child
    if child() is not None and start_mark(child()) is not None:
        os.kill(child(), signal.SIGKILL)


def test_a_child_that_left_its_session_does_not_outlive_a_cancelled_job(queue, detached):
    script, child = detached
    number = queue.add(*SH, script + "wait")
    ticket = f"detached-{os.getpid()}"
    queue.place(number, ticket=ticket)
    supervisor = queue.supervise(number, ticket=ticket)
    pid = queue.until(child)
    open_queue(queue.data_dir).cancel(number)
    supervisor.wait(timeout=600)
    assert queue.store.job(number).state is JobState.CANCELLED
    assert start_mark(pid) is None


def test_without_a_supervisor_cancel_ends_all_of_it_and_says_what_is_missing(queue, detached):
    script, child = detached
    number = queue.add(*SH, script + "wait")
    ticket = f"orphan-{os.getpid()}"
    queue.place(number, ticket=ticket)
    supervisor = queue.supervise(number, ticket=ticket)
    pid = queue.until(child)
    supervisor.kill()
    supervisor.wait()
    ours = open_queue(queue.data_dir)
    assert ours.read().jobs[0].reason.code == "unsupervised"
    command = queue.store.job(number).pid
    assert ours.cancel(number).reason.code in {"unsupervised_ends", "unsupervised_gone"}
    queue.until(lambda: start_mark(pid) is None and start_mark(command) is None)
    assert ours.read().jobs[0].reason.code == "unsupervised_gone"


def test_what_a_job_that_ended_by_itself_has_left_is_told(queue, detached, tmp_path):
    script, child = detached
    number = queue.add(*SH, f"{script} while [ ! -e {tmp_path}/child ]; do sleep 0.01; done")
    ticket = f"left-{os.getpid()}"
    queue.place(number, ticket=ticket)
    assert queue.supervise(number, ticket=ticket).wait(timeout=600) == 0
    view = open_queue(queue.data_dir).read(left=True)
    assert view.jobs[0].state is JobState.DONE
    assert child() in view.left[number]
