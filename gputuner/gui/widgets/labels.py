# pyright: standard
"""Labels whose look comes from the style sheet by a role."""

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from gputuner.language.numbers import bound

_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")


def label(text: str = "", role: str = "", wrap: bool = False) -> QLabel:
    """A label with a role of the style sheet."""
    result = Wrapped(text) if wrap else QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        result.setProperty("role", role)
    if wrap:
        result.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        result.setSizePolicy(policy)
    return result


class Wrapped(QLabel):
    """A label of several lines, of which none begins with the unit of the number before it."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._said = ""
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show ``text``."""
        self._said = text
        super().setText(bound(text))

    def text(self) -> str:
        """What was said, as it was said."""
        return self._said


def minus(text: str) -> str:
    """Figures with a minus sign that is as wide as their digits; hyphens of words, days and options stay."""
    return _MINUS.sub("\u2212", text)


def card(role: str = "card") -> QFrame:
    """A frame with hairline border and surface background."""
    frame = QFrame()
    frame.setProperty("role", role)
    return frame


def rule() -> QFrame:
    """A hairline."""
    return card("rule")


def repolish(widget: QWidget, name: str, value: str) -> None:
    """Change a dynamic property and let the style sheet see it."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class Elided(QLabel):
    """A one-line label that shortens its text to the room it has; the whole text is in the tooltip then."""

    def __init__(self, text: str = "", role: str = "muted") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""
        self._hint = ""
        self.show_text(text)

    @property
    def whole(self) -> str:
        """The text before shortening."""
        return self._whole

    def show_text(self, text: str, hint: str = "") -> None:
        """Show ``text``; ``hint`` is the tooltip whatever the room."""
        if (text, hint) != (self._whole, self._hint):
            self._whole, self._hint = text, hint
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the text anew."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(
            self._whole, Qt.TextElideMode.ElideRight, max(0, self.contentsRect().width())
        )
        self.setText(shown)
        self.setToolTip(self._hint or (self._whole if shown != self._whole else ""))
