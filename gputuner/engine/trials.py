"""One step of work: hand trials to workers, start them from a barrier, gather what they measured.

A trial is *sent* → *armed* (set up and warm, waiting) → *running* → *ended* (result, failure, or worker gone).
"""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gputuner.engine.inbox import FromWorker, WorkerGone
from gputuner.engine.loop import Loop
from gputuner.engine.peer_watch import ConditionsOf
from gputuner.engine.peers import Peers
from gputuner.engine.progress import Progress, progress_of
from gputuner.engine.workers import Workers, unusable_error
from gputuner.model.codec import from_builtins
from gputuner.model.errors import DeviceError, GputunerError, StoreError, WorkloadError
from gputuner.model.steps import Done, Lost, OutOfMemory, Runtime, StepResult, Trial, UserCodeFailed, Work

SETUP_S = 120.0
"""Time for set-up and warm-up beyond the trial's own budget (building a model, autotuning, compiling)."""
OVERRUN = 2.0
EXIT_S = 10.0
"""A worker that has told of running out of memory ends by itself within this time."""
OOM_EXIT_CODE = 5
START_FAILED = "worker_start_failed"
HALF_MEASURE_S = 0.2
OUTSIDE = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
"""Signals that a process does not give itself."""
TAIL_CHARS = 500


