"""A simulated worker that runs several jobs in one process: each as a worker would, behind one pipe.

All jobs are set up at once here (the real worker takes one after the other); the barrier, the failures and the result
are as the real one's (``bodies/together.py``).
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.model.samples import ProcessOnCard
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_build import Message

SATURATED = 0.8
"""As in the real worker."""


class _Job(SimulatedWorker):
    """One job: no process of its own, only its load and its part of the memory."""

    def __init__(self, card: SimulatedCard, job_id: str, seed: int, cap: int | None, shown: Callable[[], None]) -> None:
        super().__init__(card, seed, job_id, memory_cap_bytes=cap)
        self._started = self._open = True
        self._shown = shown
        self.reserved_bytes = 0
        self.host_s = 0.0
        self.result: Message | None = None

    def _show(self, reserved_bytes: int) -> None:
        self.reserved_bytes = reserved_bytes
        self._shown()

    def _share(self, message: Mapping[str, Any]) -> None:
        pass

    def _begin(self, message: Mapping[str, Any], asked_ns: int, t_ns: int) -> None:
        super()._begin(message, asked_ns, t_ns)
        self.host_s = self._trial.cost.load.host_s if self._trial is not None else 0.0

    def host_share(self) -> float:
        """Share of the time together in which the host queued this job's work."""
        times: list[float] = self.result["iteration_s"] if self.result else []
        return min(1.0, self.host_s / median(times)) if times else 0.0


class SimulatedStreams:
    """Speaks as ``worker`` does, and answers a trial of several jobs itself."""

    def __init__(self, worker: SimulatedWorker, worker_id: str, card: SimulatedCard, seed: int = 0) -> None:
        """``worker`` is one of ``card``."""
        self._worker = worker
        self._id = worker_id
        self._card = card
        self._seed = seed
        self._jobs: list[_Job] = []
        self._message: Mapping[str, Any] = {}
        self._armed: set[int] = set()
        self._own: list[tuple[int, Message]] = []

    @property
    def exit_code(self) -> int | None:
        """Set when the worker has ended."""
        return self._worker.exit_code

    def request(self, message: Mapping[str, Any]) -> None:
        """Take one request at the card's present time."""
        kind = message.get("kind")
        if kind == "trial" and message.get("jobs"):
            self._worker.request({"kind": "open"})
            self._begin(message)
        elif self._jobs and kind in ("go", "stop") and message.get("id") == self._message["id"]:
            for place, job in enumerate(self._jobs):
                job.request({"kind": kind, "id": self._message["jobs"][place]["id"]})
        else:
            if kind == "exit":
                self._drop()
            self._worker.request(message)

    def next_event_ns(self) -> int | None:
        """When something will happen next; None: not before it is asked."""
        if self._own:
            return min(t_ns for t_ns, _ in self._own)
        times = [each.next_event_ns() for each in (self._worker, *self._jobs)]
        return min((t_ns for t_ns in times if t_ns is not None), default=None)

    def step(self, until_ns: int) -> list[tuple[int, Message]]:
        """Live until ``until_ns``; the messages sent up to then, with their times."""
        told = [entry for entry in self._worker.step(until_ns) if entry[1]["kind"] != "opened" or not self._jobs]
        for place, job in enumerate(list(self._jobs)):
            for t_ns, message in job.step(until_ns):
                if self._jobs:
                    self._hear(place, job, t_ns, message)
        told += sorted((entry for entry in self._own if entry[0] <= until_ns), key=lambda entry: entry[0])
        self._own = [entry for entry in self._own if entry[0] > until_ns]
        return told

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._message, self._armed = message, set()
        asked: Sequence[Mapping[str, Any]] = message["jobs"]
        names = [f"{self._id}.{place}" for place in range(1, len(asked) + 1)]
        priorities = {name: int(job["priority"]) for name, job in zip(names, asked, strict=True)}
        self._card.share_by("streams", priorities=priorities)
        cap = message.get("memory_cap_bytes")
        self._jobs = [_Job(self._card, name, self._seed, cap, self._show) for name in names]
        for job, request in zip(self._jobs, asked, strict=True):
            job.request(request)

    def _show(self) -> None:
        """The process with what its jobs hold."""
        shown = self._card.process(self._id)
        if shown is not None and self._jobs:
            held = self._card.model.context_bytes + sum(job.reserved_bytes for job in self._jobs)
            self._card.set_process(self._id, ProcessOnCard(
                pid=shown.pid, name=shown.name, user=shown.user, command=shown.command, memory_bytes=held
            ))  # fmt: skip

    def _hear(self, place: int, job: _Job, t_ns: int, message: Message) -> None:
        match message["kind"]:
            case "armed":
                self._armed.add(place)
                if len(self._armed) == len(self._jobs):
                    self._own.append((t_ns, {"kind": "armed", "id": self._message["id"]}))
            case "progress" if place == 0:
                self._own.append((t_ns, {**message, "id": self._message["id"]}))
            case "failed":
                self._own.append((t_ns, {**message, "id": self._message["id"]}))
                self._drop()
            case "result":
                job.result = message
                if all(each.result is not None for each in self._jobs):
                    self._own.append((t_ns, self._result()))
                    self._drop()
            case _:
                pass

    def _result(self) -> Message:
        shares = [job.host_share() for job in self._jobs]
        whole = {"mode": "streams", "host_serialised": sum(shares) > SATURATED}
        trials: list[Message] = []
        for job, share, asked in zip(self._jobs, shares, self._message["jobs"], strict=True):
            told = {name: value for name, value in (job.result or {}).items() if name not in ("kind", "id")}
            notes = {**told["notes"], **whole, "priority": asked["priority"], "host_share": round(share, 4)}
            memory = {"allocated_peak_bytes": told["memory"]["allocated_peak_bytes"]}  # nothing else is a job's own
            trials.append({**told, "memory": memory, "notes": notes})
        return {"kind": "result", "id": self._message["id"], "trials": trials}

    def _drop(self) -> None:
        """The jobs are over: their loads end, and the card is shared as before."""
        jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.request({"kind": "exit"})
        if jobs:
            self._card.share_by("processes")
            self._worker.show()
