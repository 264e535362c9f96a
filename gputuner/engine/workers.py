"""The workers of one run: started when needed, reused until they fail, never left behind.

Their kinds: torch for rates, torch for memory (``cpu`` only), and our own kernels. A worker of kernels ends before a
trial of torch starts, which then has the card's memory to itself; one of torch, which is slow to start, stays idle
beside a trial of kernels: it has emptied its cache, its context keeps some hundred MB.

A worker is *starting* (imports torch) → *ready* → *gone*. Ending one climbs a ladder: message → grace → (a client of
MPS: quieted by its server) → terminate the group → grace → kill; the rung that worked is told as an event.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from gputuner.engine.commanded import CHILD_S
from gputuner.engine.commanded import GRACE_S as COMMAND_GRACE_S
from gputuner.engine.inbox import FromWorker, WorkerGone
from gputuner.engine.loop import Loop
from gputuner.engine.stage import Stage, Worker
from gputuner.model.cards import CardInfo
from gputuner.model.errors import DeviceError, NoCard, WorkloadError
from gputuner.model.events import Warned, WorkerExited
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.steps import Runtime, Variables

START_S = 180.0
"""Importing torch from a cold disk can take a minute."""
GRACE_S = 3.0
KILLS = 5
"""A process that survives so many kills hangs inside the driver; nothing more can be done to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a worker is started as; one serves trials of its own kind alone."""

    memory_probe: bool = False
    """It is asked for memory, not for a rate."""
    runtime: Runtime = "torch"
    environment: Variables = ()
    """Variables of its own."""
    peers: tuple[str, ...] = ()
    """UUIDs of further cards that it sees."""

    def beside(self, other: "Kind") -> bool:
        """Whether the two differ in no more than the cards they see."""
        return (self.memory_probe, self.runtime, self.environment) == (
            other.memory_probe,
            other.runtime,
            other.environment,
        )


PLAIN = Kind()


@dataclass(slots=True)
class _Slot:
    worker: Worker
    kind: Kind
    ready: bool = False
    opened: bool = False
    """It has said that its context is open."""
    pid: int | None = None
    told_to_end: bool = False

    @property
    def grace_s(self) -> float:
        """Time to end by itself: a command of the user's may write a checkpoint."""
        return COMMAND_GRACE_S + CHILD_S if self.kind.runtime == "command" else GRACE_S


