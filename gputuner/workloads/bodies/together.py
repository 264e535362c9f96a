# pyright: standard
"""Several jobs in one process, each on a stream of its own with its priority, from one barrier.

Each job is a trial in a thread of its own: set up and warmed one after the other, then all wait, then all are timed at
once, by events on their own streams (on ``cpu``: threads that share the cores). Autograd runs in the job's own thread:
with its usual one thread per card all jobs would queue behind each other.

Threads of one Python take turns at its lock. How much of the time each job needs it is measured (``host_share``: the
processor time of its thread in an iteration, over what an iteration took beside the others: what it slept, paused or
waited for the lock or the card is no work of the host; a wait that spins is counted). Where that leaves no slack the
jobs were slowed by the host and not by the card, and the result says so (``host_serialised``). A captured step costs
the host one launch.

As only one job at a time is set up and warmed, what the card's allocator held at most meanwhile, above what the jobs
before it hold, is that job's own memory. Not yet run on a card.
"""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from gputuner.workloads.bodies.body import Body, Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.together_device import JobDevice, lane, peak_from_here, settings
from gputuner.workloads.bodies.trial import Control, Request, StoppedError, Trial

SATURATED = 0.8
"""Share of the time in which some thread queues work, from which on the host counts as the one they wait for."""

MakeBody = Callable[[str, Device, "dict[str, Any]", int], Any]


class HostTimed:
    """A body that counts its thread's processor time in iterations; all else is the body's own."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._spent_s = 0.0
        self._count = 0

    @property
    def queued_s(self) -> float | None:
        """Processor time of an iteration in the mean, from ``mark`` on (before it from the first on), seconds.

        A mean, since some systems count a thread's time in steps of 16 ms.
        """
        return self._spent_s / self._count if self._count else None

    def mark(self) -> None:
        """The warm-up is over: what libraries did once does not count."""
        self._spent_s, self._count = 0.0, 0
        self._body.mark()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def iterate(self) -> None:
        """Queue one iteration."""
        start = time.thread_time()
        self._body.iterate()
        self._spent_s += time.thread_time() - start
        self._count += 1


class Job(threading.Thread):
    """One job; *setting up* → *armed* → *running* → *ended* with a result or an error."""

    def __init__(self, request: Request, priority: int, run: "Run") -> None:
        super().__init__(name=request.id, daemon=True)
        self.request = request
        self._priority = priority
        self._run = run
        self._body: HostTimed | None = None
        self.armed = self.ended = False
        self.result: dict[str, Any] | None = None
        self.error: BaseException | None = None
        self.settings: dict[str, object] = {}
        self.peak_bytes: int | None = None
        """The most that it held while it was set up and warmed; None: not told."""

    def run(self) -> None:
        """Perform the trial on a stream of its own."""
        try:
            with lane(self._run.device, self._priority):
                device = JobDevice(self._run.device, self._run.jobs)
                control = Control(send=self._send, stopped=self._run.stopped, wait_for_go=self._wait)
                self.result = Trial(self.request, cast(Device, device), control).perform(lambda: self._make(device))
        except BaseException as err:  # told by the worker's own thread
            self.error = err
        self._run.note(self, ended=True)

    def _make(self, device: JobDevice) -> Any:
        made = self._run.make_body(self.request.workload, cast(Device, device), self.request.params, self.request.seed)
        if hasattr(made, "parts"):
            raise UnsupportedError("a survey of many settings does not run beside others in one process")
        self._body = HostTimed(made)
        return self._body

    def _wait(self) -> bool:
        self.settings = settings()
        self._run.note(self, armed=True)
        return self._run.wait()

    def _send(self, message: "dict[str, Any]") -> None:
        if message["kind"] == "progress":
            self._run.progress(self, message)

    def host_share(self) -> float:
        """Share of the time together in which this job queued work."""
        times = self.result["iteration_s"] if self.result else []
        queued_s = self._body.queued_s if self._body else None
        return queued_s / statistics.fmean(times) if times and queued_s is not None else 0.0

    def notes(self) -> "dict[str, Fact]":
        """What the result says beside the trial's own."""
        return {"mode": "streams", "priority": self._priority, "host_share": round(self.host_share(), 4)}


