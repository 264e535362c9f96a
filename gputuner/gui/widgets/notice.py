# pyright: standard
"""What a page says when it has nothing else to show, and what a reader must know beside what it shows."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout

from gputuner.gui.widgets.labels import Elided, label, repolish
from gputuner.language.words import ngettext

MOST_LINES = 3
"""More would push the page's own content out of sight; the rest is counted, and told on hover."""


class Notice(QFrame):
    """A calm panel with one sentence, a smaller one, and a button."""

    acted = Signal()
    """The user pressed the button."""
    acted_otherwise = Signal()
    """The user pressed the second button."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._title = label("", "heading", wrap=True)
        self._more = label("", "muted", wrap=True)
        self._more.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._button = QPushButton()
        self._button.clicked.connect(self.acted)
        self._other = QPushButton()
        self._other.clicked.connect(self.acted_otherwise)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._more)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 8, 12, 8)
        layout.setSpacing(12)
        layout.addLayout(words, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self._other, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.say("")

    @property
    def text(self) -> str:
        """Title and explanation as shown."""
        return f"{self._title.text()} {self._more.text()}".strip()

    @property
    def button(self) -> QPushButton:
        """The button."""
        return self._button

    @property
    def other_button(self) -> QPushButton:
        """The second button."""
        return self._other

    def say(self, title: str, more: str = "", button: str = "", other: str = "") -> None:
        """Say something; an empty title hides the panel."""
        self._title.setText(title)
        self._more.setText(more)
        self._more.setVisible(bool(more))
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self._other.setText(other)
        self._other.setVisible(bool(other))
        self.setVisible(bool(title))


class NoticeLines(QFrame):
    """Sentences that hold just now, one a line; nothing to press, nothing that takes the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.texts: tuple[str, ...] = ()
        """All that is said, also what only the tooltip has room for."""
        self._count = 0
        self._lines = [Elided() for _number in range(MOST_LINES)]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 6, 12, 6)
        layout.setSpacing(2)
        self._signs = [label("▲", "danger") for _line in self._lines]
        for sign, line in zip(self._signs, self._lines, strict=True):
            row = QHBoxLayout()
            row.setSpacing(6)
            row.addWidget(sign)
            row.addWidget(line, 1)
            layout.addLayout(row)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def text(self) -> str:
        """What is written in the lines, before it is shortened to the room there is."""
        return "\n".join(line.whole for line in self._lines if line.whole)

    @property
    def alerts(self) -> tuple[str, ...]:
        """Those of the lines that have the sign of an alert."""
        return tuple(line.whole for sign, line in zip(self._signs, self._lines, strict=True) if not sign.isHidden())

    def say(self, texts: Sequence[str], alerts: int = 0) -> None:
        """Say these sentences, the first ``alerts`` of them with the sign of an alert; none hides the panel."""
        if tuple(texts) == self.texts and alerts == self._count:
            return
        self.texts, self._count = tuple(texts), alerts
        shown, rest = list(texts), [*texts[MOST_LINES - 1 :]]
        if len(shown) > MOST_LINES:
            more = ngettext("and {count} more", "and {count} more", len(rest)).format(count=len(rest))
            shown = [*shown[: MOST_LINES - 1], more]
        for number, line in enumerate(self._lines):
            words = shown[number] if number < len(shown) else ""
            last = number == MOST_LINES - 1 and len(self.texts) > MOST_LINES
            line.show_text(words, "\n".join(rest) if last else "")
            line.setVisible(bool(words))
            raised = number < alerts
            self._signs[number].setVisible(raised)
            repolish(line, "role", "small" if raised else "muted")
        self.setVisible(bool(texts))
