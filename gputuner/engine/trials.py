"""One step of work: hand trials to workers, start them from a barrier, gather what they measured.

A trial is *sent* → *armed* (set up and warm, waiting) → *running* → *ended* (result, failure, or worker gone). Of jobs
at once each is a trial of its own worker, or (mode ``streams``) all are one trial of one worker.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gputuner.engine import orders, outcomes
from gputuner.engine.commanded import Commands
from gputuner.engine.inbox import FromWorker, WorkerGone
from gputuner.engine.loop import Loop
from gputuner.engine.mps_daemon import MpsFailed
from gputuner.engine.peer_watch import ConditionsOf
from gputuner.engine.peers import Peers
from gputuner.engine.progress import Progress, progress_of
from gputuner.engine.sharing import Sharing
from gputuner.engine.workers import PLAIN, Kind, Workers, unusable_error
from gputuner.model.errors import DeviceError, GputunerError, WorkloadError
from gputuner.model.steps import (
    Done,
    JobFailed,
    Lost,
    Mode,
    OutOfMemory,
    StepResult,
    Together,
    Trial,
    UserCodeFailed,
    Work,
)

SETUP_S = 120.0
"""Time for set-up and warm-up beyond the trial's own budget (building a model, autotuning, compiling)."""
OVERRUN = 2.0
EXIT_S = 10.0
"""A worker that has told of running out of memory ends by itself within this time."""
OOM_EXIT_CODE = 5
START_FAILED = "worker_start_failed"
HALF_MEASURE_S = 0.2
FAULT_S = 10.0
"""After a fatal fault under MPS all clients have told theirs within this time, or hang."""


@dataclass(slots=True)
class _Running:
    work: Work
    trial_id: str
    tells: bool = False
    """Its progress is the step's."""
    setup_s: float = 0.0
    """What it needs for set-up beyond a single job."""
    armed: bool = False
    sticky: bool = False
    """It left its context broken."""
    result: StepResult | None = None
    ended_ns: int | None = None
    """When the result came, if that was after the barrier had opened."""


