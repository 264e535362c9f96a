# pyright: standard
"""Runs in the background: a worker object on a QThread iterates a run and passes its events on as queued signals."""

from collections.abc import Callable
from threading import Event as Flag
from typing import cast

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot

from gputuner.gui.ports import Run


class RunWorker(QObject):
    """Starts a run in its thread and forwards what it tells; only ``cancel`` is called from other threads."""

    started = Signal(object)
    """The ``Run``, once it has started."""
    told = Signal(object)
    """One event."""
    refused = Signal(object)
    """The ``GputunerError`` (or any other exception) that kept the run from starting or broke its stream."""
    ended = Signal()
    """Nothing more will come."""

    def __init__(self, start: Callable[[], Run]) -> None:
        super().__init__()
        self._start = start
        self._run: Run | None = None
        self._cancelled = Flag()

    @Slot()
    def work(self) -> None:
        """Start the run and iterate it to its end."""
        try:
            if not self._cancelled.is_set():
                self._run = self._start()
                self.started.emit(self._run)
                if self._cancelled.is_set():
                    self._run.cancel()
                for event in self._run:
                    self.told.emit(event)
        except Exception as err:  # a failing run must reach the reader, never end the program
            self.refused.emit(err)
        finally:
            self.ended.emit()

    def cancel(self) -> None:
        """End the run early; idempotent, any thread."""
        self._cancelled.set()
        run = self._run
        if run is not None:
            run.cancel()


class RunThread(QObject):
    """One run with its thread, seen from the window's thread.

    States: idle → busy (``begin``) → idle (``finished`` was sent, the thread has ended).
    """

    told = Signal(object)
    """One event of the run."""
    refused = Signal(object)
    """The run could not start or its stream broke: an exception."""
    finished = Signal()
    """The run is over and its thread has ended."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: QThread | None = None
        self._worker: RunWorker | None = None
        self.run: Run | None = None

    @property
    def busy(self) -> bool:
        """True from ``begin`` until ``finished``."""
        return self._thread is not None

    @property
    def running(self) -> bool:
        """True while its thread runs."""
        return self._thread is not None and self._thread.isRunning()

    def begin(self, start: Callable[[], Run]) -> None:
        """Start a run in a new thread; nothing happens while one runs."""
        if self.busy:
            return
        thread = QThread(self)
        thread.setObjectName("run")
        worker = RunWorker(start)
        worker.moveToThread(thread)
        queued = Qt.ConnectionType.QueuedConnection
        worker.started.connect(self._remember, queued)
        worker.told.connect(self.told, queued)
        worker.refused.connect(self.refused, queued)
        worker.ended.connect(thread.quit, Qt.ConnectionType.DirectConnection)
        thread.started.connect(worker.work)
        thread.finished.connect(self._over, queued)
        self._thread, self._worker, self.run = thread, worker, None
        thread.start()

    def cancel(self) -> None:
        """Ask the run to end; what was measured is kept. Idempotent."""
        if self._worker is not None:
            self._worker.cancel()

    def wait(self, timeout_ms: int) -> bool:
        """Wait for the thread (when the program ends); True if it has ended."""
        thread = self._thread
        return thread is None or thread.wait(timeout_ms)

    @Slot(object)
    def _remember(self, run: Run) -> None:
        self.run = run

    @Slot()
    def _over(self) -> None:
        thread, worker = self._thread, self._worker
        self._thread = self._worker = None
        if worker is not None:
            worker.deleteLater()
        if thread is not None:
            thread.wait()
            thread.deleteLater()
        self.finished.emit()


class _Clerk(QObject):
    """Does calls one after the other in the thread it lives on; answers carry the call's number."""

    asked = Signal(int, object)
    answered = Signal(int, object)
    failed = Signal(int, object)

    def __init__(self) -> None:
        super().__init__()
        self.asked.connect(self._do)

    @Slot(int, object)
    def _do(self, number: int, call: Callable[[], object]) -> None:
        try:
            self.answered.emit(number, call())
        except Exception as err:  # the page shows it; the thread goes on
            self.failed.emit(number, err)


class Background(QObject):
    """One thread for calls that may take time (disk, dry runs), one after the other; answers arrive queued.

    All signals are the clerk's, who lives as long as the thread: an object of each call's own would be deleted here
    while the other thread is still about to come back from sending its signal.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = QThread(self)
        self._thread.setObjectName("background")
        self._clerk = _Clerk()
        self._clerk.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._clerk.answered.connect(self._answered, queued)
        self._clerk.failed.connect(self._failed, queued)
        self._waiting: dict[int, tuple[Callable[..., object], Callable[[Exception], object] | None]] = {}
        self._asked = 0
        self._thread.start()

    @property
    def running(self) -> bool:
        """True while its thread runs."""
        return self._thread.isRunning()

    @property
    def pending(self) -> int:
        """Calls that have not been answered yet."""
        return len(self._waiting)

    def ask(
        self,
        call: Callable[[], object],
        done: Callable[..., object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Do ``call`` in the background, then ``done(result)`` or ``failed(exception)`` in the window's thread."""
        self._asked += 1
        self._waiting[self._asked] = done, failed
        self._clerk.asked.emit(self._asked, call)

    def stop(self) -> None:
        """Finish the call at hand and end the thread; idempotent."""
        self._thread.quit()
        self._thread.wait()

    @Slot(int, object)
    def _answered(self, number: int, result: object) -> None:
        done, _ = self._waiting.pop(number)
        done(result)

    @Slot(int, object)
    def _failed(self, number: int, err: object) -> None:
        _, failed = self._waiting.pop(number)
        if failed is not None:
            failed(cast(Exception, err))