class Workers:
    """All workers of a run on one card."""

    def __init__(
        self,
        stage: Stage,
        loop: Loop,
        card: CardInfo,
        memory_cap_bytes: int | None,
        tell: Callable[..., None],
    ) -> None:
        """``tell(EventClass, **fields)`` stores and passes on an event."""
        self._stage = stage
        self._loop = loop
        self._card = card
        self._memory_cap_bytes = memory_cap_bytes
        self._tell = tell
        self._slots: dict[str, _Slot] = {}
        self._started = 0
        self.ready_message: Mapping[str, object] | None = None
        self.pids: set[int] = set()
        """Process numbers of all workers so far, ended ones too: a process table may be older than their end."""
        self.variables: Variables = ()
        """What every worker's environment holds beside that of its kind."""
        self.quiet: Callable[[int], None] = lambda _: None
        """Called with the process number of a worker that does not end by itself, before it is killed."""

    def take(self, kinds: Sequence[Kind] = (PLAIN,), *, fresh: bool = False, exactly: bool = False) -> list[str]:
        """The ids of ready workers, one for each of ``kinds`` in their order; waits until they are.

        On ``cpu`` a worker that is asked for memory is of another kind than one that is asked for rates
        (``workloads.launch``); workers of other kinds end before one of torch starts. Those of torch stay beside those
        of our own kernels, which end before torch has its turn. One that sees ``peers`` (UUIDs of further cards) runs
        beside an idle one that sees its own card alone, and ends when another kind is asked for: it holds memory there.
        One with variables of its own (``environment``) is of another kind than one without.

        Args:
            kinds: of the workers that are wanted.
            fresh: processes that have not run anything yet.
            exactly: no further worker stays, of these kinds neither.

        Raises:
            DeviceError: the torch of this interpreter, or our own kernels, cannot use the card.
            WorkloadError: the worker does not start.
        """
        asked = [kind if self._card.is_cpu else replace(kind, memory_probe=False) for kind in kinds]
        wanted = Counter(asked)
        self._end_each(w for w, slot in self._slots.items() if slot.kind.peers and slot.kind not in wanted)
        if any(kind.runtime == "torch" for kind in wanted):
            self._end_each(w for w, slot in self._slots.items() if not any(slot.kind.beside(kind) for kind in wanted))
        free: dict[Kind, list[str]] = {}
        for kind, count in wanted.items():
            if fresh:
                self._end_each(self._of(kind)[:count])
            if exactly:
                self._end_each(self._of(kind)[count:])
            while len(self._of(kind)) < count:
                self.start_one(kind)
            free[kind] = self._of(kind)[:count]
        for worker_id in [worker_id for ids in free.values() for worker_id in ids]:
            self._await_ready(worker_id)
        return [free[kind].pop(0) for kind in asked]

    def open(self, worker_ids: Sequence[str]) -> None:
        """Let workers open their contexts, which they then keep without a trial; waits until they have.

        Raises:
            DeviceError: the card cannot be opened.
            WorkloadError: it does not come to an end.
        """
        waiting = [worker_id for worker_id in worker_ids if not self._slots[worker_id].opened]
        for worker_id in waiting:
            self._slots[worker_id].worker.send({"kind": "open"})
        for worker_id in waiting:
            self._await(worker_id, lambda slot: slot.opened)

    def pid(self, worker_id: str) -> int | None:
        """The process number of a worker that is ready."""
        slot = self._slots.get(worker_id)
        return None if slot is None else slot.pid

    def _of(self, kind: Kind) -> list[str]:
        return [worker_id for worker_id, slot in self._slots.items() if slot.kind == kind]

    def _end_each(self, worker_ids: Iterable[str]) -> None:
        for worker_id in list(worker_ids):
            if worker_id in self._slots:
                self.end(worker_id, "finished")

    def cap_bytes(self, jobs: int) -> int | None:
        """The memory that each of ``jobs`` trials at once may take; None: what there is."""
        return None if self._memory_cap_bytes is None else self._memory_cap_bytes // jobs

    def start_one(self, kind: Kind = PLAIN) -> None:
        """Start a worker without waiting for it."""
        self._started += 1
        worker_id = f"w{self._started}"
        variables = (*self.variables, *kind.environment)
        try:
            worker = self._stage.spawn(
                worker_id, self._card, self._memory_cap_bytes, kind.memory_probe, kind.runtime, kind.peers, variables
            )
        except OSError as err:
            raise NoCard("worker_start_failed", str(err), exit_code=-1, message=str(err)) from err
        self._slots[worker_id] = _Slot(worker, kind)

    def settle(self) -> None:
        """Wait until every started worker is ready, so that nothing imports while something is timed."""
        for worker_id in list(self._slots):
            self._await_ready(worker_id)

    def send(self, worker_id: str, message: Mapping[str, object]) -> None:
        """One request to one worker; one that has gone is told of by its ``WorkerGone``."""
        slot = self._slots.get(worker_id)
        if slot is not None:
            slot.worker.send(message)

    def gone(self, item: WorkerGone, why: str) -> None:
        """A worker ended by itself: forget it and tell."""
        slot = self._slots.pop(item.worker, None)
        if slot is None:
            return
        if slot.told_to_end and item.exit_code == 0 and why == "crashed":
            why = "finished"
        slot.worker.close()
        tail = "" if why == "finished" else item.stderr_tail[-2000:]
        self._tell(WorkerExited, worker=item.worker, why=why, exit_code=item.exit_code, stderr_tail=tail)

    def end(self, worker_id: str, why: str) -> None:
        """Climb the ladder until the worker is gone."""
        slot = self._slots[worker_id]
        self._tell_to_end(slot)
        grace_s = GRACE_S if self._loop.endangered else slot.grace_s
        if not self._loop.forced and self._await_gone(worker_id, grace_s, why):
            return
        if slot.pid is not None:
            self.quiet(slot.pid)
            if worker_id not in self._slots:  # it ended meanwhile
                return
        slot.worker.terminate()
        if not self._loop.forced and self._await_gone(worker_id, GRACE_S, "terminated"):
            return
        for _ in range(KILLS):
            slot.worker.kill()
            if self._await_gone(worker_id, GRACE_S, "killed"):
                return
        del self._slots[worker_id]
        self._tell(Warned, code="worker_unkillable", params={"worker": worker_id})

    def finish(self, worker_ids: Iterable[str]) -> None:
        """End those of these workers that are there, all at once."""
        there = [worker_id for worker_id in worker_ids if worker_id in self._slots]
        for worker_id in there:
            self._tell_to_end(self._slots[worker_id])
        self._end_each(there)

    def end_where(self, meant: Callable[[Kind], bool]) -> None:
        """End the workers of these kinds, all at once."""
        self.finish([worker_id for worker_id, slot in self._slots.items() if meant(slot.kind)])

    def end_all(self, why: str) -> None:
        """End every worker; nothing interrupts this."""
        self._loop.begin_ending()
        for slot in self._slots.values():
            self._tell_to_end(slot)
        for worker_id in list(self._slots):
            if worker_id in self._slots:
                self.end(worker_id, why)

    @staticmethod
    def _tell_to_end(slot: _Slot) -> None:
        slot.told_to_end = True
        slot.worker.send({"kind": "exit"})

    def kill_all(self) -> None:
        """Last resort when ending went wrong: no event, no worker."""
        for slot in self._slots.values():
            slot.worker.kill()

    def _await_gone(self, worker_id: str, grace_s: float, why: str) -> bool:
        until_ns = self._loop.now_ns() + int(grace_s * 1e9)
        while worker_id in self._slots:
            item = self._loop.next(until_ns)
            if item is None:
                return False
            if isinstance(item, WorkerGone):
                self.gone(item, why if item.worker == worker_id else "crashed")
            elif item.message.get("kind") == "stubborn":  # processes of a command that are about to be killed
                for pid in cast("Sequence[int]", item.message.get("pids", ())):
                    self.quiet(pid)
        return True

    def _await_ready(self, worker_id: str) -> None:
        self._await(worker_id, lambda slot: slot.ready)

    def _await(self, worker_id: str, reached: Callable[[_Slot], bool]) -> None:
        slot = self._slots[worker_id]
        until_ns = self._loop.now_ns() + int(START_S * 1e9)
        others: list[FromWorker | WorkerGone] = []
        while not reached(slot):
            item = self._loop.next(until_ns)
            if item is None:
                self.end(worker_id, "killed")
                raise WorkloadError("worker_start_timeout", "the worker did not start in time", seconds=START_S)
            if item.worker != worker_id and (isinstance(item, WorkerGone) or self._is_ready(item.worker)):
                others.append(item)
            elif isinstance(item, WorkerGone):
                self.gone(item, "crashed")
                last = item.stderr_tail.strip().rpartition("\n")[2][-300:]
                text = last or f"it ended with exit code {item.exit_code} and without a word"
                raise NoCard("worker_start_failed", text, exit_code=item.exit_code, message=text)
            else:
                self._on_start_message(item)
        self._loop.put_back(others)

    def _is_ready(self, worker_id: str) -> bool:
        slot = self._slots.get(worker_id)
        return slot is not None and slot.ready

    def _on_start_message(self, item: FromWorker) -> None:
        slot = self._slots.get(item.worker)
        kind = item.message.get("kind")
        if slot is None:
            return
        if kind == "ready":
            slot.ready = True
            pid = item.message.get("pid")
            if isinstance(pid, int):
                slot.pid = pid
                self.pids.add(pid)
            if slot.kind.runtime == "torch":
                self.ready_message = item.message
        elif kind == "opened":
            slot.opened = True
        elif kind == "unusable":
            if slot.kind.runtime == "kernels":  # the run goes on without it
                self.end(item.worker, "finished")
            raise unusable_error(item.message)


def unusable_error(message: Mapping[str, object]) -> DeviceError | WorkloadError:
    """The error for a worker that says it cannot work here."""
    code = str(message.get("code", "worker_start_failed"))
    params = message.get("params")
    fields: dict[str, object] = dict(params) if isinstance(params, Mapping) else {}  # pyright: ignore[reportUnknownArgumentType]
    text = str(message.get("message", ""))
    if code in ("torch_missing", "torch_too_old"):
        return NoCard(code, text, **fields)
    return DeviceError(code, text, **fields)


def torch_fingerprint(ready: Mapping[str, object]) -> TorchFingerprint:
    """What the ``ready`` message says of the measured torch."""
    arch = ready.get("arch_list")
    archs: list[object] = list(arch) if isinstance(arch, list) else []  # pyright: ignore[reportUnknownArgumentType]

    def text(key: str) -> str | None:
        value = ready.get(key)
        return None if value is None else str(value)

    return TorchFingerprint(
        python=text("python") or "",
        version=text("torch") or "",
        cuda=text("cuda"),
        cudnn=text("cudnn"),
        arch_list=tuple(str(a) for a in archs),
        interpreter=text("interpreter") or "",
    )
