"""A recording played as if it were live."""

import threading
import time
from math import isinf

from gputuner.devices.replay import Replay
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError, UsageError
from gputuner.model.events import TelemetrySampled
from gputuner.model.samples import CardProcesses
from gputuner.telemetry.feed import Callback, FeedState, FeedStatus, Tick, Unsubscribe
from gputuner.telemetry.hub import Hub
from gputuner.telemetry.schedule import NS


class ReplayClock:
    """The recording's clock, moved on by the frames that were played."""

    def __init__(self, start_ns: int) -> None:
        """Stand at ``start_ns``."""
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """Nanoseconds on the recording's clock."""
        return self._now_ns

    def advance_to_ns(self, t_ns: int) -> None:
        """Move on to ``t_ns``; never back."""
        self._now_ns = max(self._now_ns, t_ns)


class ReplayFeed:
    """Plays a ``Replay``; nothing is dropped for a slow subscriber, playing waits instead.

    States: *starting* (waits for ``start`` or the first subscriber) → *ok* → *ended* (told after the last tick was
    handed out) → *closed*.
    """

    def __init__(self, replay: Replay, speed: float = 1.0) -> None:
        """Play at ``speed`` times the recorded pace (``inf``: as fast as subscribers take it).

        Raises:
            UsageError: the speed is not above zero.
        """
        if not speed > 0:
            raise UsageError("replay_speed", "the speed of a replay must be above zero")
        self.clock = ReplayClock(replay.start_ns)
        self._replay = replay
        self._speed = speed
        self._hub = Hub("replay")
        self._hub.publish(Tick(t_ns=replay.start_ns, cards=replay.cards()))
        self._state, self._code = FeedState.STARTING, ""
        self._ticks = 0
        self._closing = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._play, name="replay feed", daemon=True)
        self._started = threading.Lock()

    @property
    def origin(self) -> Origin:
        """Replayed."""
        return Origin.REPLAYED

    @property
    def source(self) -> str:
        """Who read the telemetry when it was recorded."""
        return self._replay.source

    def cards(self) -> tuple[CardInfo, ...]:
        """The recorded cards."""
        return self._hub.cards()

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """Call ``callback`` with every tick; the first subscriber starts the playing, so that it misses nothing."""
        unsubscribe = self._hub.subscribe(callback)
        with self._started:
            if self._state is FeedState.STARTING and not self._closing.is_set():
                self._state = FeedState.OK
                self._thread.start()
        return unsubscribe

    def latest(self) -> Tick | None:
        """The last tick with samples."""
        return self._hub.latest()

    def processes(self, card: str) -> CardProcesses | None:
        """The last process table of a card."""
        return self._hub.processes(card)

    def status(self) -> FeedStatus:
        """State and number of frames played."""
        return FeedStatus(state=self._state, code=self._code, ticks=self._ticks, dropped_ticks=self._hub.dropped)

    def wait_ended(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the recording; True once it is over (or the feed closed)."""
        return self._ended.wait(timeout_s)

    def close(self) -> None:
        """Stop playing; idempotent."""
        with self._started:
            self._closing.set()
        self._hub.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        self._state = FeedState.CLOSED
        self._ended.set()

    def _play(self) -> None:
        begun = time.monotonic_ns()
        try:
            for frame in self._replay:
                if not isinf(self._speed):
                    due_ns = begun + round((frame.t_ns - self._replay.start_ns) / self._speed)
                    if self._closing.wait(max(0.0, (due_ns - time.monotonic_ns()) / NS)):
                        return
                if self._closing.is_set():
                    return
                self.clock.advance_to_ns(frame.t_ns)
                self._ticks += 1
                self._hub.publish(tick_of(frame), wait=True)
        except GputunerError as error:  # the recording cannot be read to its end
            self._code = error.code
        self._hub.drain()
        self._state = FeedState.ENDED
        self._ended.set()


def tick_of(event: TelemetrySampled) -> Tick:
    """The tick that a stored event holds."""
    return Tick(
        t_ns=event.t_ns,
        samples=event.samples,
        processes=event.processes,
        gaps=event.gaps,
        xids=event.xids,
        cards=event.cards,
    )
