"""Rounds of a runner on cards that a test holds in its hand; supervisors and commands are real processes."""

import sys
import threading
from dataclasses import dataclass, field, replace

import pytest

from gputuner.analysis.placement import Limits
from gputuner.jobs import snapshot
from gputuner.jobs.lease import RunnerLease, runner
from gputuner.jobs.runner import Runner
from gputuner.jobs.seeing import Seen
from gputuner.language import jobs as words
from gputuner.model.errors import CardBusy, StoreError
from gputuner.model.jobs import JobState, NoteKind
from gputuner.model.samples import ProcessOnCard

SH = ("/bin/sh", "-c")
MIB, GIB = 2**20, 2**30


@dataclass
class Cards:
    """Cards whose memory the test sets; ``held`` MiB by process on each."""

    total: int = 24564 * MIB
    count: int = 1
    others: dict = field(default_factory=dict)
    unowned: int = 0
    extra: dict = field(default_factory=dict)

    def look(self):
        return tuple(self._seen(index) for index in range(self.count))

    def _seen(self, index):
        processes = tuple(
            ProcessOnCard(pid=pid, name="python", user=None, command=None, memory_bytes=amount, sm_utilisation=0.0)
            for pid, amount in self.others.items()
        )
        free = self.total - sum(self.others.values()) - self.unowned
        seen = Seen(
            uuid=f"GPU-{index}", title="card", index=index, total_bytes=self.total, free_bytes=free, processes=processes
        )
        return replace(seen, **self.extra)


class Clock:
    """Seconds that go on when told."""

    now = 0.0

    def __call__(self):
        return self.now


@dataclass
class Served:
    """A runner, its cards, its clock and what it told."""

    runner: Runner
    cards: Cards
    clock: Clock
    notes: list

    def until(self, queue, fact):
        """Rounds until a fact holds."""
        return queue.until(lambda: (self.runner.round(), fact())[1])

    def kinds(self):
        return [note.kind for note in self.notes]


@pytest.fixture
def serve(queue):
    made = []

    def make(cards=None, **more):
        notes, clock = [], Clock()
        cards = cards or Cards()
        child = [sys.executable, "-m", "gputuner"]
        served = Served(
            Runner(queue.data_dir, cards, child, tell=notes.append, clock=clock, **more), cards, clock, notes
        )
        made.append(served.runner)
        return served

    yield make
    for each in made:
        each.close()


def states(queue):
    return [job.state.value for job in queue.store.jobs()]


def test_c072_after_running_out_of_memory_the_next_waits_until_it_is_back(queue, serve):
    served = serve(patience_s=120.0)
    first = queue.add(*SH, "echo torch.OutOfMemoryError: CUDA out of memory.; exit 1", memory=4 * GIB)
    rest = [queue.add(*SH, "exit 0", memory=20000 * MIB), queue.add(*SH, "exit 0", memory=1 * GIB)]
    served.runner.round()
    served.cards.unowned = 9000 * MIB
    served.until(queue, lambda: queue.store.job(first).state is JobState.FAILED)
    for _each in range(5):
        served.clock.now += 4.0
        served.runner.round()
    assert states(queue) == ["failed", "waiting", "waiting"]
    assert queue.store.job(first).reason.code == "out_of_memory"
    assert "out of memory" in queue.store.job(first).tail
    assert queue.store.job(rest[0]).reason.code == "recovering"
    served.cards.unowned = 0
    served.until(queue, lambda: states(queue) == ["failed", "done", "done"])
    assert NoteKind.PAUSED not in served.kinds()


def test_c072_memory_that_does_not_come_back_pauses_with_the_reason(queue, serve):
    served = serve(patience_s=120.0)
    first = queue.add(*SH, "echo CUDA out of memory; exit 1", memory=4 * GIB)
    rest = [queue.add(*SH, "exit 0", memory=GIB) for _each in range(3)]
    served.runner.round()
    served.cards.unowned = 9000 * MIB
    served.until(queue, lambda: queue.store.job(first).state is JobState.FAILED)
    served.runner.round()
    served.clock.now = 121.0
    served.runner.round()
    assert states(queue) == ["failed", "waiting", "waiting", "waiting"]
    (paused,) = [note for note in served.notes if note.kind is NoteKind.PAUSED]
    assert paused.reason.params["owed_bytes"] == 9000 * MIB
    assert "8.79 GiB of job 1" in words.note(paused)
    (card,) = snapshot.cards(queue.store)
    assert card.paused.code == "memory_not_back"
    served.cards.unowned = 0
    served.until(queue, lambda: queue.store.job(rest[-1]).state is JobState.DONE)
    assert NoteKind.RESUMED in served.kinds()


def test_a_notebook_that_grew_meanwhile_is_no_debt(queue, serve):
    served = serve()
    first = queue.add(*SH, "exit 1", memory=GIB)
    second = queue.add(*SH, "exit 0", memory=GIB)
    served.runner.round()
    served.cards.others = {1: 9000 * MIB}
    served.until(queue, lambda: queue.store.job(first).state is JobState.FAILED)
    served.until(queue, lambda: queue.store.job(second).state is JobState.DONE)


