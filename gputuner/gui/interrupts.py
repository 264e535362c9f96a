# pyright: standard
"""Ctrl-C in the terminal (and SIGTERM) closes the window properly: runs are cancelled and kept."""

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts(QObject):
    """Calls ``act`` in Qt's loop when a signal arrives; Python itself would only notice with its next own step."""

    def __init__(self, act: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)
        self._act = act
        self._before = {number: signal.signal(number, self._noted) for number in SIGNALS}
        self._wakeup_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def restore(self) -> None:
        """Put the handlers back that were there before; idempotent."""
        if self._before:
            signal.set_wakeup_fd(self._wakeup_before)
            for number, handler in self._before.items():
                signal.signal(number, handler)
            self._before = {}
            self._notifier.setEnabled(False)
            self._reader.close()
            self._writer.close()

    def _noted(self, _number: int, _frame: object) -> None:
        """The byte in the socket does the rest."""

    def _woken(self) -> None:
        if self._reader.recv(64):
            self._act()
