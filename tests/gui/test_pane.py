"""Panes of a page are as wide on every page, with a scroll bar as without."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QScrollBar, QWidget

from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.fold import Fold
from gputuner.gui.widgets.pane import BAR, PaneCard
from gputuner.model.planned import Planned


@pytest.fixture
def pane(qtbot):
    card = PaneCard()
    qtbot.addWidget(card)
    card.setStyleSheet(stylesheet(LIGHT))
    card.inside = QLabel("x")
    card.column.addWidget(card.inside)
    card.resize(280, 300)
    card.show()
    return card


def test_what_is_inside_stays_as_wide_when_a_scroll_bar_comes_and_goes(pane, qtbot):
    wide = pane.inside.width()
    for height, scrolls in ((900, True), (40, False), (900, True)):
        pane.inside.setFixedHeight(height)
        qtbot.waitUntil(lambda scrolls=scrolls: pane.pane.verticalScrollBar().isVisible() == scrolls)
        QGuiApplication.processEvents()
        assert pane.inside.width() == wide


def test_the_room_kept_is_that_of_the_scroll_bar(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    page.setStyleSheet(stylesheet(LIGHT))
    bar = QScrollBar(page)
    page.show()
    assert bar.sizeHint().width() == BAR


def test_every_page_is_set_up_in_a_pane_as_wide(open_window, invented):
    window = open_window(invented.ports([invented.modded_4090()]))
    for size in (window.size(), window.minimumSize()):
        window.resize(size)
        widths = {}
        for name in window.experiments:
            window.show_page(name)
            QGuiApplication.processEvents()
            widths[name] = window.experiments[name].setup.width()
        window.navigate("queue")
        QGuiApplication.processEvents()
        widths["queue"] = window.queue.form.width()
        assert len(set(widths.values())) == 1, widths


def test_a_fold_opens_and_closes_what_stands_in_it(qtbot):
    fold = Fold("Sweep")
    qtbot.addWidget(fold)
    inside = QLabel("x")
    fold.column.addWidget(inside)
    fold.show()
    assert not inside.isVisible()
    fold.opener.click()
    assert inside.isVisible()
    assert fold.opener.text() == "▾ Sweep"
    fold.opener.click()
    assert not inside.isVisible()


def test_the_card_is_named_without_its_vendor_where_room_is_short(open_window, invented):
    window = open_window(invented.ports([invented.modded_4090(), invented.rtx_3090()]))
    window.resize(window.minimumSize())
    window.navigate("tune")
    QGuiApplication.processEvents()
    chooser = window.tune.setup.chooser
    names = [chooser.itemText(place) for place in range(chooser.count())]
    assert not any("GeForce" in name or "NVIDIA" in name for name in names)
    assert max(map(chooser.fontMetrics().horizontalAdvance, names)) < chooser.width() - 40


def test_a_plan_without_a_step_is_not_counted(open_window, invented):
    """A processor has no cooler to measure: nothing is planned, and "0 steps, about 0 s" would say nothing."""
    window = open_window(invented.ports([invented.cpu_card()]))
    setup = window.experiments["cooling"].setup
    setup.show_planned(Planned(steps=(), expected_s=0.0))
    assert setup.plan_text == ""
    setup.show_problem("why not")
    assert setup.plan_text == "why not"
