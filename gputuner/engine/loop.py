"""The loop of a run: wait for something, meanwhile pass telemetry on, judge safety, notice cancel and the deadline."""

from collections import deque
from collections.abc import Callable, Sequence

from gputuner.engine.guard import Guard
from gputuner.engine.inbox import CancelRequested, CommandGone, FeedEnded, FromWorker, TickArrived, WorkerGone
from gputuner.engine.safety import SafetyWatch
from gputuner.engine.stage import Stage
from gputuner.model.samples import Sample
from gputuner.model.steps import Cancelled, Stopped
from gputuner.telemetry.feed import Tick

IDLE_NS = 500_000_000
"""The store is given a chance to commit at least this often."""
KEPT_SAMPLES = 20_000
"""Samples of the run's card kept for the conditions of a window (33 min at 10 Hz)."""


class Interrupted(Exception):
    """The run must end now; ``result`` says why. Never leaves the engine."""

    def __init__(self, result: Stopped | Cancelled) -> None:
        """Keep the outcome that ends the run."""
        super().__init__(type(result).__name__)
        self.result = result


class Loop:
    """Waits on the inbox on behalf of whoever performs a step."""

    def __init__(
        self,
        stage: Stage,
        card: str,
        safety: SafetyWatch,
        tell_tick: Callable[[Tick], None],
        idle: Callable[[], None],
    ) -> None:
        """``tell_tick`` stores and passes on a tick; ``idle`` is called now and then, so that the store can commit."""
        self._stage = stage
        self._card = card
        self.safety = Guard(safety)
        self._tell_tick = tell_tick
        self._idle = idle
        self.samples: deque[Sample] = deque(maxlen=KEPT_SAMPLES)
        self.deadline_ns: int | None = None
        self.timed_out = False
        self.forced = False
        self.endangered = False
        """The run ends for safety: what still loads the card must end soon."""
        self._ending = False
        self._pending: deque[FromWorker | WorkerGone] = deque()

    def limit_changes(self, watts: float) -> None:
        """The run has just set its card's power limit: from now on that is what the card is judged by."""
        self.safety.limit_changes(watts, self.now_ns())

    def now_ns(self) -> int:
        """The run's clock."""
        return self._stage.clock.now_ns()

    def begin_ending(self) -> None:
        """From now on cancel, deadline and safety no longer interrupt: workers are being ended."""
        self._ending = True
        self.safety.load_ends()

    def next(self, until_ns: int) -> FromWorker | WorkerGone | None:
        """The next message or end of a worker, or None at ``until_ns`` (or when nothing can come any more).

        Raises:
            Interrupted: cancelled, out of time, or stopped for safety.
        """
        return self._pending.popleft() if self._pending else self._arriving(until_ns)

    def put_back(self, items: Sequence[FromWorker | WorkerGone]) -> None:
        """Give back what was not meant for the one who waited; the next who waits gets it first, in this order."""
        self._pending.extendleft(reversed(items))

    def pause(self, until_ns: int) -> None:
        """Let time pass; what workers say meanwhile is kept for who waits next."""
        kept: list[FromWorker | WorkerGone] = []
        try:
            while (item := self._arriving(until_ns)) is not None:
                kept.append(item)
        finally:
            self._pending.extend(kept)

    def _arriving(self, until_ns: int) -> FromWorker | WorkerGone | None:
        while True:
            item = self._stage.inbox.get(self._wake_ns(until_ns))
            self._idle()
            match item:
                case FromWorker() | WorkerGone():
                    return item
                case TickArrived():
                    self._on_tick(item.tick)
                case CancelRequested():
                    self._on_cancel(item)
                case FeedEnded() | CommandGone():
                    return None
                case None:
                    now_ns = self.now_ns()
                    self._check_clock(now_ns)
                    if now_ns >= until_ns:
                        return None

    def _wake_ns(self, until_ns: int) -> int:
        wakes = [until_ns, self.now_ns() + IDLE_NS]
        if not self._ending:
            silence = self.safety.silence_deadline_ns()
            wakes += [t for t in (silence, self.deadline_ns) if t is not None]
        return min(wakes)

    def _on_tick(self, tick: Tick) -> None:
        self._tell_tick(tick)
        self.samples.extend(s for s in tick.samples if s.card == self._card)
        stopped = None if self._ending else self.safety.check(tick)
        if stopped:
            self.endangered = True
            raise Interrupted(stopped)

    def _on_cancel(self, item: CancelRequested) -> None:
        self.forced = self.forced or item.force
        if not self._ending:
            raise Interrupted(Cancelled())

    def _check_clock(self, now_ns: int) -> None:
        if self._ending:
            return
        stopped = self.safety.check_silence(now_ns)
        if stopped:
            raise Interrupted(stopped)
        if self.deadline_ns is not None and now_ns >= self.deadline_ns:
            self.timed_out = True
            raise Interrupted(Cancelled())
