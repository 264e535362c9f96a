"""Pytest plugin: Qt and what needs it cannot be imported, as on a machine without PySide6."""

import sys

import pytest


class _NoQt:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in {"PySide6", "pyqtgraph", "shiboken6"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of pytest-qt in the configuration mean nothing here, but are known."""
    for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore"):
        parser.addini(name, "of pytest-qt, which is not loaded", type="linelist")


sys.meta_path.insert(0, _NoQt())
