"""What is known of the watched cards, and what has been read of them since the last tick was sent."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from gputuner.devices.packing import Packed, Swept
from gputuner.model.cards import CardInfo
from gputuner.model.errors import DeviceLost
from gputuner.model.readings import Scalar
from gputuner.model.samples import CardProcesses, Gap, Sample, XidSeen
from gputuner.telemetry.feed import Notice, Tick, merged
from gputuner.telemetry.scan import Watches, take_scan
from gputuner.telemetry.schedule import NS, Backoff, Schedule
from gputuner.telemetry.watch import CardWatch, asleep, failed_wholly

RESCAN_S = 60.0
FIRST_RESCAN_S = 5.0


def gap_after_s(fast_hz: float) -> float:
    """Silence of a card that counts as a gap, in seconds: three intervals, at least two seconds."""
    return max(2.0, 3.0 / fast_hz)


class Ledger:
    """Answers go in, ticks come out. Used by one thread.

    When a card is lost or asleep, scans come after 5, 10, … 60 s until it is back, otherwise each 60 s.
    """

    def __init__(self, fast_hz: float, tell: Callable[[Notice], None], now_ns: int) -> None:
        """Know no card yet; ``tell`` gets what a reader must know once."""
        self.watches: Watches = {}
        self._gap_after_s = gap_after_s(fast_hz)
        self._tell = tell
        self._scan = Schedule(RESCAN_S, now_ns)
        self._pauses = Backoff(FIRST_RESCAN_S, RESCAN_S)
        self._all_failed = False
        self._ready: tuple[CardWatch, ...] | None = None
        self.error_code = "telemetry_failing"
        """Code of the last error that was not about one card being lost."""
        self._samples: list[Sample] = []
        self._packed: list[Packed] = []
        self._newest_ns = 0
        self._in_order = True
        """No slow sample is among the held ones and each is newer than the one before: they are rows as they are."""
        self._processes: list[CardProcesses] = []
        self._gaps: list[Gap] = []
        self._xids: list[XidSeen] = []
        self._changed: list[CardInfo] = []

    def ready(self) -> tuple[CardWatch, ...]:
        """The cards that are neither lost nor asleep; the very same object until a scan or until that changes."""
        if self._ready is None:
            self._ready = tuple(watch for watch in self.watches.values() if watch.ready)
        return self._ready

    @property
    def all_failing(self) -> bool:
        """True while there are ready cards and each gives nothing but errors."""
        ready = self.ready()
        for watch in ready:
            if not watch.failing:
                return False
        return bool(ready)

    @property
    def scan_ns(self) -> int:
        """When the cards are to be scanned next."""
        return self._scan.next_ns

    def scan_due(self, now_ns: int) -> bool:
        """True if the cards are to be scanned now."""
        return self._scan.take(now_ns)

    def scan(self, found: Iterable[CardInfo], now_ns: int) -> None:
        """Take what a scan found."""
        away = {uuid for uuid, watch in self.watches.items() if not watch.ready}
        self._changed.extend(take_scan(self.watches, found, now_ns, self._gap_after_s))
        self._ready = None
        for watch in self.ready():
            if watch.info.uuid in away:
                self.tell("telemetry_card_found", now_ns, card=watch.info.uuid)
        if len(self.ready()) == len(self.watches):
            self._pauses.reset()
        else:
            self._scan_soon(now_ns)

    def scan_failed(self, now_ns: int) -> None:
        """A scan raised: try again after a pause."""
        self._scan_soon(now_ns)

    def _scan_soon(self, now_ns: int) -> None:
        if self._scan.next_ns > now_ns + round(RESCAN_S / 2 * NS):
            self._scan.restart(now_ns + round(self._pauses.pause_s() * NS))

    def fast(self, sample: Sample, now_ns: int) -> bool:
        """Take a card's fast tier; True if it told something (a card that sleeps or wholly fails does not)."""
        watch = self.watches.get(sample.card)
        if watch is None or not watch.ready:
            return False
        if not sample.values:
            if asleep(sample):
                self._changed.append(watch.slept())
                self._ready = None
                self._scan_soon(now_ns)
                return False
            if failed_wholly(sample):
                self._samples.append(sample)
                self._in_order = False
                self._failed(watch, now_ns)
                return False
        self._samples.append(sample)
        if sample.t_ns <= self._newest_ns:
            self._in_order = False
        self._newest_ns = sample.t_ns
        self._good(watch, sample.t_ns, now_ns)
        return True

    def packed(self, packed: Packed, now_ns: int) -> bool:
        """Take a card's fast tier as the driver gave it; True unless the card is away by now."""
        watch = self.watches.get(packed.packing.card)
        if watch is None or not watch.ready:
            return False
        self._packed.append(packed)
        self._good(watch, packed.t_ns, now_ns)
        return True

    def swept(self, swept: Swept, now_ns: int) -> None:
        """Take the fast tier of cards that were read in one go."""
        self._packed.append(swept.packed)
        self.told(swept.cards, swept.times, now_ns)

    def told(self, cards: Sequence[str], times: Sequence[int], now_ns: int) -> None:
        """Each of these cards told something at its time, in a reading that need not be sent any more."""
        for card, t_ns in zip(cards, times, strict=False):
            watch = self.watches[card]
            if watch.steady and t_ns - (watch.last_good_ns or 0) <= watch.gap_after_ns:
                watch.last_good_ns = t_ns
            elif watch.ready:
                self._good(watch, t_ns, now_ns)

    def told_often(self, cards: Sequence[str], rounds: Sequence[Sequence[int]], now_ns: int) -> None:
        """As ``told``, for rounds of which the last time of each is its end."""
        gap_ns = round(self._gap_after_s * NS)
        whole = all(later[-1] - earlier[0] <= gap_ns for earlier, later in pairwise(rounds))
        for times in rounds[:1] if whole else rounds:
            self.told(cards, times, now_ns)
        for card, t_ns in zip(cards, rounds[-1], strict=False):
            self.watches[card].last_good_ns = t_ns

    def _good(self, watch: CardWatch, t_ns: int, now_ns: int) -> None:
        """The card told something."""
        failing = watch.failing
        gap = watch.good(t_ns)
        if gap is not None:
            self._gaps.append(gap)
        if failing:
            self._all_failed = False
            silent_s = round((gap.t1_ns - gap.t0_ns) / NS, 1) if gap else 0.0
            self.tell("telemetry_card_recovered", now_ns, card=watch.info.uuid, silent_s=silent_s)

    def slow(self, read: Sample | Packed, table: CardProcesses) -> None:
        """Take a card's slow tier and its process table."""
        watch = self.watches.get(table.card)
        if watch is None or not watch.ready:
            return
        if isinstance(read, Packed):
            self._packed.append(read)
        else:
            self._samples.append(read)
            self._in_order = False
        self._processes.append(table)

    def error(self, card: str, error: Exception, now_ns: int, fast: bool = True) -> None:
        """Reading a card raised."""
        watch = self.watches.get(card)
        if watch is None or not watch.ready:
            return
        if isinstance(error, DeviceLost):
            self._changed.append(watch.lost(now_ns))
            self._ready = None
            self.tell("telemetry_card_lost", now_ns, card=card)
            self._scan_soon(now_ns)
        elif fast:
            self.error_code = getattr(error, "code", "telemetry_failing")
            self._failed(watch, now_ns)

    def _failed(self, watch: CardWatch, now_ns: int) -> None:
        opened = watch.failed(now_ns)
        if self.all_failing:
            if not self._all_failed:
                self.tell("telemetry_failing", now_ns, error=self.error_code)
            self._all_failed = True
        elif opened:
            self.tell("telemetry_card_failing", now_ns, card=watch.info.uuid, error=self.error_code)

    def xids(self, seen: Iterable[XidSeen]) -> None:
        """Take XID errors."""
        self._xids.extend(seen)

    def tell(self, code: str, t_ns: int, **params: Scalar) -> None:
        """Tell a reader something."""
        self._tell(Notice(code=code, t_ns=t_ns, params=params))

    def drained(self, t_ns: int) -> tuple[list[Packed], Tick | None]:
        """What came in since the last call: packed readings, and a tick of all else, None if there is nothing else."""
        packed, self._packed = self._packed, []
        if self._samples or self._processes or self._gaps or self._xids or self._changed:
            return packed, self.tick(t_ns)
        return packed, None

    def tick(self, t_ns: int) -> Tick | None:
        """What came in since the last call, in order of time, tiers read together in one row; None if nothing did."""
        if not (self._samples or self._processes or self._gaps or self._xids or self._changed):
            return None
        tick = Tick(
            t_ns=t_ns,
            samples=tuple(self._samples) if self._in_order else merged(self._samples),
            processes=tuple(self._processes),
            gaps=tuple(self._gaps),
            xids=tuple(self._xids),
            cards=tuple(self._changed),
        )
        for held in (self._samples, self._processes, self._gaps, self._xids, self._changed):
            held.clear()
        self._in_order = True
        return tick
