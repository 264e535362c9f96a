# pyright: standard
"""Every action of the window with its key; the command palette lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence

from gputuner.gui.pages.monitor import SPANS_S
from gputuner.gui.pages.monitor_numbers import span_words
from gputuner.gui.picture_names import (
    bench_titles,
    contention_titles,
    cooling_titles,
    health_titles,
    question_titles,
    tune_titles,
)
from gputuner.gui.questions import question_words
from gputuner.gui.theme import Choice
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.window import MainWindow


class Actions:
    """The window's actions; built anew with the pages."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self.entries: list[QAction] = []

    def build(self) -> None:
        """Replace all actions."""
        for action in self.entries:
            self._window.removeAction(action)
            action.deleteLater()
        self.entries = []
        self._pages()
        self._monitor()
        self._experiments()
        self._queue()
        self._sessions()
        self._look()

    def find(self, words: str) -> QAction:
        """The action with these words."""
        return next(action for action in self.entries if action.text() == words)

    def _add(self, words: str, keys: str, act: Callable[[], object]) -> None:
        action = QAction(words, self._window)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _checked=False: act())
        self._window.addAction(action)
        self.entries.append(action)

    def _pages(self) -> None:
        window = self._window
        for number, (name, entry) in enumerate(window.navigation.entries.items(), start=1):
            words = _("Show {page}").format(page=entry.words)
            self._add(words, f"Ctrl+{number % 10}", lambda name=name: window.navigate(name))
        asked = question_words()
        for number, name in enumerate(window.questions.buttons, start=1):
            words = _("Ask of a training: {question}").format(question=asked[name])
            self._add(words, f"Ctrl+Alt+{number}", lambda name=name: window.show_page(name))
        self._add(_("Commands…"), "Ctrl+K", window.open_palette)

    def _monitor(self) -> None:
        window = self._window
        self._add(_("Next card"), "Ctrl+PgDown", lambda: window.monitor.choose_next(1))
        self._add(_("Previous card"), "Ctrl+PgUp", lambda: window.monitor.choose_next(-1))
        self._add(_("Pause or resume the pictures"), "Ctrl+P", window.monitor.toggle_pause)
        self._add(_("Start or stop recording"), "Ctrl+R", window.conductor.toggle_recording)
        self._add(_("Leave the replay"), "Ctrl+L", window.conductor.back_to_live)
        self._add(_("Alerts: see and set"), "Ctrl+Shift+A", window.open_alerts)
        self._add(_("Alerts: try hook and notification"), "Ctrl+Alt+A", window.conductor.alerts.try_out)
        for number, seconds in enumerate(SPANS_S, start=1):
            words = _("Show the last {span}").format(span=span_words(seconds))
            self._add(words, f"Alt+{number}", lambda seconds=seconds: window.monitor.show_span(seconds))

    def _experiments(self) -> None:
        window = self._window
        self._add(_("Start the run"), "Ctrl+Return", lambda: window.experiment.start())
        stop = _("Stop the run and keep what was measured")
        self._add(stop, "Ctrl+.", lambda: window.experiment.stop_wanted.emit())
        self._add(_("Copy the figures as Markdown"), "Ctrl+Shift+C", lambda: window.experiment.copy())
        self._add(_("Save the picture or the figures"), "Ctrl+S", lambda: window.experiment.save())
        pictures = [("tune", *item) for item in tune_titles().items()]
        pictures += [("bench", *item) for item in bench_titles().items()]
        keys = [f"Alt+Shift+{number % 10}" for number in range(1, len(pictures) + 1)]
        asked = question_words()
        of_questions = [
            (name, picture, " · ".join((asked[name], title)))
            for name in window.questions.buttons
            for picture, title in question_titles().get(name, {}).items()
        ]
        shared = window.navigation.entries["contention"].words
        of_questions += [
            ("contention", name, " · ".join((shared, title))) for name, title in contention_titles().items()
        ]
        pictures += of_questions
        keys += [f"Ctrl+Shift+{number}" for number in range(1, 10)][: len(of_questions)]
        keys += [f"Ctrl+Alt+Shift+{number}" for number in range(1, len(pictures) - len(keys) + 1)]
        cooling = window.navigation.entries["cooling"].words
        tested = [("cooling", name, " · ".join((cooling, title))) for name, title in cooling_titles().items()]
        health = window.navigation.entries["health"].words
        tested += [("health", name, " · ".join((health, title))) for name, title in health_titles().items()]
        pictures += tested
        keys += [f"Ctrl+Shift+F{number}" for number in range(1, len(tested) + 1)]
        for (page, name, title), key in zip(pictures, keys, strict=True):
            words = _("Show the picture: {name}").format(name=title)
            self._add(words, key, lambda page=page, name=name: self._show_picture(page, name))

    def _show_picture(self, page: str, name: str) -> None:
        self._window.show_page(page)
        self._window.experiments[page].load_plots()
        self._window.experiments[page].show_picture(name)

    def _queue(self) -> None:
        queue = self._window.queue
        for words, keys, act in (
            (_("Start or stop the queue's runner"), "Ctrl+Alt+Q", queue.toggle_runner),
            (_("Move the job up"), "Ctrl+Shift+Up", lambda: queue.table.move_by(-1)),
            (_("Move the job down"), "Ctrl+Shift+Down", lambda: queue.table.move_by(1)),
            (_("Cancel the job"), "Ctrl+Shift+K", queue.panel.ask_cancel),
        ):
            self._add(words, keys, lambda act=act: self._in_queue(act))

    def _in_queue(self, act: Callable[[], object]) -> None:
        """Act on the queue where it is seen; else only show it: what is chosen there is not known."""
        if self._window.page == "queue":
            act()
        else:
            self._window.navigate("queue")

    def _sessions(self) -> None:
        sessions = self._window.sessions
        self._add(_("List the sessions anew"), "F5", sessions.refresh_wanted.emit)
        self._add(_("Replay the session in Monitor"), "Ctrl+Shift+R", sessions.replay)
        self._add(_("Export the session as CSV"), "Ctrl+E", lambda: sessions.export("csv"))
        self._add(_("Export the session as JSON"), "Ctrl+Shift+E", lambda: sessions.export("json"))
        self._add(_("Delete the session"), "Ctrl+Shift+Delete", sessions.ask_delete)

    def _look(self) -> None:
        window = self._window
        self._add(_("Icons only in the navigation"), "Ctrl+B", window.fold_navigation)
        self._add(_("Light theme"), "Ctrl+Alt+L", lambda: window.choose_theme(Choice.LIGHT))
        self._add(_("Dark theme"), "Ctrl+Alt+D", lambda: window.choose_theme(Choice.DARK))
        self._add(_("Theme of the system"), "Ctrl+Alt+S", lambda: window.choose_theme(Choice.SYSTEM))
        self._add("English", "Ctrl+Alt+E", lambda: window.choose_language("en"))
        self._add("简体中文", "Ctrl+Alt+Z", lambda: window.choose_language("zh_CN"))
        self._add(_("Quit"), "Ctrl+Q", window.close)
