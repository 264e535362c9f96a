"""Pytest plugin: Qt and what needs it cannot be imported, as on a machine without PySide6."""

import sys


class _NoQt:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in {"PySide6", "pyqtgraph", "shiboken6"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, _NoQt())
