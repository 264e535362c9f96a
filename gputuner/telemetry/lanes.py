"""A lane: one thread for one kind of call on one card, so that a call that hangs holds up nothing else."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """A call is back: ``deliver`` hands its value over (in the asking thread), or ``error`` says why there is none."""

    lane: "Lane[object]"
    seconds: float
    """Wall time the call took."""
    deliver: Callable[[], None] | None = None
    error: Exception | None = None


class Lane(Generic[T]):
    """A thread that makes one call at a time. A busy lane is not asked again: nothing ever queues up behind it."""

    def __init__(
        self,
        kind: str,
        card: str,
        call: Callable[[int], T],
        take: Callable[[T], None],
        answers: "SimpleQueue[Answer | None]",
        clock: Callable[[], int],
    ) -> None:
        """Start the thread; ``call`` gets the time of its tick, ``take`` its value."""
        self.kind = kind
        self.card = card
        self.busy_since_ns: int | None = None
        """Set while a call is out; written only by the asking thread."""
        self._call = call
        self._take = take
        self._answers = answers
        self._clock = clock
        self._asked: SimpleQueue[int | None] = SimpleQueue()
        threading.Thread(target=self._serve, name=f"{kind} {card}", daemon=True).start()

    @property
    def idle(self) -> bool:
        """True if a call may be asked for."""
        return self.busy_since_ns is None

    def ask(self, t_ns: int) -> None:
        """Make the call for the tick at ``t_ns`` (only when idle)."""
        self.busy_since_ns = t_ns
        self._asked.put(t_ns)

    def end(self) -> None:
        """End the thread once its call is back."""
        self._asked.put(None)

    def _serve(self) -> None:
        while (t_ns := self._asked.get()) is not None:
            begun = self._clock()
            deliver: Callable[[], None] | None = None
            caught: Exception | None = None
            try:
                deliver = partial(self._take, self._call(t_ns))
            except Exception as error:  # handed to the asking thread, which knows the kinds
                caught = error
            seconds = (self._clock() - begun) / 1e9
            self._answers.put(Answer(self, seconds, deliver, caught))  # pyright: ignore[reportArgumentType]
