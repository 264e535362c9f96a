# pyright: standard
"""What a page says when it has nothing else to show: a sentence, an explanation, at most one button."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout

from gputuner.gui.widgets.labels import label


class Notice(QFrame):
    """A calm panel with one sentence, a smaller one, and a button."""

    acted = Signal()
    """The user pressed the button."""

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
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._more)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 8, 12, 8)
        layout.setSpacing(12)
        layout.addLayout(words, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
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

    def say(self, title: str, more: str = "", button: str = "") -> None:
        """Say something; an empty title hides the panel."""
        self._title.setText(title)
        self._more.setText(more)
        self._more.setVisible(bool(more))
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self.setVisible(bool(title))
