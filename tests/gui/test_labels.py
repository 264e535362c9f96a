"""Labels: a line never begins with the unit of the number before it."""

from PySide6.QtWidgets import QLabel

from gputuner.gui.widgets.labels import label, minus


def test_a_wrapped_label_keeps_number_and_unit_together_and_tells_what_was_said(qtbot):
    shown = label("It draws 314 W", wrap=True)
    qtbot.addWidget(shown)
    assert shown.text() == "It draws 314 W"
    assert QLabel.text(shown) == "It draws 314\u00a0W"
    shown.setText("at 90 %")
    assert (shown.text(), QLabel.text(shown)) == ("at 90 %", "at 90\u00a0%")


def test_figures_have_a_minus_sign_and_words_keep_their_hyphens():
    assert minus("Peak memory changes by -45 %, loss -0.0118") == "Peak memory changes by \u221245 %, loss \u22120.0118"
    for text in ("2026-11-30", "channels-last", "ResNet-50", "GPU-51501a", "--minutes 5", "1-10", "1e-3"):
        assert minus(text) == text
