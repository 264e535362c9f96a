"""A feed that reads in a thread of this process: the host's own processor, simulated cards at wall pace."""

import logging
import threading
import time
from collections.abc import Callable

from gputuner.devices.protocol import CardSource
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.samples import CardProcesses
from gputuner.telemetry.feed import Callback, FeedState, FeedStatus, Notice, Tick, Unsubscribe
from gputuner.telemetry.hub import Hub
from gputuner.telemetry.meter import Meter
from gputuner.telemetry.sampler import Sampler
from gputuner.telemetry.schedule import NS

_log = logging.getLogger(__name__)


class LocalFeed:
    """Ticks from a source that cannot hang, read by a ``Sampler`` in a thread.

    The source's clock runs at wall pace: ``t_ns`` are of ``clock`` (default: the host's monotonic clock).
    """

    def __init__(
        self,
        source: CardSource,
        fast_hz: float = 2.0,
        slow_s: float = 5.0,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Start reading; ``close`` closes the source too."""
        self._source = source
        self._clock = clock
        self._hub = Hub("local")
        self._notices: dict[tuple[str, str], Notice] = {}
        self._sampler = Sampler(source, fast_hz, slow_s, start_ns=clock(), tell=self._note)
        self._meter = Meter(clock())
        self._cpu_s = 0.0
        self._state, self._code = FeedState.STARTING, ""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="local feed", daemon=True)
        self._thread.start()

    @property
    def origin(self) -> Origin:
        """As the source says."""
        return self._source.origin

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
        """State, counters and own cost (processor time of the reading thread)."""
        age_s = self._meter.age_s(self._clock())
        return FeedStatus(
            state=self._state,
            code=self._code,
            ticks=self._sampler.ticks,
            missed_ticks=self._sampler.missed_ticks,
            dropped_ticks=self._hub.dropped,
            rejected_values=int(getattr(self._source, "rejected", 0)),
            own_cpu_s=self._cpu_s,
            own_cpu_fraction=self._cpu_s / age_s if age_s > 0 else None,
            interval_s=self._meter.interval_s(),
            fast_cost=self._meter.cost("tick"),
            notices=tuple(self._notices.values()),
        )

    def close(self) -> None:
        """Stop reading; idempotent."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._hub.close()
        self._source.close()
        self._state = FeedState.CLOSED

    def _serve(self) -> None:
        pause_s = 0.0
        while not self._closing.wait(pause_s):
            now = self._clock()
            try:
                tick = self._sampler.due(now)
            except Exception:
                self._state, self._code = FeedState.FAILING, "telemetry_failing"
                _log.exception("reading %s failed", type(self._source).__name__)
                tick = None
            else:
                error = self._sampler.error
                self._state = FeedState.FAILING if error else FeedState.OK
                self._code = error.code if error else "" if self._sampler.cards() else "telemetry_no_cards"
            if tick is not None:
                self._meter.called("tick", self._clock() - now)
                for sample in tick.samples[:1]:
                    self._meter.sampled(sample.card, sample.t_ns)
                self._hub.publish(tick)
            self._cpu_s = time.thread_time()
            pause_s = max(0.0, (self._sampler.next_due_ns - self._clock()) / NS)

    def _note(self, notice: Notice) -> None:
        key = (notice.code, str(notice.params.get("card", "")))
        known = self._notices.get(key)
        count = known.count + 1 if known else 1
        told = Notice(code=notice.code, t_ns=notice.t_ns, params=notice.params, count=count)
        self._notices = {**self._notices, key: told}
