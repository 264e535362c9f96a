"""The collector seen from its parent: started, listened to, watched, started again."""

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Reason, Scalar
from gputuner.model.samples import CardProcesses, Gap
from gputuner.telemetry.feed import Callback, FeedState, FeedStatus, Notice, Tick, Unsubscribe
from gputuner.telemetry.hub import Hub
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.schedule import NS, Backoff
from gputuner.telemetry.wire import Health, Hello, Line, LineReader, Noticed, Ticked, Told, Unusable

DIES_WITHIN_S = 2.0
"""A killed process that is still there after so long hangs in the driver; no second one is started beside it."""
STDERR_TAIL = 4000
MOST_NOTICES = 100
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}
"""A dozen threads need no heap each."""


class Child:
    """One collector process; its lines go into ``inbox`` as ``(child, line)``, its end as ``(child, None)``."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: "SimpleQueue[tuple[Child | None, bytes | None]]",
    ) -> None:
        """Start it in a session of its own, so that the terminal's SIGINT does not reach it."""
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.reader = LineReader()
        self._tail: deque[bytes] = deque(maxlen=20)
        self._inbox = inbox
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._listen, self._drain)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._inbox.put((self, line))
        self._inbox.put((self, None))

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._tail.append(line)

    def stderr_tail(self) -> str:
        """The last lines it wrote to stderr (once it is gone, what is left in the pipe is waited for)."""
        if self.process.returncode is not None:
            self._threads[1].join(DIES_WITHIN_S)
        return b"".join(self._tail).decode("utf-8", "replace")[-STDERR_TAIL:]

    def kill(self) -> None:
        """End it without asking (it holds nothing that needs care)."""
        self.process.kill()

    def reaped(self, within_s: float = 0.0) -> bool:
        """True if it is gone."""
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def forget(self) -> None:
        """Close our ends of its pipes (only once it is gone)."""
        for thread in self._threads:
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


