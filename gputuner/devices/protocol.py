"""What every kind of card offers to be watched, and the clock a run lives on."""

import time
from typing import Protocol

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Tier
from gputuner.model.samples import CardProcesses, Sample, XidSeen


class Clock(Protocol):
    """Stamps a run's events; wall or simulated."""

    def now_ns(self) -> int:
        """Nanoseconds on this clock (monotonic, arbitrary zero)."""
        ...


class WallClock:
    """The host's monotonic clock; on Linux the same in all processes."""

    def now_ns(self) -> int:
        """``time.monotonic_ns()``."""
        return time.monotonic_ns()


class CardSource(Protocol):
    """A set of cards that can be asked. Calls may block or raise ``DeviceError``; the collector guards them.

    NVML (in the collector's child process), simulated and host cards implement it.
    """

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards with identity, limits and state (lost and sleeping ones included)."""
        ...

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        """Read one tier of one card (UUID); every due quantity lands in ``values`` or ``missing``.

        Raises:
            DeviceLost: the card is gone; its handle is never used again until ``cards()`` finds it anew.
        """
        ...

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        """The process table of one card."""
        ...

    def xids(self) -> tuple[XidSeen, ...]:
        """XID errors since the last call; never blocks."""
        ...

    def close(self) -> None:
        """Release the library; idempotent."""
        ...
