"""A crew of threads of which one leads: it runs the loop and makes the calls, which may hang, itself.

Handing calls to other threads costs more than the calls. So the leader makes them one after the other, and a deputy
looks when an alarm goes off: when a call is not back after ``HELP_S`` the deputy takes the lead and goes on with the
loop, so that a slow call holds up nothing else. The relieved thread hands its answer over when it comes back, and ends.
As long as the leader comes to rest in time it puts the alarm off, and the deputy sleeps on.

A *joint* job makes the calls of several others in one go. When one of them is stuck, the deputy cuts it short: it comes
back without a value, the stuck one is out as a job of its own, and the relieved thread makes that one's call anew.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import NoReturn, TypeVar

from gputuner.telemetry.alarm import Alarm
from gputuner.telemetry.calls import Job, Joint
from gputuner.telemetry.schedule import NS

T = TypeVar("T")

HELP_S = 0.02
"""A call that takes longer than this costs its thread the lead (real ones take 3 to 6 ms)."""


class Relieved(BaseException):
    """Raised in a thread whose call took so long that another leads now; ends its loop."""


class Crew:
    """The threads.

    The leader holds the lock but for the time of a call or a rest; so a deputy can take the lead only then, and
    nothing but calls ever runs beside the loop.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        """Start no thread yet."""
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[Job[object]] = deque()
        self._back: list[Job[object]] = []
        self._bell = threading.Lock()
        self._bell.acquire()
        self._alarm = Alarm()
        self._stopped = False
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._loop: Callable[[], None] | None = None
        self._call_ns: int | None = None
        self._called: Job[object] | None = None
        self._rest_until_ns = 0
        self.out = 0
        """Jobs that were asked for and have not been returned by ``wait``."""
        self.term = 0
        """How often the lead was taken."""

    def run(self, loop: Callable[[], None]) -> None:
        """Run ``loop`` in whichever thread leads, until it returns; raises what it raises. Once."""
        self._loop = loop
        self._rest_until_ns = self._clock()
        self._lock.acquire()
        self._lead()
        ended = self._ended.get()
        if ended is not None:
            raise ended

    def _lead(self) -> None:
        """Lead from now on (the lock is held)."""
        self.term += 1
        self._call_ns = None
        threading.Thread(target=self._deputise, args=(self.term,), name=f"deputy {self.term}", daemon=True).start()
        assert self._loop is not None
        error: BaseException | None = None
        try:
            self._loop()
        except Relieved:
            return
        except BaseException as raised:  # handed to the thread that called ``run``
            error = raised
        self.term += 1
        self._alarm.put_off(0.001)
        self._ended.put(error)
        self._lock.release()

    def _deputise(self, term: int) -> None:
        """Look when the alarm goes off whether the leader is stuck in a call; then lead."""
        while term == self.term:
            now, since = self._clock(), self._since_ns()
            if since is None:
                pause = max(self._rest_until_ns - now, 0) / NS + HELP_S
            else:
                pause = HELP_S - (now - since) / NS
                if pause <= 0 and self._lock.acquire(blocking=False):
                    if term == self.term and self._since_ns() == since:
                        self._cut_short()
                        self._lead()
                        return
                    self._lock.release()
            self._alarm.wait(max(pause, 0.001))
        self._alarm.close()

    def _since_ns(self) -> int | None:
        """When the call that is out began; None while none is."""
        since, job = self._call_ns, self._called
        return since if since is None or not isinstance(job, Joint) else job.sweep.since_ns() or since

    def _cut_short(self) -> None:
        """If a joint job is out, have it back; the part of it that is stuck is out instead."""
        job = self._called
        if isinstance(job, Joint):
            job.cut()
            self.out += 1
            self._back.append(job)

    def ask(self, jobs: Sequence[Job[object]], now_ns: int) -> None:
        """Have these (idle) jobs run by ``wait``, in this order."""
        for job in jobs:
            job.asked_ns = now_ns
        self.out += len(jobs)
        self._waiting.extend(jobs)

    def wait(self, until_ns: int) -> list[Job[object]] | None:
        """Make the calls asked for, or rest until ``until_ns`` or a call is back; None once ``stop`` was called.

        Returns the jobs that are back, each with its value or error.
        """
        if self._waiting:
            self._make_calls(until_ns)
        if not self._back:
            self._rest(until_ns)
        if self._stopped:
            return None
        if not self._back:
            return []
        back, self._back = self._back, []
        for job in back:
            job.asked_ns = None
        self.out -= len(back)
        return back

    def _make_calls(self, until_ns: int) -> None:
        """Make the calls asked for one after the other, at least one, until ``until_ns``."""
        term, waiting, clock = self.term, self._waiting, self._clock
        begun = clock()
        while waiting:
            self._called = job = waiting.popleft()
            self._call_ns = begun
            value, error = self._outcome(job, begun)
            if term != self.term:
                self._leave(job, begun, value, error)
            ended = clock()
            job.value, job.error, job.took_ns = value, error, ended - begun
            self._back.append(job)
            begun = ended
            if ended >= until_ns:
                break
        self._call_ns = None

    def make(self, job: Job[object], now_ns: int) -> object:
        """Make one call at once, while no other is out or asked for; its value, or None if it told nothing."""
        term = self.term
        job.asked_ns = self._call_ns = now_ns
        self._called, self.out = job, 1
        value, error = self._outcome(job, now_ns)
        if term != self.term:
            self._leave(job, now_ns, value, error)
        job.asked_ns = self._call_ns = None
        self.out = 0
        return value

    def _leave(self, job: Job[object], begun_ns: int, value: object, error: Exception | None) -> NoReturn:
        """Another thread leads by now: hand it what came of this one's call, and end.

        Raises:
            Relieved: in any case.
        """
        if isinstance(job, Joint) and job.stuck is not None:
            job, begun_ns = job.stuck, job.sweep.since_ns() or begun_ns
            value, error = self._outcome(job, self._clock())
        job.value, job.error, job.took_ns = value, error, self._clock() - begun_ns
        self._back.append(job)
        self._lock.release()
        self._ring()
        raise Relieved

    def _outcome(self, job: Job[T], t_ns: int) -> tuple[T | None, Exception | None]:
        """What a call yields or raises; the lock is free meanwhile."""
        self._lock.release()
        try:
            return job.call(t_ns), None
        except Exception as error:  # handed to the asking thread, which knows the kinds
            return None, error
        finally:
            self._lock.acquire()

    def _rest(self, until_ns: int) -> None:
        """Sleep until ``until_ns`` or the bell."""
        left_s = (until_ns - self._clock()) / NS
        if left_s <= 0:
            return
        self._rest_until_ns = until_ns
        self._alarm.put_off(left_s + HELP_S)
        self._lock.release()
        self._bell.acquire(timeout=left_s)
        self._lock.acquire()

    def _ring(self) -> None:
        with suppress(RuntimeError):  # it rings already
            self._bell.release()

    def stop(self) -> None:
        """End ``wait`` soon; from any thread."""
        self._stopped = True
        self._ring()
