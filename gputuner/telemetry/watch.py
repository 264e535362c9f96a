"""The state of one watched card: whether it may be asked, and the gaps its silence leaves."""

from dataclasses import replace

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap, Sample
from gputuner.telemetry.schedule import NS, Backoff

_READY, _NOT_READ = CardState.READY, Reason.NOT_READ
"""Held by itself: each look into an enumeration costs more than what is done with it."""
BREAKER_AFTER = 3
"""Failed readings in a row after which a card is left alone for a while."""


def failed_wholly(sample: Sample) -> bool:
    """True if the driver answered nothing but errors: no value, and at least one plain error."""
    return not sample.values and Reason.ERROR in sample.missing.values()


def asleep(sample: Sample) -> bool:
    """True if the card was found asleep and nothing was asked of it."""
    return not sample.values and Reason.ASLEEP in sample.missing.values()


class CardWatch:
    """One card's breaker and gaps.

    States: *ready* (asked every tick) → *failing* after ``BREAKER_AFTER`` whole failures (asked once after each pause
    of 1, 2, 4 … 60 s) → ready with the first good sample. ready or failing → *lost* on ``DeviceLost`` (never asked)
    → ready when a scan finds the card anew. ready → *asleep* (never asked, so that it is not woken) → ready when a
    scan finds it awake. Each return to ready closes one gap, from the last good sample to the first new one.

    Attributes:
        steady: True from a good sample on until anything else happens.
    """

    __slots__ = ("_pauses", "_why", "failures", "gap_after_ns", "info", "last_good_ns", "retry_ns", "steady")

    def __init__(self, info: CardInfo, gap_after_s: float) -> None:
        """Watch ``info``; a silence longer than ``gap_after_s`` is a gap even if nothing failed."""
        self.info = info
        self.failures = 0
        self.last_good_ns: int | None = None
        self.retry_ns: int | None = None
        self.steady = False
        self.gap_after_ns = round(gap_after_s * NS)
        self._why = Reason.NOT_READ
        self._pauses = Backoff()

    @property
    def failing(self) -> bool:
        """True while the breaker is open."""
        return self.failures >= BREAKER_AFTER

    @property
    def ready(self) -> bool:
        """True unless the card is lost or asleep."""
        return self.info.state is _READY

    def wants(self, now_ns: int) -> bool:
        """True if the card may be asked now."""
        return self.ready and (self.retry_ns is None or now_ns >= self.retry_ns)

    def good(self, t_ns: int) -> Gap | None:
        """A sample came; returns the gap that it ends, if there was one."""
        last, why = self.last_good_ns, self._why
        self.last_good_ns, self.steady = t_ns, True
        if self.failures or why is not _NOT_READ:
            self.failures, self.retry_ns, self._why = 0, None, _NOT_READ
            self._pauses.reset()
        if last is None or (why is _NOT_READ and t_ns - last <= self.gap_after_ns):
            return None
        return Gap(card=self.info.uuid, t0_ns=last, t1_ns=t_ns, reason=why)

    def failed(self, now_ns: int) -> bool:
        """The driver failed for this card; True if the breaker opened just now."""
        self.failures += 1
        self._why, self.steady = Reason.ERROR, False
        if self.failing:
            self.retry_ns = now_ns + round(self._pauses.pause_s() * NS)
        return self.failures == BREAKER_AFTER

    def lost(self, now_ns: int) -> CardInfo:
        """The card is gone; returns its new state."""
        self._why, self.steady = Reason.LOST, False
        self.info = replace(self.info, state=CardState.LOST, lost_since_ns=now_ns)
        return self.info

    def slept(self) -> CardInfo:
        """The card was found asleep; returns its new state."""
        self._why, self.steady = Reason.ASLEEP, False
        self.info = replace(self.info, state=CardState.ASLEEP)
        return self.info

    def seen(self, info: CardInfo, now_ns: int) -> CardInfo | None:
        """A scan found the card; returns its new state if anything changed."""
        if info.state is CardState.LOST:
            since = self.info.lost_since_ns or info.lost_since_ns or now_ns
            known = self.info if self.last_good_ns is not None else info
            info = replace(known, state=CardState.LOST, lost_since_ns=since)
            self._why, self.steady = Reason.LOST, False
        elif info.state is CardState.ASLEEP:
            self._why, self.steady = Reason.ASLEEP, False
        elif not self.ready:
            self.failures, self.retry_ns = 0, None
        if info == self.info:
            return None
        self.info = info
        return info
