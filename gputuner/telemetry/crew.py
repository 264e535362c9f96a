"""A crew of threads that make calls which may hang: as few as possible, one more whenever one is stuck.

One thread makes all calls of a round one after the other (waking one thread per card costs more than the calls). When
a call is not back after ``HELP_S`` the next thread goes on with the rest, so that a slow call holds up nothing else.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from gputuner.telemetry.schedule import NS

T = TypeVar("T")

HELP_S = 0.02
"""A call that takes longer than this gets the rest of its round another thread (real ones take 3 to 6 ms)."""


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

    def run(self, clock: Callable[[], int]) -> "Answer":
        """Make the call (in a thread of the crew)."""
        begun = clock()
        try:
            value = self._call(begun)
        except Exception as error:  # handed to the asking thread, which knows the kinds
            return Answer(self, (clock() - begun) / NS, None, error)  # pyright: ignore[reportArgumentType]
        return Answer(self, (clock() - begun) / NS, lambda: self._take(value))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, slots=True)
class Answer:
    """A call is back: ``deliver`` hands its value over (in the asking thread), or ``error`` says why there is none."""

    job: Job[object]
    seconds: float
    """Wall time the call took."""
    deliver: Callable[[], None] | None = None
    error: Exception | None = None


class Crew:
    """The threads. All methods but ``stop`` belong to the asking thread."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """Start no thread yet."""
        self._clock = clock
        self._waiting: deque[Job[object]] = deque()
        self._answers: deque[Answer] = deque()
        self._go: SimpleQueue[bool] = SimpleQueue()
        self._bell: SimpleQueue[bool] = SimpleQueue()
        self._idle = 0
        self._help_ns: int | None = None
        self.threads = 0

    def ask(self, jobs: Sequence[Job[object]], now_ns: int) -> None:
        """Have these (idle) jobs run, in this order."""
        if not jobs:
            return
        for job in jobs:
            job.asked_ns = now_ns
        self._waiting.extend(jobs)
        self._send_one(now_ns)

    def _send_one(self, now_ns: int) -> None:
        self._help_ns = now_ns + round(HELP_S * NS)
        if self._idle:
            self._idle = 0
        else:
            self.threads += 1
            threading.Thread(target=self._serve, name=f"call {self.threads}", daemon=True).start()
        self._go.put(True)

    def wait(self, until_ns: int) -> list[Answer] | None:
        """What came back, at the latest at ``until_ns``; None once ``stop`` was called."""
        until = until_ns if self._help_ns is None else min(until_ns, self._help_ns)
        try:
            working = self._bell.get(timeout=max(0.0, (until - self._clock()) / NS))
        except Empty:
            pass
        else:
            if not working:
                for _ in range(self.threads):
                    self._go.put(False)
                return None
            self._come_back()
        answers: list[Answer] = []
        while self._answers:
            answers.append(self._answers.popleft())
            answers[-1].job.asked_ns = None
        now = self._clock()
        if not self._waiting:
            self._help_ns = None
        elif answers:
            self._help_ns = now + round(HELP_S * NS)
        elif self._help_ns is not None and now >= self._help_ns:
            self._send_one(now)
        return answers

    def _come_back(self) -> None:
        """A thread has nothing left to do; of two such threads one ends."""
        if self._idle:
            self.threads -= 1
            self._go.put(False)
        else:
            self._idle = 1

    def stop(self) -> None:
        """End ``wait`` and the threads whose calls come back; from any thread."""
        self._bell.put(False)

    def _serve(self) -> None:
        while self._go.get():
            while True:
                try:
                    job = self._waiting.popleft()
                except IndexError:
                    break
                self._answers.append(job.run(self._clock))
            self._bell.put(True)
