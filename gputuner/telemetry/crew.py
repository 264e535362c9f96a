"""A crew of threads of which one leads: it runs the loop and makes the calls, which may hang, itself.

Handing calls to other threads costs more than the calls. So the leader makes them one after the other, and a deputy
looks now and then: when a call is not back after ``HELP_S`` the deputy takes the lead and goes on with the loop, so
that a slow call holds up nothing else. The relieved thread hands its answer over when it comes back, and ends.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from gputuner.telemetry.schedule import NS

T = TypeVar("T")

HELP_S = 0.02
"""A call that takes longer than this costs its thread the lead (real ones take 3 to 6 ms)."""


class Job(Generic[T]):
    """One kind of call on one card, made over and over. While it is out it is not asked again: nothing queues up."""

    def __init__(self, kind: str, card: str, call: Callable[[int], T], take: Callable[[T], None]) -> None:
        """``call`` gets the time at which it is made; ``take`` gets its value, in the asking thread."""
        self.kind = kind
        self.card = card
        self.asked_ns: int | None = None
        """Set while the call is out; written only by the asking thread."""
        self._call = call
        self._take = take

    @property
    def idle(self) -> bool:
        """True if the call may be asked for."""
        return self.asked_ns is None

    def run(self, begun_ns: int, clock: Callable[[], int]) -> "Answer":
        """Make the call (in a thread of the crew)."""
        try:
            value = self._call(begun_ns)
        except Exception as error:  # handed to the asking thread, which knows the kinds
            return Answer(self, begun_ns, clock(), None, error)  # pyright: ignore[reportArgumentType]
        return Answer(self, begun_ns, clock(), partial(self._take, value))  # pyright: ignore[reportArgumentType]


@dataclass(slots=True)
class Answer:
    """A call is back: ``deliver`` hands its value over (in the asking thread), or ``error`` says why there is none."""

    job: Job[object]
    begun_ns: int
    ended_ns: int
    deliver: Callable[[], None] | None = None
    error: Exception | None = None

    @property
    def seconds(self) -> float:
        """Wall time the call took."""
        return (self.ended_ns - self.begun_ns) / NS


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
        self._answers: deque[Answer] = deque()
        self._bell: SimpleQueue[bool] = SimpleQueue()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._loop: Callable[[], None] | None = None
        self._call_ns: int | None = None
        self._rest_until_ns = 0
        self.term = 0
        """How often the lead was taken."""

    def run(self, loop: Callable[[], None]) -> None:
        """Run ``loop`` in whichever thread leads, until it returns; raises what it raises."""
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
        try:
            self._loop()
        except Relieved:
            return
        except BaseException as error:
            self.term += 1
            self._ended.put(error)
        else:
            self.term += 1
            self._ended.put(None)
        self._lock.release()

    def _deputise(self, term: int) -> None:
        """Look after each round whether the leader is stuck in a call; then lead."""
        while term == self.term:
            now, since = self._clock(), self._call_ns
            if since is None:
                pause = max(self._rest_until_ns - now, 0) / NS + HELP_S
            else:
                pause = HELP_S - (now - since) / NS
                if pause <= 0 and self._lock.acquire(blocking=False):
                    if term == self.term and self._call_ns == since:
                        self._lead()
                        return
                    self._lock.release()
            time.sleep(max(pause, 0.001))

    def ask(self, jobs: Sequence[Job[object]], now_ns: int) -> None:
        """Have these (idle) jobs run by ``wait``, in this order."""
        for job in jobs:
            job.asked_ns = now_ns
        self._waiting.extend(jobs)

    def wait(self, until_ns: int) -> list[Answer] | None:
        """Make the calls asked for, or rest until ``until_ns`` or an answer comes; None once ``stop`` was called."""
        term, waiting, clock, lock = self.term, self._waiting, self._clock, self._lock
        while waiting:
            job = waiting.popleft()
            begun = self._call_ns = clock()
            lock.release()
            answer = job.run(begun, clock)
            lock.acquire()
            self._answers.append(answer)
            if term != self.term:
                lock.release()
                self._bell.put(True)
                raise Relieved
            self._call_ns = None
            if answer.ended_ns >= until_ns:
                break
        going = True
        if not self._answers:
            self._rest_until_ns = until_ns
            self._lock.release()
            with suppress(Empty):
                going = self._bell.get(timeout=max(0.0, (until_ns - self._clock()) / NS))
            self._lock.acquire()
        elif not self._bell.empty():
            going = self._bell.get()
        if not going:
            return None
        answers = [self._answers.popleft() for _ in range(len(self._answers))]
        for answer in answers:
            answer.job.asked_ns = None
        return answers

    def stop(self) -> None:
        """End ``wait`` soon; from any thread."""
        self._bell.put(False)