class Trials:
    """Performs ``Work`` and ``Together`` steps."""

    def __init__(
        self,
        loop: Loop,
        workers: Workers,
        conditions: ConditionsOf,
        seed: int,
        spares: bool,
        peers: Peers | None = None,
        commands: Commands | None = None,
        *,
        sharing: Sharing,
    ) -> None:
        """``spares``: start a replacement early, while the next trial is set up (never on ``cpu``).

        ``peers`` admits and locks the further cards that a trial uses (None: there are none). ``commands``: the
        user's, for works that run one. ``sharing`` says in which mode several jobs share the card.
        """
        self._sharing = sharing
        self._mode: Mode = "processes"
        self._commands = commands
        self._loop = loop
        self._workers = workers
        self._conditions = conditions
        self._seed = seed
        self._spares = spares
        self._peers = peers or Peers(lambda: (), lambda _: None, None)
        self._count = 0
        self._gone = False
        """The barrier is open."""
        self._alone = True
        """No other job runs that a worker's start could disturb."""
        self._killed: set[tuple[str, str]] = set()
        """Works that a worker was killed at."""
        self.progressed: Callable[[Progress], None] = lambda _: None
        """Called when a trial goes on; of several at once the first alone tells."""

    def run(self, step: Work | Together) -> StepResult:
        """Run one trial, or several at once from a barrier; in processes where the mode asked for cannot be had."""
        exactly = isinstance(step, Together) or step.idle > 0
        if isinstance(step, Work):
            step = Together(label=step.label, works=(step,), idle=step.idle)
        self._mode = self._sharing.begin(step)
        try:
            return self._run(step, exactly)
        except MpsFailed as err:
            self._sharing.give_up(err)
        self._mode = "processes"
        return self._run(step, exactly)

    def _run(self, step: Together, exactly: bool) -> StepResult:
        works = step.works
        try:
            self._loop.safety.follow(self._peers.admit(works[0].peers))
        except GputunerError as err:
            return UserCodeFailed(message=str(err), traceback="", reason="peer_busy")
        try:
            ids = self._take(step, exactly)
        except (DeviceError, WorkloadError) as err:
            if self._mode == "mps":
                raise MpsFailed("cannot_connect", str(err)) from err
            if works[0].runtime != "torch":
                return outcomes.without_kernels(err)
            if err.code != START_FAILED or self._workers.ready_message is None:
                raise
            return Lost(message=str(err))  # others have started, so it was ended from outside
        self._peers.keep(works[0].peers)  # the worker that saw the others has ended by now
        self._gone, self._alone = False, len(works) == 1
        running = self._sent(step, ids)
        self._loop.safety.load_starts(self._loop.now_ns())
        try:
            self._perform(running, step.partly)
        except DeviceError as err:
            if self._mode == "mps":
                raise MpsFailed("cannot_connect", str(err)) from err
            raise
        finally:
            self._loop.safety.load_ends()
        self._workers.finish(worker for worker, r in running.items() if r.work.runtime == "command")
        return self._mps_fault(running) or self._judge(step, list(running.values()))

    def _perform(self, running: dict[str, _Running], partly: bool) -> None:
        """Set up, the barrier, and what is timed."""
        self._until(running, lambda r: r.armed, SETUP_S)
        failed = [r for r in running.values() if r.result]
        if not failed or (partly and len(failed) < len(running)):
            if self._mode == "mps" and not any(r.sticky for r in failed):
                ready = [worker for worker, r in running.items() if r.armed and r.work.runtime == "torch"]
                self._sharing.check({pid for worker in ready if (pid := self._workers.pid(worker)) is not None})
            self._go(running)
            self._until(running, lambda _: False, 0.0)
        else:
            self._abandon(running)
        if self._mode == "mps" and any(r.result is outcomes.HUNG for r in running.values()):
            self._sharing.check(set())

    def _mps_fault(self, running: dict[str, _Running]) -> Lost | None:
        """A fatal fault of one client is one of all: clients and server end, the next step gets new ones."""
        first = next((r.result for r in running.values() if r.sticky), None)
        if self._mode != "mps" or not isinstance(first, Lost):
            return None
        self._sharing.end()
        return replace(first, mps_fault=True)

    def _take(self, step: Together, exactly: bool) -> list[str]:
        """Workers for the works (one for all that are streams); idle ones beside them have opened their contexts."""
        kinds = [self._kind_of(step, job) for job in range(1 if self._mode == "streams" else len(step.works))]
        idle = [replace(kinds[0], runtime="torch", peers=())] * step.idle
        ids = self._workers.take([*kinds, *idle], fresh=any(work.fresh for work in step.works), exactly=exactly)
        self._workers.open(ids[len(kinds) :])
        return ids[: len(kinds)]

    def _kind_of(self, step: Together, job: int) -> Kind:
        kind = _kind(step.works[job])
        variables = self._sharing.variables(step, job, self._mode)
        return replace(kind, environment=(*kind.environment, *variables))

    def _sent(self, step: Together, ids: Sequence[str]) -> dict[str, _Running]:
        """Hand the trials over; the first one's progress is the step's."""
        if self._mode == "streams":
            cap_bytes = self._workers.cap_bytes(1)
            message = orders.of_streams(step, self._next_id(), self._seed, cap_bytes)
            longest = max(step.works, key=lambda work: work.budget_s)
            setup_s = SETUP_S * (len(step.works) - 1)
            running = {ids[0]: _Running(work=longest, trial_id=message["id"], setup_s=setup_s)}
            self._workers.send(ids[0], message)
        else:
            cap_bytes = self._workers.cap_bytes(len(step.works))
            shared = orders.shared(step, self._mode, ids)
            running = {}
            for worker, work in zip(ids, step.works, strict=True):
                message = orders.of_work(work, self._next_id(), self._seed, cap_bytes)
                self._workers.send(worker, {**message, **shared, **self._order(work)})
                running[worker] = _Running(work=work, trial_id=message["id"])
        running[ids[0]].tells = True
        return running

    def _next_id(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _order(self, work: Work) -> dict[str, object]:
        """Of a command what its trial needs beyond others."""
        if work.runtime != "command":
            return {}
        assert self._commands is not None, "an experiment that runs commands must have them"
        return {"command": self._commands.order(work)}

    def _go(self, running: dict[str, _Running]) -> None:
        self._workers.settle()
        idle_s = max(r.work.idle_before_s for r in running.values())
        if idle_s:
            self._loop.safety.load_ends()
            measure_s = max(r.work.measure_s for r in running.values())
            self.progressed(Progress(phase="idle", done_s=0.0, left_s=idle_s + measure_s))
            self._loop.pause(self._loop.now_ns() + int(idle_s * 1e9))
            self._loop.safety.load_starts(self._loop.now_ns())
        self._gone = True
        for worker, r in running.items():
            if r.result is None:
                self._workers.send(worker, {"kind": "go", "id": r.trial_id})

    def _until(self, running: dict[str, _Running], passed: Callable[[_Running], bool], setup_s: float) -> None:
        budget_s = max(r.work.budget_s for r in running.values())
        setup_s += max(r.setup_s for r in running.values()) if setup_s else 0.0
        until_ns = self._loop.now_ns() + int((setup_s + budget_s * OVERRUN + 5.0) * 1e9)
        while not all(r.result or passed(r) for r in running.values()):
            item = self._loop.next(until_ns)
            if item is None:
                self._give_up(running)
                return
            if item.worker in running:
                self._on_item(item, running[item.worker])
                self._stamp(running[item.worker])
                if self._mode == "mps" and running[item.worker].sticky:
                    until_ns = min(until_ns, self._loop.now_ns() + int(FAULT_S * 1e9))
            elif isinstance(item, WorkerGone):
                self._workers.gone(item, "crashed")

    def _stamp(self, r: _Running) -> None:
        if r.result and self._gone and r.ended_ns is None:
            r.ended_ns = self._loop.now_ns()

    def _on_item(self, item: FromWorker | WorkerGone, r: _Running) -> None:
        if isinstance(item, WorkerGone):
            self._workers.gone(item, "out_of_memory" if item.exit_code == OOM_EXIT_CODE else "crashed")
            r.result = r.result or outcomes.lost(item)
            return
        if item.message.get("kind") == "unusable":
            if r.work.runtime == "torch":
                raise unusable_error(item.message)
            self._await_exit(item.worker, "finished")
            r.result = outcomes.without_kernels(unusable_error(item.message))
            return
        if item.message.get("id") != r.trial_id:
            return
        match item.message.get("kind"):
            case "armed":
                r.armed = True
            case "result":
                r.result = outcomes.done(item.message)
            case "failed":
                r.sticky = item.message.get("error") == "sticky"
                r.result = self._failed(item, r.work)
            case "progress" if r.tells:
                self.progressed(progress_of(item.message))
            case _:
                pass

    def _failed(self, item: FromWorker, work: Work) -> StepResult:
        error = item.message.get("error")
        if error in ("out_of_memory", "sticky"):
            self._await_exit(item.worker, "out_of_memory" if error == "out_of_memory" else "crashed")
            if (
                self._alone
                and self._spares
                and self._mode == "processes"
                and replace(_kind(work), memory_probe=False) == PLAIN
            ):
                self._workers.start_one()
        return outcomes.failed(item.message)

    def _await_exit(self, worker: str, why: str) -> None:
        until_ns = self._loop.now_ns() + int(EXIT_S * 1e9)
        others: list[FromWorker | WorkerGone] = []
        while (item := self._loop.next(until_ns)) is not None:
            if item.worker != worker:
                others.append(item)
            elif isinstance(item, WorkerGone):
                self._workers.gone(item, why)
                break
        self._loop.put_back(others)
        if item is None:
            self._workers.end(worker, why)

    def _give_up(self, running: dict[str, _Running]) -> None:
        for worker, r in running.items():
            if r.result is None:
                self._workers.end(worker, "killed")
                r.result = outcomes.HUNG
                self._stamp(r)

    def _abandon(self, running: dict[str, _Running]) -> None:
        for worker, r in running.items():
            if r.result is None:
                self._workers.end(worker, "cancelled")

    def _judge(self, step: Together, running: Sequence[_Running]) -> StepResult:
        failures = [r.result for r in running if r.result and not isinstance(r.result, Done)]
        if failures and (not step.partly or len(failures) == len(running)):
            failure = failures[0]
            if isinstance(failure, Lost):
                return self._first_kill(failure, step.works) or self._size_limit(failure, step.works) or failure
            return failure
        trials = [
            orders.noted(trial, step, self._mode, job)
            for job, r in enumerate(running)
            if isinstance(r.result, Done)
            for trial in r.result.trials
        ]
        measured = self._measured(trials, len(running))
        return replace(measured, mode=self._mode, failed=_failures(running))

    def _measured(self, trials: Sequence[Trial], workers: int) -> Done:
        """The trials with what the cards did meanwhile."""
        t0_ns, t1_ns = max(t.t0_ns for t in trials), min(t.t1_ns for t in trials)
        if t1_ns <= t0_ns:
            t0_ns, t1_ns = min(t.t0_ns for t in trials), max(t.t1_ns for t in trials)
        samples = self._loop.samples
        windows = [(t0_ns, t1_ns), *((p.t0_ns, p.t1_ns) for p in trials[0].parts)]
        peers, *part_peers = self._loop.safety.peers_seen(self._conditions, windows, self._workers.pids, workers)
        whole, *parts = [self._conditions(samples, *window) for window in windows]
        return Done(
            trials=tuple(trials),
            conditions=whole,
            part_conditions=tuple(parts),
            peers=peers,
            part_peers=tuple(part_peers),
        )

    def _first_kill(self, lost: Lost, works: Sequence[Work]) -> Lost | None:
        """A kill from outside says nothing of a size until the same work was killed before."""
        key = (works[0].workload, repr(sorted(works[0].params.items())))
        if not lost.killed or key in self._killed:
            return None
        self._killed.add(key)
        return lost

    def _size_limit(self, lost: Lost, works: Sequence[Work]) -> OutOfMemory | None:
        """A crash that half the size survives in a fresh process is a size limit, not a broken card."""
        if len(works) != 1:
            return None
        work = works[0]
        size = work.params.get(work.size_param) if work.size_param else None
        if work.size_param is None or not isinstance(size, int) or size < 2:
            return None
        half = Work(
            label=work.label,
            workload=work.workload,
            params={**work.params, work.size_param: size // 2},
            measure_s=HALF_MEASURE_S,
            budget_s=work.budget_s,
            fresh=True,
            warmup_s=work.warmup_s,
            memory_probe=work.memory_probe,
            runtime=work.runtime,
            environment=work.environment,
        )
        if isinstance(self.run(half), Done):
            return OutOfMemory(message=lost.message, size_limit=True)
        return None


def _kind(work: Work) -> Kind:
    return Kind(memory_probe=work.memory_probe, runtime=work.runtime, environment=work.environment, peers=work.peers)


def _failures(running: Sequence[_Running]) -> tuple[JobFailed, ...]:
    """Those that failed, by their place."""
    return tuple(
        JobFailed(job=job, result=r.result, at_ns=r.ended_ns)
        for job, r in enumerate(running)
        if isinstance(r.result, OutOfMemory | UserCodeFailed | Lost)
    )
