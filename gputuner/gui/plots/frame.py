# pyright: standard
"""A titled picture: heading with unit, legend on the right, the drawing below it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gputuner.gui.fonts import tabular
from gputuner.gui.widgets.labels import Elided, label


class PictureFrame(QFrame):
    """Card with a title row and one picture."""

    def __init__(self, title: str, unit: str = "") -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.title = title
        self.unit = unit
        self._unit = Elided(unit)
        self._legend = QHBoxLayout()
        self._legend.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(10, 6, 10, 0)
        head.setSpacing(6)
        head.addWidget(label(title, "heading"))
        head.addWidget(self._unit, 1, Qt.AlignmentFlag.AlignBottom)
        head.addLayout(self._legend)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 2)
        self.body.setSpacing(0)
        self.body.addLayout(head)

    def show_unit(self, text: str) -> None:
        """Change what stands beside the title."""
        self._unit.show_text(text)

    @property
    def shown_unit(self) -> str:
        """What stands beside the title, before it is shortened to the room there is."""
        return self._unit.whole

    @property
    def unit_is_cut(self) -> bool:
        """Whether what stands beside the title is shortened."""
        return self._unit.text() != self._unit.whole

    def add_legend(self, tooltip: str = "") -> QLabel:
        """A new legend entry, right of the others."""
        entry = QLabel()
        entry.setProperty("role", "legend")
        entry.setToolTip(tooltip)
        tabular(entry)
        self._legend.addWidget(entry)
        return entry

    def set_picture(self, widget: QWidget) -> None:
        """Put the drawing in."""
        self.body.addWidget(widget, 1)
