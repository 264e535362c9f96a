"""Advice at the right: what to do, what it gains, why, text to paste; below it what is still to be measured."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from gputuner.gui.widgets.labels import label
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.advice import Advice, Question

WIDTH = 312
"""Width of the column in pixels."""


class CopyRow(QWidget):
    """Text to paste with a button that copies it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._text = text
        shown = label(text, "code", wrap=True)
        shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(_("Copy"))
        self.button.setProperty("small", True)
        self.button.clicked.connect(self.copy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(shown, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)

    def copy(self) -> None:
        """Put the text on the clipboard."""
        QGuiApplication.clipboard().setText(self._text)
        self.button.setText(_("Copied"))


class AdviceCard(QFrame):
    """One advice."""

    evidence_wanted = Signal(object)
    """The user asks to see the evidence: a tuple of point ids."""

    def __init__(self, advice: Advice) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.advice = advice
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addWidget(label(sentences.advice_title(advice), "heading", wrap=True))
        if advice.gain is not None:
            layout.addWidget(label(sentences.gain(advice.gain), "gain", wrap=True))
        layout.addWidget(label(sentences.advice_action(advice), "small", wrap=True))
        layout.addWidget(label(sentences.advice_why(advice), "muted", wrap=True))
        self.copy_row = CopyRow(advice.snippet) if advice.snippet else None
        if self.copy_row is not None:
            layout.addWidget(self.copy_row)
        last = QHBoxLayout()
        words = sentences.confidence(advice.confidence)
        if advice.risk:
            words += " · " + _("with care")
        last.addWidget(label(words, "muted", wrap=True), 1)
        self.evidence_button = QPushButton(_("Evidence"))
        self.evidence_button.setProperty("small", True)
        self.evidence_button.setToolTip(_("Mark the figures this rests on"))
        self.evidence_button.clicked.connect(lambda _checked=False: self.evidence_wanted.emit(advice.evidence))
        last.addWidget(self.evidence_button, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addLayout(last)


class QuestionCard(QFrame):
    """What is not known yet, and the command that finds out."""

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.setProperty("role", "card")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addWidget(label(sentences.question(question), "small", wrap=True))
        layout.addWidget(CopyRow(question.command))


class AdviceColumn(QScrollArea):
    """Cards for advice and questions, best first."""

    evidence_wanted = Signal(object)
    """A tuple of point ids to mark."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(_("advice"))
        self.cards: list[AdviceCard] = []
        self._shown: tuple[tuple[Advice, ...], tuple[Question, ...], str] | None = None
        self.show_advice((), (), "")

    def show_advice(self, advice: Sequence[Advice], questions: Sequence[Question], empty: str) -> None:
        """Show advice and questions; ``empty`` is what to say while there is neither."""
        wanted = (tuple(advice), tuple(questions), empty)
        if wanted == self._shown:
            return
        self._shown = wanted
        page = QWidget()
        page.setProperty("role", "page")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 4, 0)
        layout.setSpacing(8)
        self.cards = [AdviceCard(entry) for entry in advice]
        for card in self.cards:
            card.evidence_wanted.connect(self.evidence_wanted)
            layout.addWidget(card)
        if questions:
            layout.addWidget(label(_("Still to be measured"), "heading"))
            for question in questions:
                layout.addWidget(QuestionCard(question))
        if not advice and not questions and empty:
            layout.addWidget(self._empty(empty))
        layout.addStretch(1)
        self.setWidget(page)

    @staticmethod
    def _empty(text: str) -> QFrame:
        frame = QFrame()
        frame.setProperty("role", "card")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(12, 10, 12, 10)
        words: QLabel = label(text, "muted", wrap=True)
        layout.addWidget(words)
        return frame
