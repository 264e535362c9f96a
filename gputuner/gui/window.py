# pyright: standard
"""The main window: navigation, pages, theme, language. State lives in the conductor, so pages can be rebuilt."""

from pathlib import Path

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from gputuner.gui.actions import Actions
from gputuner.gui.conductor import Conductor
from gputuner.gui.dropped_files import dropped_sessions
from gputuner.gui.held_cards import TRY, HeldCards
from gputuner.gui.navigation import Entry, Navigation
from gputuner.gui.page_names import PAGES, page_words
from gputuner.gui.pages.bench import BenchPage
from gputuner.gui.pages.contention import ContentionPage
from gputuner.gui.pages.cooling import CoolingPage
from gputuner.gui.pages.experiment_page import ExperimentPage
from gputuner.gui.pages.health import HealthPage
from gputuner.gui.pages.monitor import MonitorPage
from gputuner.gui.pages.power import PowerPage
from gputuner.gui.pages.question_pages import QuestionPages
from gputuner.gui.pages.queue import QueuePage
from gputuner.gui.pages.sessions import SessionsPage
from gputuner.gui.pages.setup_panel import SetupState
from gputuner.gui.pages.training import TrainingPage, questions
from gputuner.gui.pages.tune import TunePage
from gputuner.gui.pages.watch import WatchPage
from gputuner.gui.palette import CommandPalette
from gputuner.gui.ports import Ports
from gputuner.gui.questions import TRAINING, question_words
from gputuner.gui.remembering import remember, wrong_preferences
from gputuner.gui.run_notices import RunNotices
from gputuner.gui.run_state import RunFacts
from gputuner.gui.session_content import SessionContent
from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import Choice, Theme, pick, qt_palette
from gputuner.gui.try_desk import Tries
from gputuner.gui.widgets.alert_panel import AlertPanel
from gputuner.gui.widgets.hatch_strip import HatchStrip
from gputuner.language import sentences
from gputuner.language.words import _, set_language
from gputuner.model.cards import Origin
from gputuner.model.errors import GputunerError


