# pyright: standard
"""A reading that can be read from a metre away: number, unit, bar and one line of context."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gputuner.gui.fonts import tabular
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.bar import Bar
from gputuner.gui.widgets.labels import Elided, label, repolish
from gputuner.language.numbers import MISSING

SEPARATOR = " · "
"""Between the parts of a caption."""


class Caption(Elided):
    """Parts in one line; those at the end that do not fit are left out whole, for a cut figure reads as another one."""

    def _fit(self) -> None:
        parts = self._whole.split(SEPARATOR)
        room = max(0, self.contentsRect().width())
        while len(parts) > 1 and self.fontMetrics().horizontalAdvance(SEPARATOR.join(parts)) > room:
            parts.pop()
        shown = SEPARATOR.join(parts)
        if self.fontMetrics().horizontalAdvance(shown) > room:
            shown = _whole_words(shown, room, self.fontMetrics())
        self.setText(shown)
        self.setToolTip(self._hint or (self._whole if shown != self._whole else ""))


def _whole_words(text: str, room: int, metrics: QFontMetrics) -> str:
    """As many whole words as fit, then an ellipsis."""
    words = text.split(" ")
    while words and metrics.horizontalAdvance(" ".join([*words, "…"])) > room:
        words.pop()
    return " ".join([*words, "…"]) if words else ""


class BigNumber(QWidget):
    """Number, unit, bar, caption. A missing reading is a dash, a hatched bar and its reason in caption and tooltip."""

    def __init__(self, theme: Theme, name: str, colour: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._number = label(MISSING, "big")
        tabular(self._number)
        self._unit = label("", "unit")
        self._theme, self._colour = theme, colour
        self._bar = Bar(theme, colour)
        self._caption = Caption()
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        line.addWidget(self._number, 0, Qt.AlignmentFlag.AlignBottom)
        line.addWidget(self._unit, 0, Qt.AlignmentFlag.AlignBottom)
        line.addStretch(1)
        self._unit.setContentsMargins(0, 0, 0, 4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(line)
        layout.addWidget(self._bar)
        layout.addWidget(self._caption)

    @property
    def text(self) -> str:
        """The number as shown."""
        return self._number.text()

    @property
    def caption(self) -> str:
        """The caption as shown, unshortened."""
        return self._caption.whole

    def show_value(self, text: str, unit: str, fraction: float | None, caption: str, faded: bool = False) -> None:
        """Show a reading; ``faded``: it is old (the card is lost)."""
        if self._number.text() != text:
            self._number.setText(text)
        if self._unit.text() != unit:
            self._unit.setText(unit)
        self._bar.show_fraction(fraction, self._theme.strong_line if faded else self._colour)
        self._caption.show_text(caption)
        self.setToolTip("")
        repolish(self._number, "faded", "true" if faded else "false")

    def show_missing(self, name: str, reason: str) -> None:
        """Show a dash for ``name`` and why."""
        self._number.setText(MISSING)
        self._unit.setText("")
        self._bar.show_fraction(None)
        self._caption.show_text(f"{name} · {reason}", f"{name}: {reason}")
        self.setToolTip(f"{name}: {reason}")
        repolish(self._number, "faded", "true")
