"""The main window: navigation, pages, actions, theme and language. State lives beside the pages, so they can be rebuilt."""

from collections.abc import Callable
from time import monotonic

from PySide6.QtCore import QEvent, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from gputuner.gui.live import Live
from gputuner.gui.navigation import Entry, Navigation
from gputuner.gui.pages.monitor import SPANS_S, MonitorPage
from gputuner.gui.pages.monitor_numbers import span_words
from gputuner.gui.palette import CommandPalette
from gputuner.gui.ports import Ports
from gputuner.gui.run_worker import Background, RunThread
from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import Choice, Theme, pick, qt_palette
from gputuner.gui.widgets.hatch_strip import HatchStrip
from gputuner.language.words import _, language, set_language
from gputuner.model.cards import Origin
from gputuner.telemetry.feed import Feed

CLOSE_WAIT_MS = 20_000
"""How long closing waits for a cancelled run to restore and store everything."""


class MainWindow(QMainWindow):
    """Frame of all pages."""

    theme_changed = Signal()
    """The pages were rebuilt in another theme or language."""

    def __init__(self, ports: Ports, theme: Choice | None = None) -> None:
        super().__init__()
        self.ports = ports
        self.choice = theme or Choice(ports.preference("theme") or Choice.SYSTEM)
        self.theme: Theme = pick(self.choice)
        self.live = Live(self)
        self.background = Background(self)
        self.record_run = RunThread(self)
        self.feed: Feed = ports.feed
        self._recording_since: float | None = None
        self._closing = False
        self.record_run.finished.connect(self._recording_over)
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self._show_recording)
        self.setWindowTitle("gputuner")
        self.setMinimumSize(1000, 640)
        self.resize(1366, 768)
        self.palette_panel: CommandPalette | None = None
        self._named_actions: list[QAction] = []
        self.live.follow(self.feed)
        self.rebuild()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_theme_changed)

    def rebuild(self, page: str = "monitor") -> None:
        """Build all pages anew in the current theme and language; what they show lives on beside them."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(qt_palette(self.theme))
            application.setStyleSheet(stylesheet(self.theme))
        central = QWidget()
        central.setProperty("role", "page")
        self.navigation = Navigation(
            self.theme,
            [
                Entry("monitor", _("Monitor"), "Ctrl+1"),
            ],
        )
        self.navigation.chosen.connect(self.show_page)
        self.stack = QStackedWidget()
        self.strip = HatchStrip(self.theme)
        self.monitor = MonitorPage(self.theme, self.live, lambda: self.feed.status())
        self.monitor.record_wanted.connect(self.toggle_recording)
        self.monitor.live_wanted.connect(self.back_to_live)
        self.pages: dict[str, QWidget] = {"monitor": self.monitor}
        for widget in self.pages.values():
            self.stack.addWidget(widget)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self.strip)
        right.addWidget(self.stack, 1)
        layout = QHBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.navigation)
        layout.addLayout(right, 1)
        self.setCentralWidget(central)
        self.palette_panel = CommandPalette(central)
        self._make_actions()
        self.show_page(page)
        self._show_recording()
        self.theme_changed.emit()

    @property
    def page(self) -> str:
        """Name of the page that is shown."""
        return next(name for name, widget in self.pages.items() if widget is self.stack.currentWidget())

    def show_page(self, name: str) -> None:
        """Show a page."""
        self.stack.setCurrentWidget(self.pages[name])
        self.navigation.show_page(name)
        self.strip.show_origin(self.page_origin())

    def page_origin(self) -> Origin:
        """Where the numbers on the current page come from."""
        return self.live.origin

    def actions_by_name(self) -> dict[str, QAction]:
        """Every action of the window by its words."""
        return {action.text(): action for action in self._named_actions}

    def _make_actions(self) -> None:
        for action in self._named_actions:
            self.removeAction(action)
            action.deleteLater()
        self._named_actions = []
        add = self._add_action
        for number, (name, words) in enumerate(self._page_words(), start=1):
            add(_("Show {page}").format(page=words), f"Ctrl+{number}", lambda name=name: self.show_page(name))
        add(_("Commands…"), "Ctrl+K", self.open_palette)
        add(_("Next card"), "Ctrl+PgDown", lambda: self.monitor.choose_next(1))
        add(_("Previous card"), "Ctrl+PgUp", lambda: self.monitor.choose_next(-1))
        add(_("Pause or resume the pictures"), "Ctrl+P", self.monitor.toggle_pause)
        add(_("Start or stop recording"), "Ctrl+R", self.toggle_recording)
        for number, seconds in enumerate(SPANS_S, start=1):
            words = _("Show the last {span}").format(span=span_words(seconds))
            add(words, f"Alt+{number}", lambda seconds=seconds: self.monitor.show_span(seconds))
        add(_("Icons only in the navigation"), "Ctrl+B", self._fold)
        add(_("Light theme"), "Ctrl+Alt+L", lambda: self.choose_theme(Choice.LIGHT))
        add(_("Dark theme"), "Ctrl+Alt+D", lambda: self.choose_theme(Choice.DARK))
        add(_("Theme of the system"), "Ctrl+Alt+S", lambda: self.choose_theme(Choice.SYSTEM))
        add("English", "Ctrl+Alt+E", lambda: self.choose_language("en"))
        add("简体中文", "Ctrl+Alt+Z", lambda: self.choose_language("zh_CN"))
        add(_("Quit"), "Ctrl+Q", self.close)

    def _page_words(self) -> list[tuple[str, str]]:
        return [("monitor", _("Monitor"))]

    def _add_action(self, words: str, keys: str, act: Callable[[], object]) -> None:
        action = QAction(words, self)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _checked=False: act())
        self.addAction(action)
        self._named_actions.append(action)

    def open_palette(self) -> None:
        """Show the command palette."""
        if self.palette_panel is not None:
            self.palette_panel.open(self._named_actions)

    def choose_theme(self, choice: Choice) -> None:
        """Use another theme and remember it."""
        self.choice = choice
        self.ports.set_preference("theme", choice.value)
        self.theme = pick(choice)
        self._rebuild_here()

    def choose_language(self, tag: str) -> None:
        """Use another language and remember it."""
        if set_language(tag) == language():
            self.ports.set_preference("language", tag)
            self._rebuild_here()

    def toggle_recording(self) -> None:
        """Start recording all cards, or end the recording."""
        if self.record_run.busy:
            self.record_run.cancel()
            return
        cards = tuple(self.live.cards)
        if cards:
            self._recording_since = monotonic()
            self.record_run.begin(lambda: self.ports.start_record(cards))
            self._second.start()
            self._show_recording()

    def follow_feed(self, feed: Feed) -> None:
        """Let Monitor show another feed (a replay)."""
        if self.feed is not self.ports.feed:
            self.feed.close()
        self.feed = feed
        self.live.follow(feed)
        self.monitor.show_replayed(feed.origin is Origin.REPLAYED and feed is not self.ports.feed)
        self.show_page("monitor")

    def back_to_live(self) -> None:
        """Leave the replay."""
        self.follow_feed(self.ports.feed)

    def changeEvent(self, event: QEvent) -> None:
        """No repaints while minimised."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.monitor.set_awake(not self.isMinimized())

    def closeEvent(self, event: QCloseEvent) -> None:
        """Cancel what runs (results are kept), then end every thread."""
        for run in self._runs():
            run.cancel()
        for run in self._runs():
            run.wait(CLOSE_WAIT_MS)
        self._second.stop()
        self.live.leave()
        if self.feed is not self.ports.feed:
            self.feed.close()
        self.background.stop()
        super().closeEvent(event)

    def _runs(self) -> tuple[RunThread, ...]:
        return (self.record_run,)

    def _rebuild_here(self) -> None:
        current, span, narrow = self.monitor.current, self.monitor.span_s, self.navigation.narrow
        self.rebuild(self.page)
        self.navigation.set_narrow(narrow)
        self.monitor.show_span(span)
        if current is not None:
            self.monitor.choose(current)
        self.monitor.show_replayed(self.feed is not self.ports.feed)

    def _fold(self) -> None:
        self.navigation.set_narrow(not self.navigation.narrow)

    def _system_theme_changed(self) -> None:
        if self.choice is Choice.SYSTEM and pick(self.choice) is not self.theme:
            self.theme = pick(self.choice)
            self._rebuild_here()

    def _show_recording(self) -> None:
        since = self._recording_since
        self.monitor.show_recording(None if since is None else monotonic() - since)

    def _recording_over(self) -> None:
        self._recording_since = None
        self._second.stop()
        self._show_recording()
