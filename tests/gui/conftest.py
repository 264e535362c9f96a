"""Offscreen Qt, and the invented cards and ports as one fixture (test modules cannot import each other here)."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

_SPEC = importlib.util.spec_from_file_location("gui_invented", Path(__file__).with_name("invented.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_INVENTED = importlib.util.module_from_spec(_SPEC)
sys.modules["gui_invented"] = _INVENTED
_SPEC.loader.exec_module(_INVENTED)


@pytest.fixture(scope="session")
def invented() -> ModuleType:
    return _INVENTED


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    from gputuner.language.words import set_language

    set_language("en")
    yield
    set_language("en")


@pytest.fixture
def open_window(qtbot, invented):
    """Make a shown main window over ports; every window is closed at the end and must leave nothing running."""
    from PySide6.QtCore import QTimer

    from gputuner.gui.theme import Choice
    from gputuner.gui.window import MainWindow

    windows = []

    def make(ports, theme=Choice.LIGHT):
        window = MainWindow(ports, theme)
        qtbot.addWidget(window)
        window.resize(1366, 768)
        window.show()
        windows.append(window)
        return window

    yield make
    for window in windows:
        window.close()
        assert not window.conductor.background.running
        assert not window.conductor.tune_run.running
        assert not window.conductor.record_run.running
        assert window.ports.feed.listeners == 0
        assert [timer for timer in window.findChildren(QTimer) if timer.isActive()] == []
