"""What stands in no row of the queue: jobs whose supervisor was killed, and processes that ended jobs have left."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gputuner.jobs.marked import tickets
from gputuner.jobs.placed import Placed, end_unsupervised, read_placed
from gputuner.jobs.processes import boot_id, lives
from gputuner.jobs.store import JobStore
from gputuner.model.jobs import PLACED, Job, JobState, Reason


def with_standing(store: JobStore, jobs: Sequence[Job], *, served: bool) -> tuple[Job, ...]:
    """Placed jobs with the reason why nothing will become of them by themselves."""
    placed = {each.job: each for each in read_placed(store)}
    return tuple(_standing(job, placed.get(job.id), served=served) for job in jobs)


def ended_now(store: JobStore, job: Job) -> Job:
    """A running job that is to end, as it stands; one without a supervisor gets its SIGTERM here."""
    placed = next((each for each in read_placed(store) if each.job == job.id), None)
    if placed is not None and not _supervised(placed) and placed.boot == boot_id():
        end_unsupervised(placed)
    return _standing(job, placed, served=True)


def left_behind(store: JobStore) -> Mapping[int, tuple[int, ...]]:
    """Processes that live on although the start they belong to has ended, by job."""
    found: dict[int, tuple[int, ...]] = {}
    for ticket, pids in tickets().items():
        row = store.connection.execute(
            "SELECT jobs.id, jobs.state, jobs.ticket FROM starts JOIN jobs ON jobs.id = starts.job "
            "WHERE starts.ticket = ?",
            (ticket,),
        ).fetchone()
        if row is not None and (row[2] != ticket or JobState(row[1]) not in PLACED):
            found[row[0]] = (*found.get(row[0], ()), *sorted(pids))
    return found


def _supervised(placed: Placed) -> bool:
    return lives(placed.pid, placed.pid_start, placed.boot)


def _standing(job: Job, placed: Placed | None, *, served: bool) -> Job:
    if placed is None:
        return job
    if placed.state is JobState.STARTING:
        return job if served else replace(job, reason=Reason(code="no_runner"))
    if placed.boot != boot_id():
        return replace(job, reason=Reason(code="rebooted"))
    if _supervised(placed):
        return job
    if not lives(placed.command_pid, placed.command_start, placed.boot):
        return replace(job, reason=Reason(code="unsupervised_gone"))
    asked = placed.cancel_asked_unix_s is not None
    return replace(job, reason=Reason(code="unsupervised_ends" if asked else "unsupervised"))
