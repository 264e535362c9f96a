"""The collector's loop: one round of fast readings per tick, slow readings, scans and events beside them.

All state belongs to the thread of the crew that leads; a call that is stuck touches nothing of it.
"""

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from gputuner.devices.packing import Packed, Swept
from gputuner.devices.protocol import CardSource
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Tier
from gputuner.model.samples import CardProcesses, Sample
from gputuner.telemetry.calls import Job, Joint, Questions
from gputuner.telemetry.crew import Crew
from gputuner.telemetry.feed import Notice
from gputuner.telemetry.hangs import Hangs
from gputuner.telemetry.ledger import Ledger
from gputuner.telemetry.meter import Meter
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.schedule import NS, Backoff, Schedule
from gputuner.telemetry.suspend import Suspend, suspended_ns
from gputuner.telemetry.vitals import Vitals
from gputuner.telemetry.watch import CardWatch
from gputuner.telemetry.wire import Hello, Line, Noticed, PackedTick, Ticked

T = TypeVar("T")

HEALTH_S = 10.0
QUIET_S = 1.0
"""After so long without a line (or a quarter of the deadline) a sign of life is sent."""
SLOW_GRACE_S = 0.05
"""How long a tick's sending (not its reading) waits for slow answers, so that both tiers make one row."""
AFTER_SUSPEND_S = 2.0
FAST, SLOW = Tier.FAST, Tier.SLOW
XIDS, SCAN, REOPEN = "xids", "scan", "reopen"

_log = logging.getLogger(__name__)