@dataclass(slots=True)
class _Running:
    work: Work
    trial_id: str
    tells: bool = False
    """Its progress is the step's."""
    armed: bool = False
    result: StepResult | None = None


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
    ) -> None:
        """``spares``: start a replacement early, while the next trial is set up (never on ``cpu``).

        ``peers`` admits and locks the further cards that a trial uses (None: there are none).
        """
        self._loop = loop
        self._workers = workers
        self._conditions = conditions
        self._seed = seed
        self._spares = spares
        self._peers = peers or Peers(lambda: (), lambda _: None, None)
        self._count = 0
        self._killed: set[tuple[str, str]] = set()
        """Works that a worker was killed at."""
        self.progressed: Callable[[Progress], None] = lambda _: None
        """Called when a trial goes on; of several at once the first alone tells."""

    def run(self, works: Sequence[Work]) -> StepResult:
        """Run one trial, or several at once from a barrier; the first failure is the outcome of all."""
        runtime = works[0].runtime
        try:
            self._loop.safety.follow(self._peers.admit(works[0].peers))
        except GputunerError as err:
            return UserCodeFailed(message=str(err), traceback="", reason="peer_busy")
        try:
            ids = self._take(works, runtime)
        except (DeviceError, WorkloadError) as err:
            if runtime != "torch":
                return _without_kernels(err)
            if err.code != START_FAILED or self._workers.ready_message is None:
                raise
            return Lost(message=str(err))  # others have started, so it was ended from outside
        self._peers.keep(works[0].peers)  # the worker that saw the others has ended by now
        cap_bytes = self._workers.cap_bytes(len(works))
        running = {worker: self._send(worker, work, cap_bytes) for worker, work in zip(ids, works, strict=True)}
        running[ids[0]].tells = True
        self._loop.safety.load_starts(self._loop.now_ns())
        try:
            self._until(running, lambda r: r.armed, SETUP_S)
            if not any(r.result for r in running.values()):
                self._go(running)
                self._until(running, lambda _: False, 0.0)
            else:
                self._abandon(running)
        finally:
            self._loop.safety.load_ends()
        return self._judge(running, works)

    def _take(self, works: Sequence[Work], runtime: Runtime) -> list[str]:
        fresh, memory_probe = any(w.fresh for w in works), any(w.memory_probe for w in works)
        return self._workers.take(
            len(works),
            fresh=fresh,
            memory_probe=memory_probe,
            runtime=runtime,
            peers=works[0].peers,
            environment=works[0].environment,
        )

    def _send(self, worker: str, work: Work, cap_bytes: int | None) -> _Running:
        self._count += 1
        trial_id = f"t{self._count}"
        self._workers.send(
            worker,
            {
                "kind": "trial",
                "id": trial_id,
                "workload": work.workload,
                "params": dict(work.params),
                "measure_s": work.measure_s,
                "budget_s": work.budget_s,
                "warmup_s": work.warmup_s,
                "soak": work.soak,
                "barrier": True,
                "seed": self._seed,
                "memory_cap_bytes": cap_bytes,
            },
        )
        return _Running(work=work, trial_id=trial_id)

    def _go(self, running: dict[str, _Running]) -> None:
        self._workers.settle()
        idle_s = max(r.work.idle_before_s for r in running.values())
        if idle_s:
            self._loop.safety.load_ends()
            measure_s = max(r.work.measure_s for r in running.values())
            self.progressed(Progress(phase="idle", done_s=0.0, left_s=idle_s + measure_s))
            self._loop.pause(self._loop.now_ns() + int(idle_s * 1e9))
            self._loop.safety.load_starts(self._loop.now_ns())
        for worker, r in running.items():
            self._workers.send(worker, {"kind": "go", "id": r.trial_id})

    def _until(self, running: dict[str, _Running], passed: Callable[[_Running], bool], setup_s: float) -> None:
        budget_s = max(r.work.budget_s for r in running.values())
        until_ns = self._loop.now_ns() + int((setup_s + budget_s * OVERRUN + 5.0) * 1e9)
        while not all(r.result or passed(r) for r in running.values()):
            item = self._loop.next(until_ns)
            if item is None:
                self._give_up(running)
                return
            if item.worker in running:
                self._on_item(item, running[item.worker])
            elif isinstance(item, WorkerGone):
                self._workers.gone(item, "crashed")

    def _on_item(self, item: FromWorker | WorkerGone, r: _Running) -> None:
        if isinstance(item, WorkerGone):
            self._workers.gone(item, "out_of_memory" if item.exit_code == OOM_EXIT_CODE else "crashed")
            r.result = r.result or _lost(item)
            return
        if item.message.get("kind") == "unusable":
            if r.work.runtime == "torch":
                raise unusable_error(item.message)
            self._await_exit(item.worker, "finished")
            r.result = _without_kernels(unusable_error(item.message))
            return
        if item.message.get("id") != r.trial_id:
            return
        match item.message.get("kind"):
            case "armed":
                r.armed = True
            case "result":
                r.result = _done(item)
            case "failed":
                r.result = self._failed(item, r.work.runtime)
            case "progress" if r.tells:
                self.progressed(progress_of(item.message))
            case _:
                pass

    def _failed(self, item: FromWorker, runtime: Runtime) -> StepResult:
        message = item.message
        error, text = message.get("error"), str(message.get("message", ""))
        free = message.get("free_bytes")
        if error in ("out_of_memory", "sticky"):
            self._await_exit(item.worker, "out_of_memory" if error == "out_of_memory" else "crashed")
            if self._spares and runtime == "torch":
                self._workers.start_one()
        if error == "out_of_memory":
            needed = message.get("needed_bytes")
            return OutOfMemory(
                message=text,
                free_bytes=free if isinstance(free, int) else None,
                needed_bytes=needed if isinstance(needed, int) else None,
            )
        if error == "sticky":
            return Lost(message=text)
        return UserCodeFailed(message=text, traceback=str(message.get("traceback", "")), reason=str(error))

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
                r.result = Lost(message="no answer within the trial's time", hung=True)

    def _abandon(self, running: dict[str, _Running]) -> None:
        for worker, r in running.items():
            if r.result is None:
                self._workers.end(worker, "cancelled")

    def _judge(self, running: dict[str, _Running], works: Sequence[Work]) -> StepResult:
        results = [r.result for r in running.values() if r.result]
        failure = next((r for r in results if not isinstance(r, Done)), None)
        if isinstance(failure, Lost):
            return self._first_kill(failure, works) or self._size_limit(failure, works) or failure
        if failure is not None:
            return failure
        trials = tuple(t for r in results if isinstance(r, Done) for t in r.trials)
        t0_ns, t1_ns = max(t.t0_ns for t in trials), min(t.t1_ns for t in trials)
        if t1_ns <= t0_ns:
            t0_ns, t1_ns = min(t.t0_ns for t in trials), max(t.t1_ns for t in trials)
        samples = self._loop.samples
        whole = self._conditions(samples, t0_ns, t1_ns)
        parts = tuple(self._conditions(samples, p.t0_ns, p.t1_ns) for p in trials[0].parts)
        windows = [(t0_ns, t1_ns), *((p.t0_ns, p.t1_ns) for p in trials[0].parts)]
        peers, *part_peers = self._loop.safety.peers_seen(self._conditions, windows, self._workers.pids, len(works))
        return Done(
            trials=trials,
            conditions=whole,
            part_conditions=parts,
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
        if isinstance(self.run([half]), Done):
            return OutOfMemory(message=lost.message, size_limit=True)
        return None


def _without_kernels(err: DeviceError | WorkloadError) -> UserCodeFailed:
    """Our own kernels cannot run here: a trial's outcome, not the end of the run."""
    reason = "extra_missing" if err.code == "extra_missing" else "unsupported"
    return UserCodeFailed(message=str(err), traceback="", reason=reason)


def _lost(gone: WorkerGone) -> Lost:
    """What is known of a worker that ended by itself: its signal or exit code, and its last words."""
    try:
        how = signal.Signals(-gone.exit_code).name if gone.exit_code < 0 else f"exit code {gone.exit_code}"
    except ValueError:
        how = f"signal {-gone.exit_code}"
    tail = gone.stderr_tail[-TAIL_CHARS:].strip()
    return Lost(message=f"{how}: {tail}" if tail else how, killed=how in OUTSIDE)


def _done(item: FromWorker) -> StepResult:
    fields = {k: v for k, v in item.message.items() if k not in ("kind", "id")}
    try:
        return Done(trials=(from_builtins(fields, Trial),))
    except StoreError as err:
        return Lost(message=f"the worker's answer cannot be read: {err}")
