"""What reaches the thread that performs a run: worker messages, worker ends, telemetry ticks, cancel."""

import queue
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gputuner.telemetry.feed import Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class FromWorker:
    """A message of a worker (one JSON object of the wire protocol)."""

    worker: str
    message: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGone:
    """A worker process ended; ``exit_code`` negative: by that signal."""

    worker: str
    exit_code: int
    stderr_tail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TickArrived:
    """A tick of the collector."""

    tick: Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """The reader wants the run to end."""

    force: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEnded:
    """No tick will come any more (a recording is over)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandGone:
    """The user's command that is followed has ended."""


Item = FromWorker | WorkerGone | TickArrived | CancelRequested | FeedEnded | CommandGone


class Inbox(Protocol):
    """Where items arrive; on a simulated clock waiting moves that clock."""

    def put(self, item: Item) -> None:
        """Deliver an item; callable from any thread."""
        ...

    def get(self, until_ns: int) -> Item | None:
        """The next item, or None once the run's clock has reached ``until_ns``."""
        ...


class WallInbox:
    """Inbox on the host's monotonic clock."""

    def __init__(self) -> None:
        """Start empty."""
        self._queue: queue.SimpleQueue[Item] = queue.SimpleQueue()

    def put(self, item: Item) -> None:
        """Deliver an item; callable from any thread and from signal handlers."""
        self._queue.put(item)

    def get(self, until_ns: int) -> Item | None:
        """The next item, or None at ``until_ns`` (``time.monotonic_ns``)."""
        try:
            return self._queue.get(timeout=max(0.0, (until_ns - time.monotonic_ns()) / 1e9))
        except queue.Empty:
            return None
