# pyright: standard
"""Other sessions to compare with: listed and read in the background."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gputuner.analysis.regression import Key
from gputuner.analysis.session_spread import SessionSpread
from gputuner.gui.ports import Ports, SessionEntry
from gputuner.gui.run_state import RunFacts
from gputuner.gui.run_worker import Background
from gputuner.gui.session_content import read_facts

Spreads = Mapping[Key, SessionSpread]
"""How far stored sessions lie apart, by figure."""


class Others(QObject):
    """Sessions of one experiment."""

    listed = Signal()
    """``entries`` are known anew."""
    opened = Signal(object, object, object)
    """A session's path, its ``RunFacts``, and how far stored sessions up to it lie apart (by figure)."""
    figures = Signal(object, object)
    """A session's path and its ``RunFacts``, after ``read``."""
    failed = Signal(object, object)
    """A session's path, and why it cannot be read."""

    def __init__(self, ports: Ports, background: Background, experiment: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ports = ports
        self._background = background
        self._experiment = experiment
        self.every: tuple[SessionEntry, ...] = ()
        """All sessions that can be read, of whatever experiment."""
        self.entries: tuple[SessionEntry, ...] = ()

    def refresh(self) -> None:
        """List them anew."""

        def answer(entries: tuple[SessionEntry, ...]) -> None:
            self.every = tuple(entry for entry in entries if entry.summary is not None)
            self.entries = tuple(e for e in self.every if e.summary and e.summary.experiment == self._experiment)
            self.listed.emit()

        self._background.ask(lambda: tuple(self._ports.sessions()), answer)

    def read(self, path: Path) -> None:
        """Read the figures of a session alone."""
        self._background.ask(
            lambda: self._facts_of(path),
            lambda facts: self.figures.emit(path, facts),
            lambda err: self.failed.emit(path, err),
        )

    def _facts_of(self, path: Path) -> RunFacts:
        reader = self._ports.open_session(path)
        try:
            return read_facts(reader)
        finally:
            reader.close()

    def open(self, path: Path, run_id: str) -> None:
        """Read the figures of a session, to compare the run ``run_id`` with."""

        def read() -> tuple[RunFacts, Spreads]:
            return self._facts_of(path), self._ports.spreads(path, run_id)

        def answer(found: tuple[RunFacts, Spreads]) -> None:
            self.opened.emit(path, *found)

        self._background.ask(read, answer, lambda err: self.failed.emit(path, err))
