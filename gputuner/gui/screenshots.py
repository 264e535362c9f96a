# pyright: standard
"""Draw every page with the data of a run, in both themes, without a display."""

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from gputuner.gui.picture_names import NAMES
from gputuner.gui.ports import Ports
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import Choice
from gputuner.gui.window import MainWindow
from gputuner.language import sentences
from gputuner.model.errors import GputunerError
from gputuner.model.events import TelemetrySampled

SIZE = (1366, 768)
RUN_LIMIT_S = 1800.0
CALL_LIMIT_S = 60.0


def draw_all(ports: Ports, folder: Path, *, minutes: float | None = None, card: str | None = None) -> int:
    """Perform a tune run with ``ports`` and write ``<page>-<theme>.png`` into ``folder``; returns the exit code.

    A run that cannot start is named on stderr, and the pages are drawn as they are then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    window = MainWindow(ports, Choice.LIGHT)
    window.resize(*SIZE)
    window.preset(card, minutes)
    window.show()
    try:
        code = _measure(window)
        for theme in (Choice.LIGHT, Choice.DARK):
            window.show_theme(theme)
            _draw_pages(window, folder, theme.value)
    finally:
        window.close()
    return code


def _measure(window: MainWindow) -> int:
    conductor = window.conductor
    wait_until(lambda: bool(conductor.live.cards), CALL_LIMIT_S)
    window.show_page("tune")
    if not window.tune.can_start:
        return 0
    wait_until(lambda: bool(window.tune.setup.plan_text), CALL_LIMIT_S)
    window.tune.start()
    wait_until(lambda: not conductor.tune_run.busy, RUN_LIMIT_S)
    state = conductor.tune
    if state.phase is Phase.REFUSED:
        err = state.error
        words = sentences.error(err) if isinstance(err, GputunerError) else str(err)
        print(f"gputuner: {words}", file=sys.stderr)
        return int(err.exit_code) if isinstance(err, GputunerError) else 1
    _read_back(window)
    return state.facts.finished.exit_code if state.facts.finished else 1


def _read_back(window: MainWindow) -> None:
    """Give Monitor and Tune the run's whole telemetry, of which a fast run shows only a part as it goes."""
    conductor = window.conductor
    path = conductor.last_session
    if path is None:
        return
    conductor.live.leave()
    facts = RunFacts()
    reader = window.ports.open_session(path)
    try:
        conductor.live.begin_anew(reader.cards())
        for event in reader.events():
            facts.take(event)
            if isinstance(event, TelemetrySampled):
                conductor.live.take(event)
    finally:
        reader.close()
    conductor.tune.facts = facts
    conductor.live.cards_changed.emit()


def _draw_pages(window: MainWindow, folder: Path, theme: str) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)

    def draw(name: str) -> None:
        for _round in range(3):
            application.processEvents()
        window.grab().save(str(folder / f"{name}-{theme}.png"), "PNG")

    window.show_page("monitor")
    window.monitor.load_plots()
    window.monitor.show_span(300)
    draw("monitor")
    window.show_page("tune")
    window.tune.load_plots()
    window.tune.refresh()
    if window.tune.result is None or not window.conductor.tune.facts.points:
        draw("tune")
    else:
        window.tune.result.show_facts(window.conductor.tune.facts, now=True)
        for name in NAMES:
            if window.tune.result.segments[name].isEnabled():
                window.tune.result.show_name(name)
                draw("tune" if name == "batch" else f"tune-{name}")
    window.show_page("sessions")
    window.sessions.load_plots()
    background = window.conductor.background
    wait_until(lambda: background.pending == 0, CALL_LIMIT_S)
    draw("sessions")


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Let Qt work until ``condition`` holds, at most ``limit_s`` seconds; returns whether it holds."""
    end = monotonic() + limit_s
    while not condition() and monotonic() < end:
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec()
    return condition()
