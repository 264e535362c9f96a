# pyright: standard
"""Advice at the right: what to do, what it gains, why, text to paste; below it what is still to be measured."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gputuner.advice.naming import names
from gputuner.gui.try_desk import Tries
from gputuner.gui.widgets.advice_try import AdviceTry, shown_of
from gputuner.gui.widgets.labels import label, minus
from gputuner.gui.widgets.pane import Pane
from gputuner.language import sentences
from gputuner.language.words import _, ngettext
from gputuner.model.advice import Advice, Question

FRAME = 16
"""Pixels above and below code, together."""


class CodeBox(QPlainTextEdit):
    """Text to paste, wrapped to its width and as high as it needs: it never scrolls by itself."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setProperty("role", "code")
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setAccessibleName(_("text to paste"))
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """As high as its lines are at this width."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """The same with the fonts of the window: a page that was built while hidden had none."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        height = round(self.document().size().height() * self.fontMetrics().lineSpacing()) + FRAME
        if height != self.minimumHeight():
            self.setFixedHeight(height)


def copy_button(text: str) -> QPushButton:
    """A button that puts ``text`` on the clipboard and says so."""
    button = QPushButton(_("Copy"))
    button.setProperty("small", True)

    def copy() -> None:
        QGuiApplication.clipboard().setText(text)
        button.setText(_("Copied"))

    button.clicked.connect(copy)
    return button


class CodeFold(QWidget):
    """A line that opens the code, with the button that copies it; the code below it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        lines = text.count("\n") + 1
        self._show = ngettext("Show code ({count} line)", "Show code ({count} lines)", lines).format(count=lines)
        self.code = CodeBox(text)
        self.code.hide()
        self.opener = QPushButton(self._show)
        self.opener.setProperty("small", True)
        self.opener.setCheckable(True)
        self.opener.toggled.connect(self._open)
        self.copy_button = copy_button(text)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.opener)
        row.addStretch(1)
        row.addWidget(self.copy_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self.code)

    def _open(self, on: bool) -> None:
        self.opener.setText(_("Hide code") if on else self._show)
        self.code.setVisible(on)


class AdviceCard(QFrame):
    """One advice."""

    evidence_wanted = Signal(object)
    """The user asks to see the evidence: a tuple of point ids."""

    def __init__(self, advice: Advice, name: str) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.advice = advice
        self.name = name
        self.tried = AdviceTry()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addWidget(label(sentences.advice_title(advice), "heading", wrap=True))
        if advice.gain is not None:
            role = "small" if sentences.gain_is_open(advice.gain) else "gain"
            layout.addWidget(label(minus(sentences.gain(advice.gain)), role, wrap=True))
        layout.addWidget(label(sentences.advice_action(advice), "small", wrap=True))
        layout.addWidget(label(minus(sentences.advice_why(advice)), "muted", wrap=True))
        self.fold = CodeFold(advice.snippet) if advice.snippet else None
        self.copy_button = self.fold.copy_button if self.fold is not None else None
        if self.fold is not None:
            layout.addWidget(self.fold)
        layout.addWidget(label(self._confidence(advice), "muted", wrap=True))
        layout.addLayout(self._buttons(advice))
        layout.addWidget(self.tried)

    @staticmethod
    def _confidence(advice: Advice) -> str:
        care = _("with care") if advice.risk else ""
        told = (sentences.confidence(advice.confidence, advice.origin), sentences.of_its_kind(advice.params), care)
        return " · ".join(each for each in told if each)

    def _buttons(self, advice: Advice) -> QHBoxLayout:
        last = QHBoxLayout()
        last.setSpacing(6)
        last.addStretch(1)
        last.addWidget(self.tried.button)
        self.evidence_button = QPushButton(_("Evidence"))
        self.evidence_button.setProperty("small", True)
        self.evidence_button.setToolTip(_("Mark the figures this rests on"))
        self.evidence_button.clicked.connect(lambda _checked=False: self.evidence_wanted.emit(advice.evidence))
        last.addWidget(self.evidence_button)
        return last


class QuestionCard(QFrame):
    """What is not known yet, and the command that finds out."""

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.setProperty("role", "card")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addWidget(label(sentences.question(question), "small", wrap=True))
        layout.addWidget(CodeBox(question.command))
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(copy_button(question.command))
        layout.addLayout(row)


class AdviceColumn(Pane):
    """Cards for advice and questions, best first."""

    evidence_wanted = Signal(object)
    """A tuple of point ids to mark."""
    try_wanted = Signal(str, str)
    """Try an advice: the session's run id, the advice's name."""
    stop_wanted = Signal()
    """End the try and keep what was measured."""
    trials_wanted = Signal(object)
    """Show the session (path) with the trials of a try."""

    def __init__(self) -> None:
        page = QWidget()
        page.setProperty("role", "page")
        super().__init__(page)
        self.setAccessibleName(_("advice"))
        self.cards: list[AdviceCard] = []
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(0, 0, 1, 0)
        self._column.setSpacing(8)
        self._content = QWidget()
        self._column.addWidget(self._content)
        self._column.addStretch(1)
        self.setWidget(page)
        self._shown: tuple[tuple[Advice, ...], tuple[Question, ...], str] | None = None
        self._tries = Tries()
        self.show_advice((), (), "")

    def put_above(self, widget: QWidget) -> None:
        """Show something above the advice."""
        self._column.insertWidget(self._column.indexOf(self._content), widget)

    def show_advice(self, advice: Sequence[Advice], questions: Sequence[Question], empty: str) -> None:
        """Show advice and questions; ``empty`` is what to say while there is neither."""
        wanted = (tuple(advice), tuple(questions), empty)
        if wanted == self._shown:
            return
        self._shown = wanted
        content = QWidget()
        content.setProperty("role", "clear")
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        self.cards = [AdviceCard(entry, name) for entry, name in zip(advice, names(advice), strict=True)]
        for card in self.cards:
            card.evidence_wanted.connect(self.evidence_wanted)
            card.tried.try_wanted.connect(lambda name=card.name: self.try_wanted.emit(self._tries.session, name))
            card.tried.stop_wanted.connect(self.stop_wanted)
            card.tried.trials_wanted.connect(self.trials_wanted)
            layout.addWidget(card)
        self.show_tries(self._tries)
        if questions:
            layout.addWidget(label(_("Still to be measured"), "heading"))
            for question in questions:
                layout.addWidget(QuestionCard(question))
        if not advice and not questions and empty:
            layout.addWidget(self._empty(empty))
        self._column.replaceWidget(self._content, content)
        self._content.hide()
        self._content.deleteLater()
        self._content = content

    def show_tries(self, tries: Tries) -> None:
        """Show what came of advice that was tried, and offer to try what can be."""
        self._tries = tries
        for card in self.cards:
            card.tried.show_try(shown_of(card.advice, card.name, tries))

    @staticmethod
    def _empty(text: str) -> QFrame:
        frame = QFrame()
        frame.setProperty("role", "card")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(12, 10, 12, 10)
        words: QLabel = label(text, "muted", wrap=True)
        layout.addWidget(words)
        return frame
