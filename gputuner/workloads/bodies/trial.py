"""One trial: set up, warm up, wait at the barrier (beside others: run untimed again), measure, check.

What is timed: *windows*, each a batch of iterations, end to end without gaps from ``t0_ns`` on, so that the start of
window i is ``t0_ns`` + iterations per window × the sum of the entries before it.

Cold burst (``warmup_s`` 0): set up, two untimed iterations (libraries choose and load their kernels), the barrier (the
engine lets the card idle there), then timed from the first iteration on.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from gputuner.workloads.bodies.body import Body, Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.host_use import processor_times, share_in_use
from gputuner.workloads.bodies.survey import Pace, Part, Survey
from gputuner.workloads.bodies.telling import Send, Telling

WARM_WINDOW_S = 0.05
STEADY_WINDOWS, STEADY_SHARE = 3, 4
"""Steady: the median of the last windows differs from that of as many before by less than 1 %: three, or a quarter of
all where these are more (single windows scatter under a power cap)."""
WINDOWS_WANTED = 60
STEADY_CHANGE = 0.01
LEAST_WINDOWS = 3
"""Fewer windows than this are measured only when the budget ends."""


class Soaked(Protocol):
    """A body that has more to it than its iterations."""

    def soak(self) -> str:
        """Do once what comes seldom; says what."""
        ...


class StoppedError(Exception):
    """The engine asked for the end before anything was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A ``trial`` message. ``warmup_s`` None: until steady.

    ``budget_s`` counts from the end of the first iteration (on a card that one loads kernels, for seconds), without the
    time at the barrier.
    """

    id: str
    workload: str
    params: dict[str, Any]
    measure_s: float
    budget_s: float
    warmup_s: float | None = None
    barrier: bool = False
    seed: int = 0
    soak: bool = False
    """After the warm-up also what comes seldom in a training, where the body knows of such (``body.soak``)."""
    memory_cap_bytes: "int | None" = None
    """Less than the worker's own cap where several trials share the card."""
    rewarm_s: float = 0.0
    """So long it runs after the barrier before it is timed."""

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Request":
        """The request in a checked message."""
        warmup_s = message.get("warmup_s")
        return cls(
            id=str(message["id"]),
            workload=str(message["workload"]),
            params=dict(message.get("params") or {}),
            measure_s=float(message["measure_s"]),
            budget_s=float(message["budget_s"]),
            warmup_s=None if warmup_s is None else float(warmup_s),
            barrier=bool(message.get("barrier", False)),
            seed=int(message.get("seed", 0)),
            soak=bool(message.get("soak", False)),
            memory_cap_bytes=message.get("memory_cap_bytes"),
            rewarm_s=float(message.get("rewarm_s", 0.0)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The trial's way to the engine."""

    send: Send
    stopped: Callable[[], bool]
    wait_for_go: Callable[[], bool]
    """Waits at the barrier; False: stopped there."""


def window_s(measure_s: float, burst: bool = False) -> float:
    """Length of one timed window, in seconds: a sixtieth of the whole within 10 to 100 ms, 1 ms for bursts.

    A power cap is held by a clock that goes up and down within some tens of milliseconds: a window should hold several
    turns. The cap of an H200 takes hold 35 ms after a cold start; windows must be short beside that.
    """
    return 0.001 if burst else min(0.1, max(0.01, measure_s / WINDOWS_WANTED))


def iterations_for(seconds: float, iteration_s: float) -> int:
    """How many iterations fill a window."""
    return max(1, round(seconds / max(iteration_s, 1e-7)))


def settled(windows: Sequence[float]) -> bool:
    """Whether the last windows move less than 1 %."""
    if len(windows) < 2 * STEADY_WINDOWS:
        return False
    count = max(STEADY_WINDOWS, len(windows) // STEADY_SHARE)
    last = statistics.median(windows[-count:])
    before = statistics.median(windows[-2 * count : -count])
    return abs(last - before) < STEADY_CHANGE * before


class Trial:
    """Performs one request on a device with a body."""

    def __init__(self, request: Request, device: Device, control: Control) -> None:
        self._request = request
        self._device = device
        self._control = control
        self._deadline = time.monotonic() + request.budget_s
        self._telling = Telling(control.send, request.id, time.monotonic)
        self._notes: dict[str, Fact] = {}
        self._work: dict[str, float] = {}

    def perform(self, make: "Callable[[], Body | Survey]") -> dict[str, Any]:
        """The ``result`` message, of one setting measured for long or of a survey of many.

        Raises:
            StoppedError: stopped before anything was measured.
        """
        self._notes.update(self._device.limit(self._request.memory_cap_bytes))
        self._device.begin_trial()
        self._telling.say("setup", 0.0)
        made = make()
        self._work = made.work
        if hasattr(made, "parts"):
            return self._survey(cast("Survey", made))
        return self._single(cast(Body, made))

    def _single(self, body: Body) -> dict[str, Any]:
        probe = body.probe(self._left_s())
        if probe and probe.expected_s > self._left_s():
            return self._too_slow_by_probe(probe)
        first_s, span = self._one(body)
        self._notes["first_iteration_s"] = first_s
        if self._device.name == "cpu" and first_s > self._left_s():
            return self._result(body, [first_s], span, steady=False, too_slow=True)
        self._deadline = time.monotonic() + self._request.budget_s
        peak = self._device.memory().get("allocated_peak_bytes")
        if peak is not None:
            self._notes["first_peak_bytes"] = peak
        self._device.clear_peak()
        second_s, span = self._one(body)
        if LEAST_WINDOWS * second_s > self._left_s():
            return self._result(body, [second_s], span, steady=False, too_slow=True)
        iteration_s, steady = self._warm_up(body, second_s)
        if self._request.soak and hasattr(body, "soak"):
            self._check_stop()
            self._notes["soaked"] = cast("Soaked", body).soak()
        self._arm()
        self._rewarm(body, iteration_s)
        return self._measure(body, iteration_s, steady)

    def _left_s(self) -> float:
        return self._deadline - time.monotonic()

    def _check_stop(self) -> None:
        if self._control.stopped():
            raise StoppedError

    def _one(self, body: Body) -> tuple[float, tuple[int, int]]:
        """Seconds of one iteration, waited for, and its span of time."""
        self._check_stop()
        self._device.synchronise()
        t0_ns = time.monotonic_ns()
        body.iterate()
        self._device.synchronise()
        t1_ns = time.monotonic_ns()
        return (t1_ns - t0_ns) / 1e9, (t0_ns, t1_ns)

    def _warm_up(self, body: Body, iteration_s: float) -> tuple[float, bool]:
        """Until steady, or for the time asked for; seconds per iteration at its end, and whether it was steady."""
        asked = self._request.warmup_s
        if asked == 0:
            return iteration_s, True
        most_s = asked if asked is not None else max(1.0, self._request.measure_s)
        most_s = min(most_s, 0.35 * self._request.budget_s)
        count = iterations_for(WARM_WINDOW_S, iteration_s)
        windows = self._device.windows(WARM_WINDOW_S)
        done: list[float] = []
        start = time.monotonic()
        while (spent := time.monotonic() - start) < most_s and not (asked is None and settled(done)):
            self._check_stop()
            done += windows.run(body.iterate, count)
            self._tell("warmup", spent, (0.0 if asked is None else most_s - spent) + self._request.measure_s, done)
        done += windows.drain()
        self._notes["warmup_s"] = round(time.monotonic() - start, 4)
        return statistics.median(done[-STEADY_WINDOWS:]) if done else iteration_s, settled(done)

    def _arm(self) -> None:
        if not self._request.barrier:
            return
        self._device.synchronise()
        waiting = time.monotonic()
        self._control.send({"kind": "armed", "id": self._request.id})
        if not self._control.wait_for_go():
            raise StoppedError
        waited_s = time.monotonic() - waiting
        self._notes["barrier_wait_s"] = round(waited_s, 4)
        self._deadline += waited_s

    def _rewarm(self, body: Body, iteration_s: float) -> None:
        """Run untimed after the barrier, where the trial is asked to: the card has idled there, and its clock fell.

        Every job of a barrier is asked, so that all begin to measure together, whoever came last.
        """
        if self._request.rewarm_s <= 0 or self._request.warmup_s == 0:  # a cold burst is meant to be cold
            return
        start = time.monotonic()
        windows = self._device.windows(WARM_WINDOW_S)
        count = iterations_for(WARM_WINDOW_S, iteration_s)
        while time.monotonic() - start < self._request.rewarm_s:
            self._check_stop()
            windows.run(body.iterate, count)
        windows.drain()
        spent_s = time.monotonic() - start
        self._notes["rewarmed_s"] = round(spent_s, 4)
        self._deadline += spent_s

    def _measure(self, body: Body, iteration_s: float, steady: bool) -> dict[str, Any]:
        length_s = window_s(self._request.measure_s, burst=self._request.warmup_s == 0)
        count = iterations_for(length_s, iteration_s)
        self._notes["iterations_per_window"] = count
        self._check_stop()
        body.mark()
        self._device.synchronise()
        done: list[float] = []
        measured_s = 0.0
        out_of_time = False
        host_before = processor_times()
        t0_ns = time.monotonic_ns()
        windows = self._device.windows(length_s)
        while not self._control.stopped():
            ended = windows.run(body.iterate, count)
            done += ended
            measured_s += count * sum(ended)
            running = windows.running()
            running_s = running * count * (done[-1] if done else iteration_s)
            if measured_s + running_s >= self._request.measure_s and len(done) + running >= LEAST_WINDOWS:
                break
            out_of_time = self._left_s() < 0
            if out_of_time:
                break
            self._tell("measure", measured_s, self._request.measure_s - measured_s, done)
        done += windows.drain()
        t1_ns = time.monotonic_ns()
        in_use = share_in_use(host_before, processor_times())
        if in_use is not None:
            self._notes["host_busy"] = round(in_use, 3)
        self._note_clock()
        return self._result(body, done, (t0_ns, t1_ns), steady=steady, too_slow=out_of_time)

    def _survey(self, survey: Survey) -> dict[str, Any]:
        """One part after the other; stopped, it keeps what it has."""
        self._arm()
        self._check_stop()
        t0_ns = time.monotonic_ns()
        progress = _SurveyProgress(self._telling, min(self._request.measure_s, self._request.budget_s))
        pace = progress.pace(self._control.stopped)
        parts: list[Part] = []
        for part in survey.parts(pace):
            parts.append(part)
            progress.parts = len(parts)
            if pace.stopped():
                break
        if not parts and self._control.stopped():
            raise StoppedError
        self._device.synchronise()
        span = (t0_ns, time.monotonic_ns())
        self._note_clock()
        message = self._message(span, notes=survey.notes(), error=None)
        return {**message, "iteration_s": [], "parts": [part.message() for part in parts]}

    def _note_clock(self) -> None:
        clock = self._device.clock_mhz()
        if clock is not None:
            self._notes["clock_mhz"] = round(clock, 1)

    def _tell(self, phase: str, done_s: float, left_s: float, windows: Sequence[float]) -> None:
        amount = next(iter(self._work.values()), None)
        rate = amount / windows[-1] if amount and windows and windows[-1] else None
        self._telling.say(phase, done_s, left_s, rate=rate)

    def _result(
        self, body: Body, done: list[float], span: tuple[int, int], *, steady: bool, too_slow: bool
    ) -> dict[str, Any]:
        if self._control.stopped() and not done:
            raise StoppedError
        message = self._message(span, notes=body.notes(), error=body.relative_error())
        return {**message, "iteration_s": done, "steady": steady, "too_slow": too_slow}

    def _message(self, span: tuple[int, int], *, notes: "dict[str, Fact]", error: float | None) -> dict[str, Any]:
        memory = self._device.memory()
        told = {**notes, **self._notes}
        captured = notes.get("captured_peak_bytes")
        if isinstance(captured, int):  # a captured step holds this for good; its replays allocate nothing
            memory = {**memory, "allocated_peak_bytes": max(captured, memory.get("allocated_peak_bytes", 0))}
        if self._control.stopped():
            told["stopped"] = True
        return {
            "kind": "result",
            "id": self._request.id,
            "t0_ns": span[0],
            "t1_ns": span[1],
            "work": self._work,
            "memory": memory,
            "steady": True,
            "too_slow": False,
            "relative_error": error,
            "notes": told,
        }

    def _too_slow_by_probe(self, probe: Probe) -> dict[str, Any]:
        """What the probe measured, as a result of the probe's own size."""
        t1_ns = time.monotonic_ns()
        return {
            "kind": "result",
            "id": self._request.id,
            "iteration_s": [probe.seconds],
            "t0_ns": t1_ns - int(probe.seconds * 1e9),
            "t1_ns": t1_ns,
            "work": probe.work,
            "memory": {},
            "steady": False,
            "too_slow": True,
            "relative_error": None,
            "notes": {**probe.notes, "expected_iteration_s": probe.expected_s},
        }


class _SurveyProgress:
    """How far a survey is: by what it says itself, else by its parts and its time."""

    def __init__(self, telling: Telling, most_s: float) -> None:
        self._telling = telling
        self._most_s = most_s
        self._start_s = time.monotonic()
        self._tried: tuple[int, int | None] | None = None
        self.parts = 0

    def pace(self, stopped: Callable[[], bool]) -> Pace:
        """What the survey is handed; each question is a sign of life."""

        def asked() -> bool:
            self._beat()
            return stopped()

        return Pace(measure_s=self._most_s, left_s=self._beat, stopped=asked, tried=self._take)

    def _take(self, done: int, of: "int | None" = None) -> None:
        self._tried = (done, of)
        self._beat()

    def _beat(self) -> float:
        """Tell how far it is; seconds left."""
        passed_s = time.monotonic() - self._start_s
        done, of = self._tried or (self.parts, None)
        self._telling.say("measure", passed_s, self._most_s - passed_s, done=done, of=of)
        return self._most_s - passed_s
