# pyright: standard
"""Ask for a file to read without blocking the window."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_which(
    parent: QWidget, title: str, folder: Path, filters: Sequence[str], then: Callable[[Path], object]
) -> QFileDialog:
    """Open a dialog beside the window (not modal); ``then`` gets the chosen file."""
    dialog = QFileDialog(parent, title, str(folder))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setModal(False)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.setNameFilters(list(filters))
    dialog.fileSelected.connect(lambda text: then(Path(text)))
    dialog.show()
    return dialog


def ask_folder(parent: QWidget, title: str, folder: Path, then: Callable[[Path], object]) -> QFileDialog:
    """Open a dialog beside the window (not modal); ``then`` gets the chosen folder."""
    dialog = ask_which(parent, title, folder, [], then)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    return dialog
