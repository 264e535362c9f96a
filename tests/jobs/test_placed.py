"""What a runner finds of jobs that another one placed: adopted, lost, interrupted, taken back."""

import signal
import time

from gputuner.jobs.placed import pause_s, read_placed, rerun_interrupted, settle, try_again
from gputuner.jobs.processes import boot_id, lives, start_mark
from gputuner.jobs.waiting import WaitingLine
from gputuner.model.jobs import JobState, OnReboot

SH = ("/bin/sh", "-c")
SLEEP = (*SH, "exec sleep 1000")


def look(queue, *, ours=False, supervisor_ended=False):
    for placed in read_placed(queue.store):
        settle(queue.store, placed, ours=ours, supervisor_ended=supervisor_ended)


def running(queue, **more):
    """A job whose command is past the gate at which its supervisor holds it, and its supervisor."""
    ran = queue.data_dir / "ran"
    number = queue.add(*SH, f"touch {ran}; exec sleep 1000", **more)
    queue.place(number)
    supervisor = queue.supervise(number)
    queue.until(ran.exists)
    return number, supervisor


def ended(supervisor, queue, number):
    queue.store.connection.execute("UPDATE jobs SET cancel_asked = 1.0 WHERE id = ?", (number,))
    supervisor.send_signal(signal.SIGTERM)
    supervisor.wait(timeout=600)


def test_a_job_that_runs_is_adopted(queue):
    number, supervisor = running(queue)
    look(queue)
    assert queue.store.job(number).state is JobState.RUNNING
    ended(supervisor, queue, number)


def test_a_start_that_nobody_claimed_waits_again_and_its_ticket_is_void(queue, tmp_path):
    number = queue.add(*SH, f"touch {tmp_path}/ran")
    queue.place(number, ticket="late")
    look(queue)
    assert queue.store.job(number).state is JobState.WAITING
    queue.supervise(number, ticket="late").wait(timeout=600)
    assert not (tmp_path / "ran").exists()


def test_our_own_start_is_given_time(queue):
    number = queue.add(*SLEEP)
    queue.place(number)
    look(queue, ours=True)
    assert queue.store.job(number).state is JobState.STARTING


def test_a_supervisor_that_never_comes_up_is_not_tried_for_ever(queue):
    number = queue.add(*SLEEP, retries=5)
    for _each in range(3):
        queue.place(number)
        look(queue, ours=True, supervisor_ended=True)
    job = queue.store.job(number)
    assert (job.state, job.reason.code) == (JobState.FAILED, "supervisor_failed")


def test_without_its_supervisor_the_command_goes_on_and_its_end_is_not_made_up(queue):
    number, supervisor = running(queue, retries=3)
    job = queue.store.job(number)
    supervisor.kill()
    supervisor.wait()
    look(queue)
    assert queue.store.job(number).state is JobState.RUNNING
    mark = start_mark(job.pid)
    queue.store.ask_cancel(number)
    queue.until(lambda: (look(queue), not lives(job.pid, mark, boot_id()))[1])
    look(queue)
    assert queue.store.job(number).state is JobState.CANCELLED


def test_when_both_are_gone_it_failed_and_is_not_run_again(queue):
    number, supervisor = running(queue, retries=3)
    pid = queue.store.job(number).pid
    supervisor.kill()
    supervisor.wait()
    import os

    os.killpg(pid, signal.SIGKILL)
    queue.until(lambda: (look(queue), queue.store.job(number).state is not JobState.RUNNING)[1])
    job = queue.store.job(number)
    assert (job.state, job.reason.code) == (JobState.FAILED, "supervisor_lost")
    assert not queue.store.value("SELECT count(*) FROM jobs WHERE state = 'failed' AND failures <= retries")


def test_a_number_that_came_back_is_another_process(queue):
    number, supervisor = running(queue)
    job = queue.store.job(number)
    ended_mark = start_mark(job.pid)
    assert lives(job.pid, ended_mark, boot_id())
    assert not lives(job.pid, f"{ended_mark}0", boot_id())
    assert not lives(job.pid, ended_mark, "another boot")
    ended(supervisor, queue, number)
    assert not lives(job.pid, ended_mark, boot_id())


def reboot(queue, policy):
    number = queue.add(*SLEEP, on_reboot=policy)
    queue.store.connection.execute(
        "UPDATE jobs SET state = 'running', ticket = 't', pid = 1, pid_start = ?, command_pid = 1, command_start = ?, "
        "boot = 'the boot before', attempt = 1 WHERE id = ?",
        (start_mark(1), start_mark(1), number),
    )
    look(queue)
    return number


def test_after_a_reboot_a_running_job_is_interrupted(queue):
    number = reboot(queue, OnReboot.STOP)
    assert rerun_interrupted(queue.store) == ()
    job = queue.store.job(number)
    assert (job.state, job.reason.code) == (JobState.INTERRUPTED, "rebooted")


def test_after_a_reboot_it_reruns_only_if_its_owner_wants_that(queue):
    number = reboot(queue, OnReboot.RERUN)
    assert queue.store.job(number).state is JobState.INTERRUPTED
    assert rerun_interrupted(queue.store) == (number,)
    assert queue.store.job(number).state is JobState.WAITING
    assert rerun_interrupted(queue.store) == ()


def test_what_fails_soon_is_tried_again_after_growing_pauses(queue):
    number = queue.add("no-such-program", retries=9)
    pauses = []
    for failures in (1, 2, 3):
        now = time.time()
        queue.store.connection.execute(
            "UPDATE jobs SET state = 'failed', failures = ?, started = ?, ended = ? WHERE id = ?",
            (failures, now, now, number),
        )
        assert try_again(queue.store, number)
        pauses.append(queue.store.job(number).waiting_since_unix_s - now)
        line = WaitingLine(queue.store)
        assert line.line().candidates == ()
        line.tell(())
        assert queue.store.job(number).reason.code == "failed_soon"
    assert pauses[0] < pauses[1] < pauses[2]
    assert [round(pause_s(each)) for each in (1, 2, 4, 99)] == [1, 2, 8, 300]
    queue.store.connection.execute("UPDATE jobs SET waiting_since = ? WHERE id = ?", (time.time() - 1.0, number))
    assert len(WaitingLine(queue.store).line().candidates) == 1


def test_what_ran_long_is_tried_again_at_once(queue):
    number = queue.add("train", retries=1)
    queue.store.connection.execute(
        "UPDATE jobs SET state = 'failed', failures = 1, started = 0, ended = 3600 WHERE id = ?", (number,)
    )
    assert try_again(queue.store, number)
    assert queue.store.job(number).waiting_since_unix_s <= time.time()
