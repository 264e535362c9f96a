# pyright: standard
"""Draw every page with the data of a run, in both themes, without a display."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from gputuner.gui.pages.bench_compare import ComparePicture
from gputuner.gui.ports import Ports
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import Choice
from gputuner.gui.window import MainWindow
from gputuner.language import sentences
from gputuner.language.words import language as language_now
from gputuner.language.words import set_language
from gputuner.model.alerts import DEFAULT_RULES, AlertKind, AlertPlan, default_rule
from gputuner.model.cards import Origin
from gputuner.model.errors import GputunerError
from gputuner.model.events import TelemetrySampled
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import Tick

SIZE = (1366, 768)
RUN_LIMIT_S = 1800.0
CALL_LIMIT_S = 60.0
LANGUAGES = ("en", "zh_CN")
EXPERIMENTS = (
    "tune", "training", "switches", "numerics", "loading", "bench", "contention", "power", "cooling", "health"
)  # fmt: skip
WATCHED = "watch"
COMMAND = f'"{sys.executable}" -c "import time; [sum(range(200_000)) and time.sleep(0.02) for _ in range(250)]"'
"""What is watched where there are real cards: some seconds of work and sleep."""
SHARED = "contention"
MIX: dict[str, object] = {"jobs": ("resnet50", "edsr", "lstm"), "matrix": True}
"""What shares the card in the pictures of simulated cards; on a real one it would take long."""
COMPARED = "bench"
"""The experiment that is performed twice on simulated cards, so that there is something to compare."""
MONITORED = "tune"
"""The run whose telemetry Monitor shows."""


def draw_all(ports: Ports, folder: Path, *, minutes: float | None = None, card: str | None = None) -> int:
    """Perform a run of every experiment and write ``<page>-<theme>.png`` into ``folder``, those in the other
    language with its tag at the end; returns the exit code.

    A run that cannot start is named on stderr, and the pages are drawn as they are then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    spoken = language_now()
    window = MainWindow(ports, Choice.LIGHT)
    window.resize(*SIZE)
    window.preset(card, minutes)
    window.show()
    try:
        code = _measure(window)
        for language in (spoken, *(other for other in LANGUAGES if other != spoken)):
            set_language(language)
            for theme in (Choice.LIGHT, Choice.DARK):
                window.show_theme(theme)
                ending = theme.value if language == spoken else f"{theme.value}-{language}"
                _draw_pages(window, folder, ending)
    finally:
        set_language(spoken)
        window.close()
    return code


def _measure(window: MainWindow) -> int:
    """Perform the experiments; the first exit code that is not 0."""
    wait_until(lambda: bool(window.conductor.live.cards), CALL_LIMIT_S)
    code = 0
    if window.conductor.live.origin is Origin.SIMULATED:
        window.ports.queue.pretend()
        window.experiments[SHARED].setup.form.set_values(MIX)
    for name in EXPERIMENTS:
        code = code or _perform(window, name)
    if not code and window.conductor.live.origin is Origin.MEASURED:
        window.experiments[WATCHED].setup.form.set_values({"line": COMMAND})
        code = _perform(window, WATCHED)
    if not code and window.conductor.live.origin is Origin.SIMULATED:
        code = _perform(window, COMPARED)
    return code


def _perform(window: MainWindow, name: str) -> int:
    page, desk = window.experiments[name], window.desks[name]
    window.show_page(name)
    page.refresh()
    if not page.can_start:
        return 0
    wait_until(lambda: bool(page.setup.plan_text), CALL_LIMIT_S)
    page.start()
    wait_until(lambda: not desk.thread_.busy, RUN_LIMIT_S)
    state = desk.state
    if state.phase is Phase.REFUSED:
        err = state.error
        words = sentences.error(err) if isinstance(err, GputunerError) else str(err)
        print(f"gputuner: {words}", file=sys.stderr)
        return int(err.exit_code) if isinstance(err, GputunerError) else 1
    if name == MONITORED:
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


def _draw_pages(window: MainWindow, folder: Path, ending: str) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)

    def draw(name: str) -> None:
        for _round in range(3):
            application.processEvents()
        window.grab().save(str(folder / f"{name}-{ending}.png"), "PNG")

    window.show_page("monitor")
    window.monitor.load_plots()
    window.monitor.show_span(300)
    draw("monitor")
    _draw_alerts(window, draw)
    for name in (*EXPERIMENTS, WATCHED):
        _draw_experiment(window, name, draw)
    window.show_page("queue")
    _settle(window)
    draw("queue")
    window.show_page("sessions")
    window.sessions.load_plots()
    _settle(window)
    draw("sessions")


def _draw_alerts(window: MainWindow, draw: Callable[[str], None]) -> None:
    """Bell and panel with the usual alerts, one of them at what each card's core shows; stored and told is nothing."""
    _settle(window)
    desk, live = window.conductor.alerts, window.conductor.live
    cores = {uuid: card.shown(Quantity.CORE_TEMPERATURE_C).value for uuid, card in live.cards.items()}
    seen = {uuid: float(core) for uuid, core in cores.items() if isinstance(core, (int, float))}
    threshold = max(30.0, min(seen.values(), default=30.0))
    raised = replace(default_rule(AlertKind.TEMPERATURE), threshold=threshold, hold_s=0.0, cards=tuple(seen))
    samples = tuple(
        Sample(card=uuid, t_ns=0, values={Quantity.CORE_TEMPERATURE_C: core}) for uuid, core in seen.items()
    )
    with desk.rehearsal(AlertPlan(rules=(raised, *DEFAULT_RULES[1:])), Tick(t_ns=0, samples=samples)):
        wait_until(lambda: window.stack.width() > 0.7 * window.width(), CALL_LIMIT_S)
        window.monitor.refresh()
        window.open_alerts()
        draw("alerts")
        window.open_alerts()


def _draw_experiment(window: MainWindow, name: str, draw: Callable[[str], None]) -> None:
    """A page with each of its pictures; the first one under the page's own name."""
    page, state = window.experiments[name], window.desks[name].state
    window.show_page(name)
    page.load_plots()
    page.refresh()
    if page.result is None or not state.facts.points:
        draw(name)
        return
    page.result.show_facts(state.facts, now=True)
    _settle(window)
    page.refresh()
    shown = [picture for picture, button in page.result.segments.items() if button.isEnabled()]
    for picture in shown:
        page.result.show_name(picture)
        _settle(window)
        if picture == "compare":
            _compare(window, page.result.pictures)
        draw(name if picture == shown[0] else f"{name}-{picture}")


def _compare(window: MainWindow, pictures: QWidget) -> None:
    """Choose the first of the other sessions."""
    for picture in pictures.findChildren(ComparePicture):
        if picture.chooser.count() > 1:
            picture.chooser.setCurrentIndex(1)
            picture.chooser.activated.emit(1)
            _settle(window)


def _settle(window: MainWindow) -> None:
    """Wait for what pages ask in the background."""
    conductor = window.conductor
    wait_until(lambda: conductor.background.pending == 0 and conductor.wear.pending == 0, CALL_LIMIT_S)


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Let Qt work until ``condition`` holds, at most ``limit_s`` seconds; returns whether it holds."""
    end = monotonic() + limit_s
    while not condition() and monotonic() < end:
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec()
    return condition()