class Rounds:
    """Rounds over one source.

    A *round* opens on each fast time: every card that may be asked and whose last call is back is asked; one that is
    still out counts as a missed tick. It closes (one ``Tick`` is sent) when all asked cards answered, at the latest
    after the grace; an answer that comes later travels with the next tick under its own time.
    When every card gives nothing but errors, and after a suspend, nothing is asked until the library was opened anew,
    which is tried after pauses of 1, 2, 4 … 60 s and only while no call is out.
    """

    def __init__(
        self,
        source: CardSource,
        rates: Rates,
        emit: Callable[[Line | PackedTick], None],
        clock: Callable[[], int] = time.monotonic_ns,
        slept_ns: Callable[[], int] = suspended_ns,
    ) -> None:
        """Ask nothing yet."""
        self._source, self._emit, self._clock, self._suspend = source, emit, clock, Suspend(slept_ns)
        self._questions = Questions(source)
        self._joint: Joint | None = None
        now = clock()
        self._ledger = Ledger(rates.fast_hz, self._tell, now)
        self._meter = Meter(now)
        self._vitals = Vitals(source, self._ledger, self._meter)
        self._crew = Crew(clock)
        self._jobs: dict[tuple[str, str], Job[object]] = {}
        self._fast = Schedule(1 / rates.fast_hz, now, punctual=True)
        self._slow = Schedule(rates.slow_s, now + round(rates.slow_s * NS))
        self._slow_owed: set[str] = set()
        self._ready: tuple[CardWatch, ...] = ()
        self._fast_jobs: list[tuple[CardWatch, Job[object]]] = []
        self._health = Schedule(HEALTH_S, now + NS)
        self._reopen_pauses = Backoff()
        self._reopen_ns: int | None = None
        self._resumed = False
        self._round: list[Job[object]] = []
        self._calm: Joint | None = None
        """What a round does in which nothing but fast readings and XIDs is due; None if the next may be another."""
        self._calm_until_ns = 0
        self._unsettled: list[tuple[int, ...]] = []
        """When each card was read and when all were, by calm round."""
        self._round_ns = self._sent_ns = self._now_ns = now
        self._open = self._failing = False
        self._quiet_ns = round(min(QUIET_S, rates.hang_s / 4) * NS)
        self._hang_ns = rates.hang_s * NS
        self._grace_ns = round(min(0.5 / rates.fast_hz, 0.2) * NS)
        self._hangs = Hangs(rates.hang_s, source, self._tell)
        self._logged: set[str] = set()

    def run(self) -> None:
        """Scan, say hello, then serve until ``stop``.

        Raises:
            DeviceError: the first scan failed.
        """
        now = self._clock()
        self._ledger.scan_due(now)
        self._ledger.scan(self._source.cards(), now)
        self._emit(Hello(pid=os.getpid(), origin=self._source.origin, cards=len(self._ledger.watches)))
        self._send_tick(self._clock())
        self._crew.run(self._serve)

    def _serve(self) -> None:
        while self._step():
            pass

    def stop(self) -> None:
        """End ``run`` soon; from any thread."""
        self._crew.stop()

    def _step(self) -> bool:
        now = self._clock()
        if self._fast.take(now):
            self._begin(now)
        until = min(self._fast.next_ns, self._close_ns()) if self._open else self._fast.next_ns
        back = self._crew.wait(until)
        if back is None:
            return False
        if back or self._open:
            self._now_ns = now = self._clock()
            self._take(back)
            if self._open and (not self._crew.out or now >= self._close_ns()):
                self._send_tick(now)
        return True

    def _close_ns(self) -> int:
        """When the open round is to be sent: now if all are back, else after a grace."""
        opened, slow = self._round_ns, False
        for job in self._round:
            if job.asked_ns == opened:
                if job.kind is FAST:
                    return opened + self._grace_ns
                slow = slow or job.kind is SLOW
        return opened + (min(round(SLOW_GRACE_S * NS), self._grace_ns) if slow else 0)

    def _begin(self, now: int) -> None:
        if self._open:
            self._send_tick(now)
        self._round_ns, self._open = now, True
        if self._calm is not None and self._is_calm(now):
            self._calm_round(self._calm, now)
            return
        self._settle(now)
        self._round, self._calm = [], None
        if not self._has_slept(now):
            if self._opens_anew(now):
                self._reopen_if_due(now)
            else:
                self._plan(now)
            self._crew.ask(self._round, now)
        news = self._ledger.all_failing is not self._failing
        if self._crew.out > len(self._round) or self._hangs:
            news = self._hangs.look(self._jobs.values(), now) or news
        if self._health.take(now) or news or now - self._sent_ns >= self._quiet_ns:
            self._send_health(now)
        self._calm_until_ns = min(self._slow.next_ns, self._health.next_ns, self._ledger.scan_ns)

    def _is_calm(self, now: int) -> bool:
        """True if nothing is due but the fast tier of the same cards as in the round before."""
        return (
            now < self._calm_until_ns
            and now - self._sent_ns < self._quiet_ns
            and not self._crew.out
            and not self._suspend.seen()
        )

    def _calm_round(self, joint: Joint, now: int) -> None:
        """Read all cards and send what they tell; what is only counted is put down for ``_settle``."""
        self._round = [joint]
        self._meter.ticks += len(self._fast_jobs)
        swept = self._crew.make(joint, now)
        if not isinstance(swept, Swept):
            self._swept(None)
            return
        self._open, self._sent_ns = False, now
        self._unsettled.append(swept.times)
        self._emit(PackedTick(now, (swept.packed,), None))

    def _settle(self, now: int) -> None:
        """Count what was read in calm rounds."""
        if self._unsettled:
            cards = [watch.info.uuid for watch in self._ready]
            self._meter.swept(FAST, self._unsettled)
            self._meter.sampled(cards[0], *(times[0] for times in self._unsettled))
            self._ledger.told_often(cards, self._unsettled, now)
            self._unsettled.clear()

    def _plan(self, now: int) -> None:
        """Put into the round what is due, fast readings first."""
        ready = self._ledger.ready()
        if ready is not self._ready:
            self._know(ready)
        if not ready:
            self._plan_scan(now)
            return
        joint = self._all_at_once(now)
        if joint is None:
            for watch, job in self._fast_jobs:
                if watch.retry_ns is None or watch.wants(now):
                    self._plan_fast(job)
            self._put(XIDS, "", self._ledger.xids, self._questions.xids)
        else:
            self._round.append(joint)
            self._meter.ticks += len(self._fast_jobs)
            self._calm = joint
        if self._slow.take(now):
            self._slow_owed.update(watch.info.uuid for watch in ready)
        if self._slow_owed:
            self._plan_slow(ready, now)
        self._plan_scan(now)

    def _know(self, ready: tuple[CardWatch, ...]) -> None:
        """Other cards are ready than before; what is new is read in both tiers at once."""
        known = {watch.info.uuid for watch in self._ready}
        self._slow_owed.update(watch.info.uuid for watch in ready if watch.info.uuid not in known)
        self._upset()
        self._ready, self._fast_jobs = ready, [(watch, self._fast_job(watch.info.uuid)) for watch in ready]

    def _all_at_once(self, now: int) -> Joint | None:
        """The job that reads all cards in one go; None if the source does not, or not all are to be asked now."""
        if self._joint is None and not any(watch.retry_ns is not None for watch in self._ready):
            sweep = self._questions.sweep([watch.info.uuid for watch in self._ready], now)
            self._joint = None if sweep is None else Joint(FAST, self._parts(), sweep, self._swept)
        return None if self._crew.out else self._joint

    def _parts(self) -> list[Job[object]]:
        """The jobs that a joint one stands for."""
        return [*(job for _, job in self._fast_jobs), self._job(XIDS, "", self._ledger.xids, self._questions.xids)]

    def _upset(self) -> None:
        """Something was not as in the rounds before: what holds for calm ones is to be found out anew."""
        self._calm = self._joint = None

    def _fast_job(self, uuid: str) -> Job[object]:
        return self._job(FAST, uuid, self._fast_read, self._questions.read, uuid, FAST)

    def _plan_fast(self, job: Job[object]) -> None:
        self._meter.ticks += 1
        if job.asked_ns is None:
            self._round.append(job)
        else:
            self._meter.missed += 1

    def _plan_slow(self, ready: tuple[CardWatch, ...], now: int) -> None:
        """All cards in one round: the way through the code is then walked once per period."""
        for watch in ready:
            uuid = watch.info.uuid
            if uuid in self._slow_owed and watch.wants(now) and not watch.failing:
                self._put(SLOW, uuid, self._slow_read, self._questions.slow, uuid)
                self._slow_owed.discard(uuid)

    def _plan_scan(self, now: int) -> None:
        if self._ledger.scan_due(now):
            self._put(SCAN, "", self._scanned, self._questions.scan)

    def _job(self, kind: str, card: str, take: Callable[[T], None], call: Callable[..., T], *told: str) -> Job[object]:
        """The job of this kind and card; made when first needed: ``call`` gets what it is ``told`` and the time."""
        job = self._jobs.get((kind, card))
        if job is None:
            job = self._jobs[kind, card] = Job(kind, card, partial(call, *told), take)  # pyright: ignore[reportArgumentType]
        return job  # pyright: ignore[reportReturnType]

    def _put(self, kind: str, card: str, take: Callable[[T], None], call: Callable[..., T], *told: str) -> None:
        """Put the job of this kind and card into the round, unless it is still out."""
        job = self._job(kind, card, take, call, *told)
        if job.asked_ns is None:
            self._round.append(job)

    def _take(self, back: list[Job[object]]) -> None:
        called, hang_ns = self._meter.called, self._hang_ns
        for job in back:
            if not isinstance(job, Joint):
                called(job.kind, job.took_ns)
            if job.error is not None:
                self._upset()
                self._take_error(job, job.error, self._now_ns)
            elif job.took_ns <= hang_ns:
                job.take(job.value)
            else:
                self._upset()

    def _take_error(self, job: Job[object], error: Exception, now: int) -> None:
        if job.kind == REOPEN:
            self._reopen_ns = now + round(self._reopen_pauses.pause_s() * NS)
        elif job.kind == SCAN:
            self._ledger.scan_failed(now)
        elif job.card:
            self._ledger.error(job.card, error, now, fast=job.kind == FAST)
        if repr(error) not in self._logged:
            self._logged.add(repr(error))
            _log.error("%s %s failed", job.kind, job.card, exc_info=error)

    def _fast_read(self, read: Sample | Packed) -> None:
        ledger, now = self._ledger, self._now_ns
        packed = isinstance(read, Packed)
        told = ledger.packed(read, now) if packed else ledger.fast(read, now)
        if told:
            self._reopen_pauses.reset()
        if not (told and packed):
            self._upset()  # its calls are made ready anew

    def _swept(self, read: Swept | None) -> None:
        """All cards were read in one go; if not, what is not stuck is asked one by one now."""
        if read is None:
            self._settle(self._round_ns)
            self._upset()
            jobs = [job for job in self._parts() if job.idle]
            self._round = [*self._round, *jobs]
            self._crew.ask(jobs, self._round_ns)
            return
        self._meter.swept(FAST, [read.times])
        self._ledger.swept(read, self._now_ns)
        self._reopen_pauses.reset()

    def _slow_read(self, read: tuple[Sample | Packed, CardProcesses]) -> None:
        self._ledger.slow(*read)

    def _scanned(self, found: tuple[CardInfo, ...]) -> None:
        self._upset()
        self._ledger.scan(found, self._now_ns)

    def _opens_anew(self, now: int) -> bool:
        """True if this round asks nothing because the library is to be opened anew."""
        if not (self._resumed or self._ledger.all_failing):
            self._reopen_ns = None
            return False
        return True

    def _reopen_if_due(self, now: int) -> None:
        if self._reopen_ns is None:
            self._reopen_ns = now + round(self._reopen_pauses.pause_s() * NS)
        if now >= self._reopen_ns and all(job.idle for job in self._jobs.values()):
            self._put(REOPEN, "", self._reopened, self._questions.reopen)

    def _reopened(self, found: tuple[CardInfo, ...]) -> None:
        """The library was opened anew: ask every card once, now."""
        now, self._reopen_ns, self._resumed = self._clock(), None, False
        self._upset()
        self._ledger.scan(found, now)
        if self._ledger.all_failing:
            self._reopen_ns = now + round(self._reopen_pauses.pause_s() * NS)
        for watch in self._ledger.ready():
            watch.retry_ns = None
            self._plan_fast(self._fast_job(watch.info.uuid))
        self._crew.ask([job for job in self._round if job.idle and job.kind == FAST], now)

    def _has_slept(self, now: int) -> bool:
        slept_s = self._suspend.over_s()
        if slept_s is None:
            return False
        self._ledger.tell("telemetry_suspended", now, slept_s=round(slept_s, 1))
        self._fast.restart(now + round(AFTER_SUSPEND_S * NS))
        self._reopen_ns, self._resumed = now + round(AFTER_SUSPEND_S * NS), True
        return True

    def _send_tick(self, now: int) -> None:
        self._open = False
        packed, rest = self._ledger.drained(self._round_ns)
        if not packed and rest is None:
            return
        self._sent_ns = now
        if packed:
            self._meter.sampled(packed[0].packing.card, packed[0].t_ns)
            self._emit(PackedTick(self._round_ns, packed, rest))
        elif rest is not None:
            for sample in rest.samples[:1]:
                self._meter.sampled(sample.card, sample.t_ns)
            self._emit(Ticked(tick=rest))

    def _tell(self, notice: Notice) -> None:
        self._emit(Noticed(code=notice.code, t_ns=notice.t_ns, params=notice.params))

    def _all_hung_s(self, now: int) -> float:
        """For how long nothing has come back of what must come back."""
        reopening = self._jobs.get((REOPEN, ""))
        if reopening is not None and reopening.asked_ns is not None:
            return (now - reopening.asked_ns) / NS
        if self._reopen_ns is not None and now > self._reopen_ns:
            return (now - self._reopen_ns) / NS  # a call that hangs keeps the library from being opened anew
        asked = [watch.info.uuid for watch in self._ledger.ready() if not watch.failing]
        jobs = [self._jobs.get((FAST, uuid)) for uuid in asked]
        since = [job.asked_ns for job in jobs if job is not None and job.asked_ns is not None]
        return (now - max(since)) / NS if since and len(since) == len(jobs) else 0.0

    def _send_health(self, now: int) -> None:
        self._sent_ns = now
        self._failing = self._ledger.all_failing
        self._vitals.pass_notes_on(now)
        missed = self._fast.missed * len(self._ledger.watches)
        self._emit(self._vitals.health(now, missed, self._hangs.calls(), self._all_hung_s(now)))