class CollectorFeed:
    """Ticks from the collector process.

    States: *starting* → *ok* with its hello. → *absent* or *mismatch* when the library cannot be used (tried again only
    if that may help). ok → *failing* while every call gives errors (the collector itself opens the library anew) → ok.
    A collector that is silent for ``rates.silence_s``, or whose every card is for ``rates.hang_s``, is killed: *hung*;
    one that dies: *restarting*; both start again after pauses of 1, 2, 4 … 60 s, and the silence is told as a gap with
    the first tick after it.
    """

    def __init__(
        self,
        command: Sequence[str],
        rates: Rates | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        first_pause_s: float = 1.0,
    ) -> None:
        """Start the collector ``command`` (see ``assembly.children``); returns at once.

        Args:
            command: the program; the rates are appended to it.
            rates: of the tiers, with their deadlines.
            environment: of the process (default: this one's).
            first_pause_s: the first pause before a restart; each further one is twice as long.
        """
        self._environment = {**(os.environ if environment is None else environment), **_ENVIRONMENT}
        self._rates = rates or Rates()
        self._command = [*command, *self._rates.arguments()]
        self._hub = Hub("collector")
        self._inbox: SimpleQueue[tuple[Child | None, bytes | None]] = SimpleQueue()
        self._pauses = Backoff(first_pause_s, 60.0)
        self._status = FeedStatus(state=FeedState.STARTING)
        self._origin = Origin.MEASURED
        self._notices: dict[tuple[str, str], Notice] = {}
        self._child: Child | None = None
        self._undead: Child | None = None
        self._deadline_ns = 0
        self._start_ns: int | None = time.monotonic_ns()
        self._last_tick_ns: int | None = None
        self._broken = False
        self._before = (0, 0, 0, 0.0)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="collector watch", daemon=True)
        self._thread.start()

    @property
    def origin(self) -> Origin:
        """As the collector's source says."""
        return self._origin

    def cards(self) -> tuple[CardInfo, ...]:
        """Cards known so far."""
        return self._hub.cards()

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """Call ``callback`` with every tick, from the feed's own thread."""
        return self._hub.subscribe(callback)

    def latest(self) -> Tick | None:
        """The last tick with samples."""
        return self._hub.latest()

    def processes(self, card: str) -> CardProcesses | None:
        """The last process table of a card."""
        return self._hub.processes(card)

    def status(self) -> FeedStatus:
        """State, counters and own cost."""
        return replace(self._status, dropped_ticks=self._hub.dropped, notices=tuple(self._notices.values()))

    def close(self) -> None:
        """End the collector; idempotent."""
        if not self._closing.is_set():
            self._closing.set()
            self._inbox.put((None, None))
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._hub.close()

    def _supervise(self) -> None:
        while not self._closing.is_set():
            now = time.monotonic_ns()
            if self._child is None and self._start_ns is not None and now >= self._start_ns:
                self._start(now)
            wake = self._deadline_ns if self._child is not None else self._start_ns
            try:
                child, line = self._inbox.get(timeout=None if wake is None else max(0.0, (wake - now) / NS))
            except Empty:
                if self._child is not None:
                    self._end(FeedState.HUNG, "telemetry_collector_hung")
                continue
            if child is None or child is not self._child:
                continue
            if line is None:
                self._died(child)
            else:
                self._deadline_ns = time.monotonic_ns() + round(self._rates.silence_s * NS)
                decoded = child.reader.line(line)
                if decoded is not None:
                    self._take(decoded)
        self._shut()

    def _start(self, now: int) -> None:
        if self._undead is not None:
            if not self._undead.reaped():
                self._start_ns = now + round(self._pauses.pause_s() * NS)
                self._set(FeedState.HUNG, "telemetry_collector_stuck_in_driver")
                return
            self._undead.forget()
            self._undead = None
        self._deadline_ns = now + round(self._rates.start_s * NS)
        try:
            self._child = Child(self._command, self._environment, self._inbox)
        except OSError as error:
            self._start_ns = now + round(self._pauses.pause_s() * NS)
            self._set(FeedState.RESTARTING, "telemetry_collector_not_started", error=str(error))

    def _take(self, line: Line) -> None:
        match line:
            case Hello():
                self._origin = line.origin
                self._set(FeedState.OK, "" if line.cards else "telemetry_no_cards")
            case Ticked():
                self._hub.publish(self._marked(line.tick))
            case Noticed():
                self._note(line.code, line.t_ns, line.params)
            case Health():
                self._take_health(line)
            case Told():
                pass  # for the reader of lines
            case Unusable():
                state = FeedState.MISMATCH if "mismatch" in line.code else FeedState.ABSENT
                self._end(state, line.code, {**line.params, "text": line.text}, again=not line.final)

    def _marked(self, tick: Tick) -> Tick:
        """The tick, with the gap that a restart left."""
        if not tick.samples:
            return tick
        first = tick.samples[0].t_ns  # they are in order of time
        last, self._last_tick_ns = self._last_tick_ns, tick.samples[-1].t_ns
        if self._broken:
            self._broken = False
            if last is not None:
                tick = replace(tick, gaps=(Gap(card=None, t0_ns=last, t1_ns=first, reason=Reason.ERROR), *tick.gaps))
        return tick

    def _take_health(self, health: Health) -> None:
        ticks, missed, rejected, cpu_s = self._before
        unpacked = self._child.reader.rejected if self._child is not None else 0
        self._status = replace(
            self._status,
            ticks=ticks + health.ticks,
            missed_ticks=missed + health.missed_ticks,
            rejected_values=rejected + health.rejected_values + unpacked,
            own_cpu_s=cpu_s + health.cpu_s,
            own_cpu_fraction=health.cpu_s / health.age_s if health.age_s > 0 else None,
            own_memory_bytes=health.memory_bytes,
            interval_s=health.interval_s,
            fast_cost=health.fast_cost,
            slow_cost=health.slow_cost,
            hung_calls=health.hung_calls,
        )
        if health.all_hung_s > self._rates.hang_s:
            self._end(FeedState.HUNG, "telemetry_collector_hung")
        elif health.failing:
            mismatch = "mismatch" in health.error
            self._set(FeedState.MISMATCH if mismatch else FeedState.FAILING, health.error or "telemetry_failing")
        else:
            if self._status.state in (FeedState.FAILING, FeedState.MISMATCH):
                self._set(FeedState.OK, "")
            if health.age_s > 60.0:
                self._pauses.reset()

    def _died(self, child: Child) -> None:
        child.reaped(DIES_WITHIN_S)
        code = child.process.returncode
        params: dict[str, Scalar] = {"exit_code": code if code is not None else -1}
        if code is not None and code < 0:
            try:
                params["signal"] = signal.Signals(-code).name
            except ValueError:
                params["signal"] = str(-code)
        tail = child.stderr_tail()
        if tail:
            params["stderr_tail"] = tail
        self._end(FeedState.RESTARTING, "telemetry_collector_crashed", params)

    def _end(self, state: FeedState, code: str, params: dict[str, Scalar] | None = None, again: bool = True) -> None:
        """End the child, say why, and plan the next start."""
        child, self._child = self._child, None
        params = dict(params or {})
        now = time.monotonic_ns()
        self._broken = True
        if child is not None:
            child.kill()
            if child.reaped(DIES_WITHIN_S):
                child.forget()
            else:
                self._undead = child
        self._start_ns = None
        if again:
            pause_s = self._pauses.pause_s()
            self._start_ns = now + round(pause_s * NS)
            params["pause_s"] = pause_s
        status = self._status
        self._before = (status.ticks, status.missed_ticks, status.rejected_values, status.own_cpu_s or 0.0)
        self._status = replace(status, restarts=status.restarts + again, hung_calls=())
        self._set(state, code, **params)
        self._note(code, now, {name: value for name, value in params.items() if name != "pause_s"})

    def _set(self, state: FeedState, code: str, **params: Scalar) -> None:
        self._status = replace(self._status, state=state, code=code, params=params)

    def _note(self, code: str, t_ns: int, params: dict[str, Scalar]) -> None:
        key = (code, f"{params.get('card', '')} {params.get('call', '')}")
        known = self._notices.get(key)
        if known is None and len(self._notices) >= MOST_NOTICES:
            return
        count = known.count + 1 if known else 1
        self._notices = {**self._notices, key: Notice(code=code, t_ns=t_ns, params=params, count=count)}

    def _shut(self) -> None:
        child = self._child
        if child is not None:
            assert child.process.stdin is not None
            child.process.stdin.close()  # it ends by itself on this
            if not child.reaped(DIES_WITHIN_S):
                child.kill()
            if child.reaped(DIES_WITHIN_S):
                child.forget()
        self._child = None
        self._set(FeedState.CLOSED, "")