def test_c071_the_holder_is_named_with_how_long_it_has_idled(queue, serve):
    served = serve(Cards(total=11200 * MIB, others={1: 11012 * MIB}))
    job = queue.add(*SH, "exit 0", memory=6000 * MIB)
    served.runner.round()
    served.clock.now = 7200.0
    queue.store.connection.execute("UPDATE jobs SET priority = 1")  # the line is read anew
    served.runner._line._told.clear()
    served.runner.round()
    told = words.reason(queue.store.job(job))
    assert "python (process 1) holds 10.8 GiB of 10.9 GiB, 0 % load for 2 h 00 min" in told
    assert "Needs 5.86 GiB" in told
    assert states(queue) == ["waiting"]


def test_a_job_past_its_reservation_is_told_and_left_alone(queue, serve, tmp_path):
    served = serve()
    number = queue.add(*SH, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done", memory=GIB)
    served.until(queue, lambda: queue.store.job(number).state is JobState.RUNNING)
    served.cards.others = {queue.store.job(number).pid: 3 * GIB}
    served.runner.round()
    served.runner.round()
    job = queue.store.job(number)
    assert served.kinds().count(NoteKind.GREW) == 1
    assert (job.state, job.peak_bytes, job.grown_bytes) == (JobState.RUNNING, 3 * GIB, 2 * GIB)
    assert "3 GiB" in words.reason(job)
    (tmp_path / "go").touch()
    served.until(queue, lambda: queue.store.job(number).state is JobState.DONE)


def test_a_failed_job_is_tried_again_so_often_and_alone_once_memory_ran_out(queue, serve):
    served = serve()
    number = queue.add(*SH, "echo CUDA out of memory; exit 1", memory=GIB, retries=2)
    served.until(
        queue, lambda: queue.store.job(number).state is JobState.FAILED and NoteKind.TRIED_AGAIN in served.kinds()
    )
    served.until(queue, lambda: queue.store.value("SELECT count(*) FROM starts") == 3)
    served.until(queue, lambda: served.runner.failed == [number])
    job = queue.store.job(number)
    assert (job.state, job.attempt, job.needs.alone) == (JobState.FAILED, 3, True)


def test_dependencies_and_until_empty(queue, serve):
    served = serve(limits=Limits(share=True))
    good = queue.add(*SH, "exit 0", memory=GIB)
    bad = queue.add(*SH, "exit 1", memory=GIB)
    after_good = queue.add(*SH, "exit 0", memory=GIB, after=(good,))
    after_bad = queue.add(*SH, "exit 0", memory=GIB, after=(bad,))
    further = queue.add(*SH, "exit 0", memory=GIB, after=(after_bad,))
    served.runner.serve(threading.Event(), until_empty=True)
    assert queue.store.job(after_good).state is JobState.DONE
    assert queue.store.job(after_good).started_unix_s >= queue.store.job(good).ended_unix_s
    for number in (after_bad, further):
        job = queue.store.job(number)
        assert (job.state, job.reason.code) == (JobState.WAITING, "after_failed")


def test_what_did_not_start_in_time_is_given_up(queue, serve):
    served = serve(Cards(others={1: 24000 * MIB}))
    number = queue.add(*SH, "exit 0", memory=8 * GIB, start_within_s=0.001)
    served.until(queue, lambda: queue.store.job(number).state is JobState.CANCELLED)
    assert queue.store.job(number).reason.code == "waited_too_long"


def test_a_runner_that_ends_leaves_its_jobs_and_the_next_adopts_them(queue, serve, tmp_path):
    first = serve()
    number = queue.add(*SH, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done", memory=20 * GIB)
    second = queue.add(*SH, "exit 0", memory=20 * GIB)
    first.until(queue, lambda: queue.store.job(number).state is JobState.RUNNING)
    first.runner.close()
    after = serve()
    after.runner.round()
    assert queue.store.job(second).state is JobState.WAITING, "its place is still held"
    (tmp_path / "go").touch()
    after.until(queue, lambda: states(queue) == ["done", "done"])
    assert queue.store.value("SELECT count(*) FROM starts") == 2


def test_only_one_runner_serves_a_queue(tmp_path):
    lease = RunnerLease(tmp_path)
    assert runner(tmp_path).pid > 0
    with pytest.raises(CardBusy, match="serves this queue"):
        RunnerLease(tmp_path)
    lease.release()
    assert runner(tmp_path) is None
    RunnerLease(tmp_path).release()


def test_memory_of_processes_that_nobody_can_name_is_still_not_given_twice(queue, serve, tmp_path):
    served = serve(Cards(extra={"processes": None}), limits=Limits(share=True))
    jobs = [queue.add(*SH, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done", memory=10 * GIB) for _each in range(3)]
    served.until(queue, lambda: queue.store.job(jobs[1]).state is JobState.RUNNING)
    served.runner.round()
    assert queue.store.job(jobs[2]).state is JobState.WAITING
    (tmp_path / "go").touch()
    served.until(queue, lambda: states(queue) == ["done"] * 3)


def test_a_full_disk_is_told_once_and_again_after_there_was_room(queue, serve):
    served = serve()
    room, full = served.cards.look, [True]

    def look():
        if full[0]:
            raise StoreError("store_full", "no room", path="queue.sqlite")
        return room()

    served.cards.look = look
    for _ in range(3):
        served.runner.round()
    assert [note.reason.code for note in served.notes] == ["disk_full"]
    assert str(queue.store.path) in words.note(served.notes[0])
    full[0] = False
    served.runner.round()
    full[0] = True
    served.runner.round()
    assert len(served.notes) == 2
