"""Stamps events and tells them: the store first, then the reader.

What a reader has seen is on disk, but for telemetry, which is committed once a second, and a step's progress, which is
not kept.
"""

from collections.abc import Sequence
from typing import Any, cast

from gputuner.devices.protocol import Clock
from gputuner.engine.run import Run
from gputuner.model.errors import StoreError
from gputuner.model.events import Event, Outcome, RunFinished, StepProgressed, TelemetrySampled
from gputuner.model.steps import without_folders


class Teller:
    """One per run. ``RunFinished`` waits for :meth:`finish`, so that locks are free when the reader sees it."""

    def __init__(self, run: Run, store: Any, clock: Clock, private: Sequence[str] = ()) -> None:
        """``store`` None: nothing is kept. ``private``: folders that no text of an event names."""
        self._run = run
        self._private = private
        self._store = store
        self._clock = clock
        self._seq = 0
        self._last: RunFinished | None = None
        self.store_error: StoreError | None = None

    def tell(self, cls: type[Event], **fields: Any) -> None:
        """Make, store and pass on an event.

        Raises:
            StoreError: it could not be kept; the run has to end.
        """
        event = self._make(cls, fields)
        if not isinstance(event, StepProgressed):
            self._keep(event)
        self._run.tell(event)

    def idle(self) -> None:
        """Let the store commit what is due.

        Raises:
            StoreError: it cannot.
        """
        if self._store is not None and self.store_error is None:
            self._store.tick()

    def end(self, **fields: Any) -> None:
        """Store ``RunFinished`` and close the store; the reader gets it at :meth:`finish`."""
        self._last = self._make(RunFinished, fields)
        if self._store is None:
            return
        try:
            self._store.write(self._last)
        except StoreError as err:
            self.store_error = err
        finally:
            self._close()

    def finish(self) -> None:
        """Tell the reader that the run is over, whatever happened."""
        bug = {"outcome": Outcome.FAILED, "exit_code": 1, "error_code": "bug", "error_text": "engine"}
        last: RunFinished = self._last or self._make(RunFinished, bug)
        self._run.tell(last)

    def _make(self, cls: type[Any], fields: dict[str, Any]) -> Any:
        self._seq += 1
        told = {name: self._public(value) for name, value in fields.items()} if self._private else fields
        return cls(run_id=self._run.run_id, seq=self._seq, t_ns=self._clock.now_ns(), **told)

    def _public(self, value: Any) -> Any:
        """A text, or the texts of a record, without the private folders: errors of a recipe and what it prints."""
        if type(value) is str:  # a word of an enumeration stays one
            return without_folders(value, self._private)
        if isinstance(value, dict):
            return {name: self._public(entry) for name, entry in cast("dict[str, Any]", value).items()}
        return value

    def _keep(self, event: Event) -> None:
        if self._store is None:
            return
        try:
            self._store.write(event)
            if not isinstance(event, TelemetrySampled):
                self._store.flush()
        except StoreError as err:
            self.store_error = err
            raise

    def _close(self) -> None:
        try:
            self._store.close()
        except StoreError as err:
            self.store_error = self.store_error or err
