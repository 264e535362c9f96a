"""Labels: a line never begins with the unit of the number before it."""

from PySide6.QtWidgets import QLabel

from gputuner.gui.widgets.labels import label


def test_a_wrapped_label_keeps_number_and_unit_together_and_tells_what_was_said(qtbot):
    shown = label("It draws 314 W", wrap=True)
    qtbot.addWidget(shown)
    assert shown.text() == "It draws 314 W"
    assert QLabel.text(shown) == "It draws 314\u00a0W"
    shown.setText("at 90 %")
    assert (shown.text(), QLabel.text(shown)) == ("at 90 %", "at 90\u00a0%")
