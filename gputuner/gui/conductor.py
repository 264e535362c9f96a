# pyright: standard
"""What the window does apart from showing: runs, recordings, the feed, calls in the background. Outlives the pages."""

from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal

from gputuner.gui.alert_desk import AlertDesk
from gputuner.gui.desk import Desk
from gputuner.gui.elsewhere import Elsewhere
from gputuner.gui.live import Live
from gputuner.gui.others import Others
from gputuner.gui.ports import Ports, Run, SessionEntry
from gputuner.gui.questions import TRAINING
from gputuner.gui.queue_desk import QueueDesk
from gputuner.gui.run_state import RunState
from gputuner.gui.run_worker import Background, RunThread
from gputuner.gui.session_content import SessionContent, read_content
from gputuner.gui.supply_desk import Draws
from gputuner.gui.try_desk import TryDesk
from gputuner.gui.watch_desk import WatchDesk
from gputuner.gui.wear_desk import WearDesk
from gputuner.model.events import Event, RunFinished
from gputuner.telemetry.feed import Feed

CLOSE_WAIT_MS = 20_000
"""How long closing waits for a cancelled run to put settings back and store everything."""


class Conductor(QObject):
    """Owns threads and state. Answers of background calls come as signals in the window's thread."""

    recording_changed = Signal()
    """A recording began, ended, or a second has passed."""
    feed_changed = Signal()
    """Monitor shows another feed."""
    listed = Signal(object)
    """The stored sessions: a tuple of ``SessionEntry``."""
    opened = Signal(object, object)
    """A session's path and its ``SessionContent``."""
    done = Signal(object)
    """An export or deletion is done: a tuple of ``("exported" | "deleted", paths)``."""
    failed = Signal(object)
    """A call about sessions or recording failed: an exception."""

    def __init__(self, ports: Ports, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ports = ports
        self.live = Live(self)
        self.background = Background(self)
        self.tuning = Desk(ports, self.background, self)
        self.training = Desk(ports, self.background, self)
        self.asking = {TRAINING: self.training}
        self.watching = WatchDesk(ports, self.background, self)
        self.asking |= {name: Desk(ports, self.background, self) for name in ports.questions}
        self.asking["watch"] = self.watching
        self.benching = Desk(ports, self.background, self)
        self.contending = Desk(ports, self.background, self)
        self.power = Desk(ports, self.background, self)
        self.cooling = Desk(ports, self.background, self)
        self.health = Desk(ports, self.background, self)
        self.wear = WearDesk(ports, self)
        self.queue = QueueDesk(ports.queue, self.background, self)
        self.others = Others(ports, self.background, "bench", self)
        self.draws = Draws(ports, self.background, self)
        self.elsewhere = Elsewhere(ports, self.background, self)
        self.alerts = AlertDesk(ports.alerts, ports.feed, self.live, self.background, self)
        self.trying = TryDesk(ports, self.background, self)
        runs = (self.tuning, *self.asking.values(), self.benching, self.contending, self.power, self.cooling)
        runs = (*runs, self.health)
        self.desks = (*runs, self.trying)
        self.record_run = RunThread(self)
        self.home: Feed = ports.feed
        self.feed = self.home
        self.last_session: Path | None = None
        self._named: dict[Path, None] = {}
        self._recording_since: float | None = None
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self.recording_changed)
        for desk in self.desks:
            if desk is not self.trying:  # it belongs to the run whose advice it tries, which stays the last one
                desk.kept.connect(lambda run, desk=desk: self._remember_session(run, desk.folder))
        self.record_run.told.connect(self._record_told)
        self.record_run.refused.connect(self.failed)
        self.record_run.finished.connect(self._recording_over)
        self.live.follow(self.feed)

    @property
    def tune(self) -> RunState:
        """State of the run of Tune."""
        return self.tuning.state

    @property
    def tune_run(self) -> RunThread:
        """Thread of the run of Tune."""
        return self.tuning.thread_

    @property
    def replaying(self) -> bool:
        """True while Monitor shows a replay."""
        return self.feed is not self.home

    @property
    def recording_s(self) -> float | None:
        """Seconds since the recording began, or None."""
        return None if self._recording_since is None else monotonic() - self._recording_since

    def toggle_recording(self) -> None:
        """Start recording all cards, or end the recording."""
        if self.record_run.busy:
            self.record_run.cancel()
            return
        cards = tuple(self.live.cards)
        if cards and not self.replaying:
            self._recording_since = monotonic()
            self.record_run.begin(lambda: self.ports.start_record(cards))
            self._second.start()
            self.recording_changed.emit()

    def follow(self, feed: Feed) -> None:
        """Let Monitor show another feed; a replay that is left is closed."""
        if self.replaying:
            self.feed.close()
        self.feed = feed
        self.live.follow(feed)
        self.feed_changed.emit()

    def back_to_live(self) -> None:
        """Leave the replay."""
        if self.replaying:
            self.follow(self.home)

    def replay(self, path: Path) -> None:
        """Play a session back in Monitor."""
        self.background.ask(lambda: self.ports.replay(path), self.follow, self.failed.emit)

    def list_sessions(self) -> None:
        """Ask for the list of sessions."""

        def answer(entries: tuple[SessionEntry, ...]) -> None:
            self.listed.emit(entries)

        named = tuple(self._named)
        self.background.ask(lambda: tuple(self.ports.sessions(named)), answer, self.failed.emit)

    def keep_listed(self, path: Path) -> None:
        """List this file too as long as the window is open, wherever it lies."""
        self._named[path] = None

    def open_session(self, path: Path) -> None:
        """Read a session for showing."""

        def read() -> SessionContent:
            reader = self.ports.open_session(path)
            try:
                return read_content(reader)
            finally:
                reader.close()

        self.background.ask(read, lambda content: self.opened.emit(path, content), self.failed.emit)

    def export_session(self, path: Path, form: str, target: Path) -> None:
        """Write a session to a file."""
        self.background.ask(
            lambda: self.ports.export_session(path, form, target),
            lambda paths: self.done.emit(("exported", paths)),
            self.failed.emit,
        )

    def delete_session(self, path: Path) -> None:
        """Delete a session for good."""

        def deleted(_result: object) -> None:
            self.done.emit(("deleted", (path,)))
            self.list_sessions()

        self.background.ask(lambda: self.ports.delete_session(path), deleted, self.failed.emit)

    def close(self) -> None:
        """Cancel what runs (results are kept) and end every thread; idempotent."""
        runs = (*(desk.thread_ for desk in self.desks), self.record_run)
        self.watching.leave()
        for run in runs:
            if run is not self.watching.thread_ or run.run is None:
                run.cancel()
        for run in runs:
            run.wait(CLOSE_WAIT_MS)
        self._second.stop()
        self.queue.follow(False)
        self.alerts.close()
        self.live.leave()
        if self.replaying:
            self.feed.close()
        self.wear.stop()
        self.background.stop()

    def _record_told(self, event: Event) -> None:
        if isinstance(event, RunFinished) and self.record_run.run is not None:
            self._remember_session(self.record_run.run)

    def _remember_session(self, run: Run, folder: str = "") -> None:
        if run.session_path is not None:
            self.last_session = run.session_path
        self.trying.remember_folder(run.run_id, folder)

    def _recording_over(self) -> None:
        self._recording_since = None
        self._second.stop()
        self.recording_changed.emit()
