"""A run as its reader sees it: a blocking iterator that always ends with ``RunFinished``."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from gputuner.model.events import Event, RunFinished, StepProgressed, TelemetrySampled

TELEMETRY_BACKLOG = 64
"""Unread telemetry events kept for a slow reader; older ones are dropped. Of a step's progress one is kept: the newest.
Other events are never dropped.
"""


class EventQueue:
    """Events from the engine's thread to one reader; only intermediate telemetry and progress may be lost."""

    def __init__(self) -> None:
        """Start empty and open."""
        self._events: deque[Event] = deque()
        self._telemetry_waiting = 0
        self._changed = threading.Condition()

    def put(self, event: Event) -> None:
        """Queue an event; drops unread progress, and the oldest unread telemetry when the reader is far behind."""
        with self._changed:
            if isinstance(event, StepProgressed):
                self._drop_first(StepProgressed)
            self._events.append(event)
            if isinstance(event, TelemetrySampled):
                self._telemetry_waiting += 1
                if self._telemetry_waiting > TELEMETRY_BACKLOG:
                    self._drop_first(TelemetrySampled)
                    self._telemetry_waiting -= 1
            self._changed.notify()

    def get(self) -> Event:
        """The next event; blocks until there is one."""
        with self._changed:
            while not self._events:
                self._changed.wait()
            event = self._events.popleft()
            if isinstance(event, TelemetrySampled):
                self._telemetry_waiting -= 1
            return event

    def _drop_first(self, kind: type[Event]) -> None:
        for i, event in enumerate(self._events):
            if isinstance(event, kind):
                del self._events[i]
                return


class Run(Iterator[Event]):
    """One performed experiment. Iterate it in one thread; cancel it from any."""

    def __init__(self, run_id: str, session_path: Path | None, request_cancel: Callable[[bool], None]) -> None:
        """Made by the engine; ``request_cancel(force)`` reaches the performing thread."""
        self.run_id = run_id
        self.session_path = session_path
        self._queue = EventQueue()
        self._request_cancel = request_cancel
        self._ended = False
        self._finished = threading.Event()

    def tell(self, event: Event) -> None:
        """Called by the engine only: pass an event (already stored) on to the reader."""
        self._queue.put(event)
        if isinstance(event, RunFinished):
            self._finished.set()

    def __iter__(self) -> Iterator[Event]:
        """The run is its own iterator."""
        return self

    def __next__(self) -> Event:
        """The next event; ``StopIteration`` after ``RunFinished``."""
        if self._ended:
            raise StopIteration
        event = self._queue.get()
        self._ended = isinstance(event, RunFinished)
        return event

    def cancel(self, *, force: bool = False) -> None:
        """End the run and keep what was measured. Idempotent; ``force`` kills workers without grace."""
        if not self._finished.is_set():
            self._request_cancel(force)

    def wait(self, timeout_s: float | None = None) -> bool:
        """True once the run has finished (the reader may still have events to read)."""
        return self._finished.wait(timeout_s)
