"""Boxes to choose and to count in look like what they are."""

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QLineEdit, QToolTip, QVBoxLayout, QWidget

from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox, WholeBox

NAME = "GeForce RTX 4090 48GB (modded)"


def inked(widget, left: int, right: int) -> int:
    """Dark pixels of the widget between two columns, without its frame."""
    image = widget.grab(QRect(left, 4, right - left, widget.height() - 8)).toImage()
    spots = ((x, y) for x in range(image.width()) for y in range(image.height()))
    return sum(image.pixelColor(x, y).lightness() < 120 for x, y in spots)


@pytest.mark.parametrize("kind", [ChoiceBox, WholeBox, DecimalBox])
def test_arrows_are_drawn(qtbot, kind):
    box = kind()
    qtbot.addWidget(box)
    box.setStyleSheet(stylesheet(LIGHT))
    box.resize(160, 32)
    box.show()
    assert inked(box, 138, 156) > 5


def test_all_fields_are_as_high_and_their_words_begin_at_the_same_place(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    page.setStyleSheet(stylesheet(LIGHT))
    column = QVBoxLayout(page)
    boxes = [ChoiceBox(), WholeBox(), DecimalBox(), QLineEdit("H")]
    boxes[0].addItem("H")
    for box in boxes[1:3]:
        box.setSpecialValueText("H")
    for box in boxes:
        column.addWidget(box)
    page.resize(200, 200)
    page.show()
    assert len({box.height() for box in boxes}) == 1
    begins = [next(x for x in range(3, 40) if inked(box, x, x + 1)) for box in boxes]
    assert len(set(begins)) == 1


def test_words_are_shortened_and_told_on_hover(qtbot, monkeypatch):
    told = []
    monkeypatch.setattr(QToolTip, "showText", lambda _where, text, _widget: told.append(text))
    box = ChoiceBox()
    qtbot.addWidget(box)
    box.setStyleSheet(stylesheet(LIGHT))
    box.addItem(NAME)
    box.setToolTip("what is measured")
    box.show()
    box.resize(120, 32)
    box.grab()
    box.event(QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(5, 5), box.mapToGlobal(QPoint(5, 5))))
    assert told == [f"{NAME}\nwhat is measured"]
