"""One experiment on several cards, one after the other, seen as one run."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gputuner.engine.run import Run
from gputuner.model.errors import GputunerError
from gputuner.model.events import Event, Outcome, RunFinished


class InTurn:
    """Starts the next card's run when the one before has ended; a cancel ends the present one and starts no more.

    Each run keeps its own session and ends with its own ``RunFinished``. A card that cannot be started (busy) is passed
    over if another follows.
    """

    def __init__(self, first: Run, later: Sequence[Callable[[], Run]]) -> None:
        """``first`` is under way; ``later`` start the others."""
        self._present = first
        self._later = list(later)
        self._lock = threading.Lock()
        self._cancelled = False

    @property
    def run_id(self) -> str:
        """Id of the present run."""
        return self._present.run_id

    @property
    def session_path(self) -> Path | None:
        """Session of the present run."""
        return self._present.session_path

    def __iter__(self) -> Iterator[Event]:
        """The events of all runs."""
        while True:
            outcome = Outcome.FAILED
            for event in self._present:
                outcome = event.outcome if isinstance(event, RunFinished) else outcome
                yield event
            if outcome is Outcome.CANCELLED or not self._advance():
                return

    def cancel(self) -> None:
        """End the present run and start no other; idempotent, from any thread."""
        with self._lock:
            self._cancelled = True
            self._present.cancel()

    def _advance(self) -> bool:
        while self._later:
            start = self._later.pop(0)
            with self._lock:
                if self._cancelled:
                    return False
                try:
                    self._present = start()
                except GputunerError:
                    if not self._later:
                        raise
                    continue
            return True
        return False