class Run:
    """All jobs of one message."""

    def __init__(self, message: "dict[str, Any]", device: Device, make_body: MakeBody, control: Control) -> None:
        self.device = device
        self.make_body = make_body
        self._id = str(message["id"])
        self._cap_bytes: int | None = message.get("memory_cap_bytes")
        self._control = control
        self._changed = threading.Condition()
        self._decided: bool | None = None
        self._failed = False
        self._peak_bytes = 0
        requests = [(Request.from_message(job), int(job.get("priority", 0))) for job in message["jobs"]]
        self.jobs = len(requests)
        self._all = [Job(request, priority, self) for request, priority in requests]

    def perform(self) -> "dict[str, Any]":
        """The ``result`` message with a trial for each job.

        Raises:
            UnsupportedError: the jobs need settings of torch that one process cannot have at once.
            StoppedError: stopped before anything was measured.
        """
        self._check_asked()
        self.device.limit(self._cap_bytes)  # the process's; a trial before may have had less
        self.device.begin_trial()
        for job in self._all:
            held = peak_from_here(self.device)
            job.start()
            with self._changed:
                self._changed.wait_for(lambda job=job: job.armed or job.ended)
            job.peak_bytes = None if held is None else max(0, self._seen_peak() - held)
            if job.ended or self._differ(job):
                break
        ready = all(job.armed and not job.ended and not self._differ(job) for job in self._all)
        if ready:
            self._control.send({"kind": "armed", "id": self._id})
        self._decide(ready and self._control.wait_for_go())
        for job in self._all:
            if job.ident is not None:
                job.join()
        self._raise_first()
        return self._message()

    # --- what jobs ask and tell -----------------------------------------------------------------------------------

    def stopped(self) -> bool:
        """Whether the jobs are to end: asked for, or one of them failed."""
        return self._failed or self._control.stopped()

    def wait(self) -> bool:
        """Wait at the barrier; False: stopped there."""
        with self._changed:
            self._changed.wait_for(lambda: self._decided is not None)
        return bool(self._decided)

    def note(self, job: Job, *, armed: bool = False, ended: bool = False) -> None:
        """A job has come so far; one that failed ends the others."""
        with self._changed:
            job.armed, job.ended = job.armed or armed, job.ended or ended
            self._failed = self._failed or (job.error is not None)
            self._changed.notify_all()

    def progress(self, job: Job, message: "dict[str, Any]") -> None:
        """What the first says of itself goes for all."""
        if job is self._all[0]:
            self._control.send({**message, "id": self._id})

    # --- the run's own --------------------------------------------------------------------------------------------

    def _seen_peak(self) -> int:
        """The peak since it was counted from; the largest of all is the process's."""
        peak = self.device.memory().get("allocated_peak_bytes", 0)
        self._peak_bytes = max(self._peak_bytes, peak)
        return peak

    def _decide(self, go: bool) -> None:
        with self._changed:
            self._decided = go
            self._changed.notify_all()

    def _check_asked(self) -> None:
        """What one job switches on and off around its steps would reach into those of the others."""
        if self.jobs > 1 and any(job.request.params.get("sdpa") for job in self._all):
            raise UnsupportedError("a choice of attention holds for a whole process, not for one of its jobs")

    def _differ(self, job: Job) -> bool:
        return job.settings != self._all[0].settings

    def _raise_first(self) -> None:
        errors = [job.error for job in self._all if job.error is not None]
        real = [error for error in errors if not isinstance(error, StoppedError)]
        if real:
            raise real[0]
        other = next((job for job in self._all if job.settings and self._differ(job)), None)
        if other is not None:
            names = [name for name, value in other.settings.items() if value != self._all[0].settings[name]]
            raise UnsupportedError(f"the jobs need different settings of one process: {', '.join(names)}")
        if errors:
            raise errors[0]

    def _message(self) -> "dict[str, Any]":
        serialised = self.device.name == "cpu" or sum(job.host_share() for job in self._all) > SATURATED
        whole: dict[str, Fact] = {"host_serialised": serialised}
        if "allocated_peak_bytes" in self.device.memory():
            self._seen_peak()
            whole["process_peak_bytes"] = self._peak_bytes
        trials: list[dict[str, Any]] = []
        for job in self._all:
            told = {name: value for name, value in (job.result or {}).items() if name not in ("kind", "id")}
            if job.peak_bytes is not None:
                told["memory"] = {**told["memory"], "allocated_peak_bytes": job.peak_bytes}
            trials.append({**told, "notes": {**told["notes"], **job.notes(), **whole}})
        return {"kind": "result", "id": self._id, "trials": trials}


def perform(message: "dict[str, Any]", device: Device, make_body: MakeBody, control: Control) -> "dict[str, Any]":
    """Run the jobs of a ``trial`` message that has several; see :class:`Run`."""
    return Run(message, device, make_body, control).perform()
