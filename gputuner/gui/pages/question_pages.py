# pyright: standard
"""The page Training: one question at a time, each with a page of its own, and a row to choose among them."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from gputuner.gui.pages.experiment_page import ExperimentPage
from gputuner.gui.questions import in_order, question_hints, question_words
from gputuner.gui.widgets.labels import label
from gputuner.language.words import _

APART = 16
"""Pixels between the questions that measure and the one that watches."""


class QuestionPages(QWidget):
    """Questions in a row, the page of the chosen one below; the training and card chosen go along with it."""

    chosen = Signal(str)
    """The user wants another question (its name)."""

    def __init__(self, pages: Mapping[str, ExperimentPage]) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self._pages = {name: pages[name] for name in in_order(pages)}
        self.buttons: dict[str, QPushButton] = {}
        self._stack = QStackedWidget()
        self._row = QWidget()
        self._row.setProperty("role", "clear")
        row = QHBoxLayout(self._row)
        row.setContentsMargins(16, 8, 16, 0)
        row.setSpacing(4)
        row.addWidget(label(_("Question"), "muted"))
        row.addSpacing(4)
        words, hints = question_words(), question_hints()
        group = QButtonGroup(self)
        for name, page in self._pages.items():
            button = QPushButton(words[name])
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.setToolTip(hints[name])
            button.clicked.connect(lambda _checked=False, name=name: self.chosen.emit(name))
            group.addButton(button)
            if name == "watch":
                row.addSpacing(APART)
            row.addWidget(button)
            self.buttons[name] = button
            self._stack.addWidget(page)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._row)
        layout.addWidget(self._stack, 1)
        self._row.setVisible(len(self._pages) > 1)
        self.show_question(next(iter(self._pages)))

    @property
    def current(self) -> str:
        """The question that is shown."""
        return next(name for name, page in self._pages.items() if page is self._stack.currentWidget())

    def __contains__(self, name: object) -> bool:
        """Whether it is one of the questions."""
        return name in self._pages

    def show_question(self, name: str) -> None:
        """Show a question."""
        before, after = self._stack.currentWidget(), self._pages[name]
        self.buttons[name].setChecked(True)
        if isinstance(before, ExperimentPage) and before is not after:
            after.take_subject(before)
        self._stack.setCurrentWidget(after)
