"""The frame: actions and keys, themes, languages, closing, and what importing costs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QKeySequence

from gputuner.gui.palette import matches
from gputuner.gui.theme import Choice
from gputuner.language.words import set_language


def test_every_action_has_its_own_key(open_window, invented):
    window = open_window(invented.ports())
    keys = [action.shortcut().toString(QKeySequence.SequenceFormat.PortableText) for action in window.actions_.entries]
    assert all(keys)
    assert len(set(keys)) == len(keys)


def test_keys_change_the_page(open_window, invented):
    window = open_window(invented.ports())
    for number, page in enumerate(
        ("monitor", "tune", "training", "bench", "contention", "queue", "power", "cooling", "health", "sessions")
    ):
        window.actions_.entries[number].trigger()
        assert window.page == page
        assert window.navigation.buttons[page].isChecked()
        assert window.actions_.entries[number].shortcut().toString() == f"Ctrl+{(number + 1) % 10}"


def test_palette_finds_and_runs(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.open_palette()
    window.palette_panel.line.setText("dark theme")
    assert window.palette_panel.shown[0] == "Dark theme"
    window.palette_panel.line.returnPressed.emit()
    assert window.theme.name == "dark"
    assert window.ports.preferences["theme"] == "dark"


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [("", "Quit", True), ("qt", "Quit", True), ("tq", "Quit", False), ("DARK", "Dark theme", True)],
)
def test_palette_matches_letters_in_order(query, text, found):
    assert (matches(query, text) is not None) is found


def test_palette_ranks_close_letters_first():
    assert matches("tune", "Start Tune") < matches("tune", "Take up nine eggs")


def test_theme_change_keeps_choices_and_data(open_window, invented, qtbot):
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.tune_events())]))
    for tick in invented.monitor_ticks(20):
        window.conductor.live.take(tick)
    window.monitor.choose("GPU-3090")
    window.monitor.show_span(1800)
    window.tune.setup.form.set_values({"minutes": 3.0})
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.choose_theme(Choice.DARK)
    assert window.page == "tune"
    assert window.monitor.current == "GPU-3090"
    assert window.monitor.span_s == 1800
    assert window.tune.setup.form.values()["minutes"] == 3.0
    window.tune.refresh()
    assert len(window.tune.advice.cards) == 3, "the run's results survive"


def test_language_changes_while_it_runs(open_window, invented, monkeypatch):
    window = open_window(invented.ports())
    assert window.navigation.buttons["sessions"].accessibleName() == "Sessions"
    window.actions_.find("简体中文").trigger()
    chinese = window.navigation.buttons["sessions"].accessibleName()
    assert chinese != "Sessions"
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    assert window.ports.preferences["language"] == "zh_CN"
    window.actions_.find("English").trigger()
    assert window.navigation.buttons["sessions"].accessibleName() == "Sessions"


def test_every_page_draws_in_both_themes_and_languages(open_window, invented, qtbot):
    window = open_window(invented.with_sessions(invented.ports()))
    for tag in ("en", "zh_CN"):
        set_language(tag)
        for theme in (Choice.LIGHT, Choice.DARK):
            window.show_theme(theme)
            for page in ("monitor", "tune", "training", "sessions"):
                window.show_page(page)
                picture = window.grab().toImage()
                corner = picture.pixelColor(picture.width() - 2, picture.height() - 2)
                assert (corner.lightness() < 80) is (theme is Choice.DARK)


@pytest.mark.parametrize("page", ["monitor", "tune", "training", "sessions"])
def test_pages_fit_a_small_screen(open_window, invented, qtbot, page):
    window = open_window(invented.with_sessions(invented.ports()))
    window.show_page(page)
    qtbot.waitUntil(
        lambda: (
            getattr(window.pages[page], "plots", getattr(window.pages[page], "result", 1)) is not None
            or page == "sessions"
        )
    )
    assert window.minimumSizeHint().width() <= 1366
    assert window.minimumSizeHint().height() <= 768


def test_closing_during_a_run_cancels_it(open_window, invented, qtbot):
    run = invented.ScriptedRun(invented.tune_events(), hold=6)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: window.conductor.tune.facts.started is not None)
    window.close()
    assert run.cancelled.is_set()
    assert not window.conductor.tune_run.running


def test_closing_while_a_run_starts_cancels_it(open_window, invented, qtbot):
    run = invented.ScriptedRun(invented.tune_events(), hold=0)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("tune")
    window.tune.start()
    window.close()
    assert not window.conductor.tune_run.running


def test_hidden_window_has_no_running_timer(open_window, invented):
    window = open_window(invented.ports())
    window.hide()
    assert [timer for timer in window.findChildren(QTimer) if timer.isActive() and not timer.isSingleShot()] == []


def test_navigation_has_room_for_every_name(open_window, invented):
    window = open_window(invented.ports())
    for button in window.navigation.buttons.values():
        assert button.width() >= button.sizeHint().width()


def test_narrow_navigation_keeps_names_for_readers(open_window, invented):
    window = open_window(invented.ports())
    window.fold_navigation()
    assert window.navigation.width() < 60
    assert window.navigation.buttons["tune"].accessibleName() == "Tune"
    assert "Tune" in window.navigation.buttons["tune"].toolTip()


IMPORT = """
import sys, os
os.environ["QT_QPA_PLATFORM"] = "offscreen"
import gputuner.gui.app, gputuner.gui.screenshots
print([name for name in ("torch", "pynvml", "sqlite3", "pyqtgraph", "scipy", "cyclopts") if name in sys.modules])
"""


def test_importing_the_window_loads_nothing_heavy():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_code_of_the_window_has_a_sentence():
    from gputuner.language.errors import ERRORS

    root = Path(__file__).resolve().parents[2] / "gputuner/gui"
    source = "\n".join(path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    pattern = r'(?:sentences\.error|UsageError|GputunerError)\(\s*"(\w+)"'
    codes = set(re.findall(pattern, source))
    assert {"no_cards", "card_lost", "option_unknown"} <= codes
    assert codes <= set(ERRORS)
