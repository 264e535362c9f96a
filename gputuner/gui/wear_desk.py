# pyright: standard
"""Reads the wear of a card from its stored sessions, in a thread of its own: many sessions may take a while."""

from threading import Event
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gputuner.gui.ports import Ports
from gputuner.gui.run_worker import Background

if TYPE_CHECKING:
    from gputuner.analysis.wear import Wear


class WearDesk(QObject):
    """What is known of the wear of each card; asked anew, the older answer is shown until the newer is there."""

    changed = Signal()
    """An answer has come, or how far the reading is."""
    _counted = Signal(int, int)

    def __init__(self, ports: Ports, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ports = ports
        self._background = Background(self)
        self._stop = Event()
        self._asked = ""
        self.found: dict[str, Wear | None] = {}
        """By UUID; None: no stored session of it."""
        self.failed: dict[str, Exception] = {}
        self.progress = (0, 0)
        """Sessions read, of how many."""
        self._counted.connect(self._progressed)

    @property
    def pending(self) -> int:
        """Cards that are being read."""
        return self._background.pending

    def ask(self, uuid: str) -> None:
        """Read the wear of a card, unless it is being read just now."""
        if not uuid or self._background.pending or self._stop.is_set():
            return
        self._asked, self.progress = uuid, (0, 0)
        self._background.ask(
            lambda: self._ports.wear(uuid, self._counted.emit, self._stop.is_set),
            lambda wear: self._answer(uuid, wear),
            lambda err: self._refused(uuid, err),
        )
        self.changed.emit()

    def stop(self) -> None:
        """End the thread; what is being read is left."""
        self._stop.set()
        self._background.stop()

    def _answer(self, uuid: str, wear: "Wear | None") -> None:
        self.found[uuid] = wear
        self.failed.pop(uuid, None)
        self.changed.emit()

    def _refused(self, uuid: str, err: Exception) -> None:
        self.failed[uuid] = err
        self.changed.emit()

    def _progressed(self, done: int, total: int) -> None:
        self.progress = (done, total)
        self.changed.emit()
