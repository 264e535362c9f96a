"""Offscreen Qt, and the invented cards and ports as one fixture (test modules cannot import each other here)."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import importlib.util
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

PATIENCE_MS = 600_000
WAITS = ("waitUntil", "waitSignal", "waitSignals", "waitExposed", "waitActive")


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"gui_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"gui_{name}"] = module
    spec.loader.exec_module(module)
    return module


_INVENTED = _load("invented")
_TRAININGS = _load("invented_trainings")
_CONTENTION = _load("invented_contention")
_COOLING = _load("invented_cooling")
_HEALTH = _load("invented_health")


@pytest.fixture(scope="session")
def invented() -> ModuleType:
    return _INVENTED


@pytest.fixture(scope="session")
def trainings() -> ModuleType:
    return _TRAININGS


@pytest.fixture(scope="session")
def contention() -> ModuleType:
    return _CONTENTION


@pytest.fixture(scope="session")
def cooling() -> ModuleType:
    return _COOLING


@pytest.fixture(scope="session")
def health() -> ModuleType:
    return _HEALTH


@pytest.fixture
def qtbot(qtbot: "QtBot") -> "QtBot":
    """Waits for what comes, however slow the machine; 5 s are its own patience."""
    for name in WAITS:
        setattr(qtbot, name, partial(getattr(qtbot, name), timeout=PATIENCE_MS))
    return qtbot


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
