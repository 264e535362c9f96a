# pyright: standard
"""Ask for a file to write without blocking the window."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_where(
    parent: QWidget, title: str, name: str, filters: Sequence[str], then: Callable[[Path], object]
) -> QFileDialog:
    """Open a dialog beside the window (not modal); ``then`` gets the chosen path, with the filter's ending added."""
    dialog = QFileDialog(parent, title, name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setModal(False)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters(list(filters))
    dialog.selectFile(name)

    def chosen(text: str) -> None:
        path = Path(text)
        if not path.suffix:
            path = path.with_suffix(_ending(dialog.selectedNameFilter()))
        then(path)

    dialog.fileSelected.connect(chosen)
    dialog.show()
    return dialog


def _ending(name_filter: str) -> str:
    """``.png`` from ``Picture (*.png)``."""
    return name_filter.rpartition("*")[2].rstrip(")") or ".png"