class MainWindow(QMainWindow):
    """Frame of all pages."""

    rebuilt = Signal()
    """The pages were built anew in another theme or language."""

    def __init__(self, ports: Ports, theme: Choice | None = None) -> None:
        super().__init__()
        self.ports = ports
        self.choice = theme or Choice(ports.preference("theme") or Choice.SYSTEM)
        self.theme: Theme = pick(self.choice)
        self.conductor = Conductor(ports, self)
        conductor = self.conductor
        self.desks = {"tune": conductor.tuning, **conductor.asking, "bench": conductor.benching}
        self.desks |= {"contention": conductor.contending, "power": conductor.power, "cooling": conductor.cooling}
        self.desks |= {"health": conductor.health}
        self.held = HeldCards({**self.desks, TRY: conductor.trying}, lambda: question_words() | page_words(), self)
        conductor.trying.use_held(lambda cards: self.held.by(cards, conductor.trying))
        self.notices = RunNotices(self.desks, conductor.alerts, lambda: question_words() | page_words(), self)
        self.setWindowTitle("gputuner")
        self.setMinimumSize(1060, 680)
        self.setAcceptDrops(True)
        self.resize(1366, 768)
        self.actions_ = Actions(self)
        self.rebuild()
        conductor.recording_changed.connect(self._show_recording)
        conductor.feed_changed.connect(self._feed_changed)
        for name, desk in self.desks.items():
            desk.planned.connect(lambda planned, name=name: self.experiments[name].show_planned(planned))
            desk.plan_failed.connect(lambda err, name=name: self.experiments[name].show_preview_error(err))
        conductor.listed.connect(lambda entries: self.sessions.show_entries(entries))
        conductor.opened.connect(self._show_content)
        conductor.trying.changed.connect(self._show_tries)
        self.held.changed.connect(self._show_tries)
        conductor.alerts.changed.connect(self._show_alerts)
        conductor.alerts.moved.connect(self._show_alerts)
        conductor.alerts.said.connect(self._said_of_alerts)
        conductor.done.connect(self._said_done)
        conductor.failed.connect(self._said_failed)
        for desk in conductor.desks:
            desk.state.changed.connect(self._show_strip)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_theme_changed)

    def rebuild(self, page: str = "monitor") -> None:
        """Build all pages anew in the current theme and language; what they show lives on in the conductor."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(qt_palette(self.theme))
        old = self.takeCentralWidget()
        if old is not None:
            old.hide()
            old.deleteLater()
        self.setStyleSheet(stylesheet(self.theme))
        central = QWidget()
        central.setProperty("role", "page")
        words = page_words()
        entries = [Entry(name, words[name], f"Ctrl+{number % 10}") for number, name in enumerate(PAGES, start=1)]
        self.navigation = Navigation(self.theme, entries)
        self.navigation.chosen.connect(self.navigate)
        self.strip = HatchStrip(self.theme)
        self.stack = QStackedWidget()
        self._make_pages()
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
        self.alert_panel = AlertPanel(self.theme, self.conductor.alerts, central)
        self.actions_.build()
        self.show_page(page)
        self.stack.setFocus()
        self._show_recording()
        self._show_alerts()
        self.rebuilt.emit()

    def _make_pages(self) -> None:
        conductor = self.conductor
        self.monitor = MonitorPage(self.theme, conductor.live, lambda: conductor.feed.status(), conductor.elsewhere)
        self.monitor.use_preferences(lambda: wrong_preferences(self.ports))
        self.monitor.record_wanted.connect(conductor.toggle_recording)
        self.monitor.alerts_wanted.connect(self.open_alerts)
        self.monitor.live_wanted.connect(conductor.back_to_live)
        self.monitor.show_replayed(conductor.replaying)
        self.tune = TunePage(self.theme, self.ports.tune_spec, conductor.live, conductor.tune)
        asked = self._questions()
        self.training, self.questions = asked[TRAINING], QuestionPages(asked)
        self.questions.chosen.connect(self.show_page)
        bench, suite = conductor.benching, self.ports.benchmarks
        self.bench = BenchPage(self.theme, self.ports.bench_spec, conductor.live, bench.state, suite, conductor.others)
        shared = conductor.contending.state
        self.contention = ContentionPage(
            self.theme, self.ports.contend_spec, conductor.live, shared, self.ports.trainings
        )
        self.queue = QueuePage(self.theme, conductor.queue)
        swept = conductor.power.state
        self.power = PowerPage(
            self.theme, self.ports.power_spec, conductor.live, swept, self.ports.trainings, conductor.draws
        )
        self.cooling = CoolingPage(
            self.theme,
            self.ports.cooling_spec,
            conductor.live,
            conductor.cooling.state,
            self.ports.trainings,
            conductor.others,
        )
        self.health = HealthPage(
            self.theme,
            self.ports.health_spec,
            conductor.live,
            conductor.health.state,
            self.ports.sold_names,
            conductor.wear,
        )
        self.experiments: dict[str, ExperimentPage] = {
            "tune": self.tune,
            **asked,
            "bench": self.bench,
            "contention": self.contention,
            "power": self.power,
            "cooling": self.cooling,
            "health": self.health,
        }
        for name, page in self.experiments.items():
            desk = self.desks[name]
            page.start_wanted.connect(desk.start)
            page.stop_wanted.connect(desk.stop)
            page.preview_wanted.connect(desk.preview)
            page.sessions_wanted.connect(self._show_last_session)
            page.use_tries(self._tries)
            page.use_held(self.held, desk)
            page.advice.try_wanted.connect(
                lambda session, advice, page=page: conductor.trying.begin(session, advice, page.setup.shared)
            )
            page.advice.stop_wanted.connect(conductor.trying.stop)
            page.advice.trials_wanted.connect(self.open_file)
            if desk.last_planned is not None:
                page.show_planned(desk.last_planned)
        self.sessions = SessionsPage(self.theme, conductor.others)
        self.sessions.refresh_wanted.connect(conductor.list_sessions)
        self.sessions.open_wanted.connect(conductor.open_session)
        self.sessions.open_wanted.connect(lambda _path: self._show_strip())
        self.sessions.replay_wanted.connect(conductor.replay)
        self.sessions.delete_wanted.connect(conductor.delete_session)
        self.sessions.export_wanted.connect(conductor.export_session)
        self.sessions.use_tries(self._tries)
        self.sessions.try_wanted.connect(lambda session, advice: conductor.trying.begin(session, advice))
        self.sessions.stop_try_wanted.connect(conductor.trying.stop)
        self.sessions.trials_wanted.connect(self.open_file)
        self.sessions.tune_wanted.connect(lambda: self.show_page("tune"))
        self.sessions.bench_wanted.connect(lambda: self.show_page("bench"))
        self.pages: dict[str, QWidget] = {
            "monitor": self.monitor,
            "tune": self.tune,
            TRAINING: self.questions,
            "bench": self.bench,
            "contention": self.contention,
            "queue": self.queue,
            "power": self.power,
            "cooling": self.cooling,
            "health": self.health,
            "sessions": self.sessions,
        }

    def _tries(self, facts: RunFacts) -> Tries:
        """How the advice of a run stands, to be tried on the cards that the window is about."""
        return self.conductor.trying.tries(facts, self.ports.feed.origin)

    def _show_tries(self) -> None:
        shown = self.experiments.get(self.page)
        if shown is not None:
            shown.show_tries()
        elif self.page == "sessions":
            self.sessions.show_tries()

    def _show_content(self, path: Path, content: SessionContent) -> None:
        if content.facts.started is not None and content.facts.advice:
            self.conductor.trying.learn(content.facts.started.run_id)
        self.sessions.show_content(path, content)

    def _questions(self) -> dict[str, ExperimentPage]:
        """A page for each question that can be asked of a training."""
        specs = {TRAINING: self.ports.batch_spec, **self.ports.questions}
        live, desks, trainings = self.conductor.live, self.conductor.asking, self.ports.trainings
        made: dict[str, ExperimentPage] = {
            name: TrainingPage(self.theme, question, specs[name], live, desks[name].state, trainings)
            for name, question in questions().items()
            if name in specs
        }
        return {**made, "watch": WatchPage(self.theme, live, desks["watch"].state)}

    @property
    def page(self) -> str:
        """Name of the page that is shown; of the page Training the question."""
        name = next(name for name, widget in self.pages.items() if widget is self.stack.currentWidget())
        return self.questions.current if name == TRAINING else name

    def show_page(self, name: str) -> None:
        """Show a page, or a question of the page Training."""
        if name in self.questions:
            self.questions.show_question(name)
        page = TRAINING if name in self.questions else name
        self.stack.setCurrentWidget(self.pages[page])
        self.navigation.show_page(page)
        self._show_strip()

    def navigate(self, page: str) -> None:
        """Show a page as it was left."""
        self.show_page(self.questions.current if page == TRAINING else page)

    @property
    def experiment(self) -> ExperimentPage:
        """The page that Start and Stop are for: the one that is shown, else Tune."""
        return self.experiments.get(self.page, self.tune)

    def page_origin(self) -> Origin:
        """Where the numbers on the current page come from."""
        if self.page == "sessions":
            return self.sessions.origin
        desk = self.desks.get(self.page)
        if desk is not None and desk.state.facts.started is not None:
            return desk.state.facts.origin
        return self.conductor.live.origin

    def choose_theme(self, choice: Choice) -> None:
        """Use another theme and remember it."""
        told = remember(self.ports, "theme", choice.value)
        self.show_theme(choice)
        self.monitor.say(told)

    def show_theme(self, choice: Choice) -> None:
        """Use another theme now."""
        self.choice, self.theme = choice, pick(choice)
        self._rebuild_here()

    def choose_language(self, tag: str) -> None:
        """Use another language and remember it."""
        told = remember(self.ports, "language", tag) if set_language(tag) == tag else ""
        self._rebuild_here()
        self.monitor.say(told)

    def preset(self, card: str | None = None, minutes: float | None = None, share: bool = False) -> None:
        """Fill the forms from the command line."""
        for page in self.experiments.values():
            chosen = str(page.setup.chooser.currentData()) if card is None else card
            values: dict[str, object] = {} if minutes is None else {"minutes": minutes}
            page.set_up(SetupState(card=chosen, values=values, shared=share))

    def open_file(self, path: Path) -> None:
        """Show a stored session; one outside the data folder is listed as long as the window is open."""
        self.conductor.keep_listed(path)
        self.sessions.select(path)
        if self.page == "sessions":
            self.conductor.list_sessions()
        self.show_page("sessions")

    def fold_navigation(self) -> None:
        """Show the navigation as icons only, or with words again."""
        self.navigation.set_narrow(not self.navigation.narrow)

    def open_palette(self) -> None:
        """Show the command palette."""
        self.palette_panel.open(self.actions_.entries)

    def open_alerts(self) -> None:
        """Show or hide what is raised and the form of the alerts."""
        self.alert_panel.toggle()

    def _show_alerts(self) -> None:
        desk = self.conductor.alerts
        self.monitor.show_alerts(desk.lines, broken=desk.error is not None)
        self.alert_panel.refresh()

    def _said_of_alerts(self, words: str) -> None:
        self.alert_panel.say(words)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Session files may be dropped on the window."""
        if dropped_sessions(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the session files that were dropped."""
        for path in dropped_sessions(event.mimeData()):
            self.open_file(path)
        event.acceptProposedAction()

    def changeEvent(self, event: QEvent) -> None:
        """No repaints while minimised."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.monitor.set_awake(not self.isMinimized())

    def closeEvent(self, event: QCloseEvent) -> None:
        """Cancel what runs (results are kept) and end every thread."""
        self.conductor.close()
        super().closeEvent(event)

    def _rebuild_here(self) -> None:
        current, span, narrow = self.monitor.current, self.monitor.span_s, self.navigation.narrow
        kept = {name: page.setup.state for name, page in self.experiments.items()}
        session, typed, alerts = self.sessions.current, self.queue.form.kept, not self.alert_panel.isHidden()
        self.rebuild(self.page)
        if alerts:
            self.open_alerts()
        self.navigation.set_narrow(narrow)
        self.monitor.show_span(span)
        if current is not None:
            self.monitor.choose(current)
        for name, page in self.experiments.items():
            page.set_up(kept[name])
        self.sessions.current = session
        self.queue.form.keep(typed)

    def _show_strip(self) -> None:
        self.strip.show_origin(self.page_origin())

    def _feed_changed(self) -> None:
        self.monitor.show_replayed(self.conductor.replaying)
        self.show_page("monitor")

    def _show_last_session(self) -> None:
        if self.conductor.last_session is not None:
            self.open_file(self.conductor.last_session)

    def _show_recording(self) -> None:
        self.monitor.show_recording(self.conductor.recording_s)

    def _said_done(self, what: tuple[str, tuple[object, ...]]) -> None:
        verb, paths = what
        names = ", ".join(str(path) for path in paths)
        text = _("Written: {paths}") if verb == "exported" else _("Deleted: {paths}")
        self.sessions.say(text.format(paths=names))

    def _said_failed(self, err: Exception) -> None:
        words = sentences.error(err) if isinstance(err, GputunerError) else f"{type(err).__name__}: {err}"
        self.sessions.say(words)
        if self.page == "monitor":
            self.monitor.say(words)

    def _system_theme_changed(self) -> None:
        if self.choice is Choice.SYSTEM and pick(self.choice) is not self.theme:
            self.theme = pick(self.choice)
            self._rebuild_here()
