"""Sampling tiers over a card source in one thread, driven by times that are handed in.

Used where no call can hang: the host's own processor, simulated cards on their clock. NVML goes through the collector.
"""

from collections.abc import Callable

from gputuner.devices.protocol import CardSource
from gputuner.model.cards import CardInfo
from gputuner.model.errors import DeviceError, DeviceLost
from gputuner.model.quantities import Tier
from gputuner.telemetry.feed import Notice, Tick
from gputuner.telemetry.ledger import Ledger
from gputuner.telemetry.schedule import Schedule


def _ignore(_notice: Notice) -> None:
    """Tell nobody."""


class Sampler:
    """Reads every card's fast tier at ``fast_hz`` and its slow tier each ``slow_s`` seconds."""

    def __init__(
        self,
        source: CardSource,
        fast_hz: float = 2.0,
        slow_s: float = 5.0,
        start_ns: int = 0,
        tell: Callable[[Notice], None] = _ignore,
    ) -> None:
        """Ask nothing yet; the first ``due`` at or after ``start_ns`` scans the cards and reads all tiers."""
        self.source = source
        self._fast = Schedule(1 / fast_hz, start_ns, punctual=True)
        self._slow = Schedule(slow_s, start_ns)
        self._ledger = Ledger(fast_hz, tell, start_ns)
        self.ticks = 0
        """Fast readings made so far, over all cards."""
        self.error: DeviceError | None = None
        """Why the last scan failed."""

    @property
    def next_due_ns(self) -> int:
        """When to call ``due`` again."""
        return self._fast.next_ns

    @property
    def missed_ticks(self) -> int:
        """Fast times that passed unread."""
        return self._fast.missed

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards as last known."""
        return tuple(watch.info for watch in self._ledger.watches.values())

    def due(self, t_ns: int) -> Tick | None:
        """Read what is due at ``t_ns``; None if nothing is, or nothing was told."""
        if not self._fast.take(t_ns):
            return None
        if self._ledger.scan_due(t_ns):
            self._scan(t_ns)
        slow = self._slow.take(t_ns)
        for watch in self._ledger.ready():
            if watch.wants(t_ns):
                self.ticks += 1
                self._read(watch.info.uuid, t_ns, slow)
        self._ledger.xids(self.source.xids())
        return self._ledger.tick(t_ns)

    def _scan(self, t_ns: int) -> None:
        try:
            found = self.source.cards()
        except DeviceError as error:
            self.error = error
            self._ledger.scan_failed(t_ns)
        else:
            self.error = None
            self._ledger.scan(found, t_ns)

    def _read(self, uuid: str, t_ns: int, slow: bool) -> None:
        try:
            told = self._ledger.fast(self.source.sample(uuid, Tier.FAST, t_ns), t_ns)
        except DeviceError as error:
            self._ledger.error(uuid, error, t_ns)
            return
        if not (slow and told):
            return
        try:
            self._ledger.slow(self.source.sample(uuid, Tier.SLOW, t_ns), self.source.processes(uuid, t_ns))
        except DeviceLost as error:
            self._ledger.error(uuid, error, t_ns)
        except DeviceError as error:
            self._ledger.error(uuid, error, t_ns, fast=False)
