"""The bar on top of an experiment."""

from PySide6.QtGui import QGuiApplication

from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.run_bar import ABOUT, RunBar

ABOUT_WORDS = "ResNet-50 · GeForce RTX 4090 48GB (modded)"


def test_what_a_run_is_of_is_told_whole_where_there_is_room(qtbot):
    bar = RunBar(LIGHT, "Training")
    qtbot.addWidget(bar)
    bar.setStyleSheet(stylesheet(LIGHT))
    bar.resize(1184, 48)
    bar.show()
    bar.show_idle(ABOUT_WORDS, "completed", True)
    assert bar._about.text() == ABOUT_WORDS
    QGuiApplication.processEvents()
    assert bar._step.x() > bar._about.geometry().right(), "nothing lies over it"
    bar.resize(600, 48)
    assert bar._about.text().endswith("…")
    assert bar._about.toolTip() == ABOUT_WORDS
    assert bar._about.width() <= ABOUT * bar.width()
    bar.resize(1184, 48)
    assert bar._about.text() == ABOUT_WORDS
