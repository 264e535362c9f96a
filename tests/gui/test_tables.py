"""Tables share their width by what the words need, and tell on hover what is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as some
from PySide6.QtCore import QPoint
from PySide6.QtGui import QFontMetrics, QHelpEvent
from PySide6.QtWidgets import QStyleOptionViewItem, QToolTip

from gputuner.gui.fonts import painted
from gputuner.gui.theme import LIGHT, TEXT_SMALL
from gputuner.gui.widgets.column_widths import Need, shared
from gputuner.gui.widgets.tables import Cell, Column, Table

LONG = "training rate · batch 16, BF16, channels-last, 224 px"


def test_an_empty_column_gives_its_room_to_names_that_are_cut():
    names, values, remarks = Need(0, 360, 60), Need(130, 100, 50, firm=True), Need(130, 0, 70)
    assert shared([names, values, remarks], 560) == [360, 130, 70]
    assert shared([names, values, remarks], 500) == [300, 130, 70]


def test_where_names_leave_room_other_words_get_it():
    assert shared([Need(0, 150, 60), Need(130, 230, 50, firm=True), Need(130, 190, 70)], 560) == [150, 230, 180]
    assert shared([Need(0, 150, 60), Need(130, 230, 50, firm=True), Need(130, 190, 70)], 700) == [280, 230, 190]


def test_a_time_is_not_cut_for_a_name():
    when, what, card = Need(102, 111, 60, firm=True), Need(118, 95, 50), Need(0, 150, 60)
    assert shared([when, what, card], 370) == [111, 109, 150]
    assert shared([when, what, card], 340) == [109, 95, 136]


def test_a_wide_column_does_not_swallow_the_names():
    """Supply: what was found how is long, and its usual width left 50 of 540 pixels for the names."""
    subject, name, value, how = Need(92, 85, 70), Need(0, 180, 60), Need(130, 110, 50, firm=True), Need(340, 500, 140)
    widths = shared([subject, name, value, how], 540)
    assert widths[1] >= 180
    assert sum(widths) == 540


@given(
    some.lists(
        some.builds(Need, some.integers(0, 300), some.integers(0, 600), some.integers(20, 120), firm=some.booleans()),
        min_size=1,
        max_size=7,
    ),
    some.integers(50, 3000),
)
def test_widths_fill_the_room_and_firm_columns_keep_theirs(needs, room):
    widths = shared(needs, room)
    assert all(width >= 0 for width in widths)
    assert all(width >= need.usual for need, width in zip(needs, widths, strict=True) if need.firm and need.usual)
    firm = sum(need.usual for need in needs if need.firm)
    if any(not need.usual for need in needs) and firm <= room:
        assert sum(widths) >= room


@pytest.fixture
def table(qtbot):
    columns = [Column("Figure", 0), Column("Value", 14, right=True), Column("Remarks", 14)]
    table = Table(LIGHT, columns, "figures")
    qtbot.addWidget(table)
    table.resize(560, 200)
    table.show()
    return table


def cut(table, row: int, column: int) -> bool:
    text = table.rows.cells[row][column].text
    return QFontMetrics(painted(TEXT_SMALL)).horizontalAdvance(text) + 12 > table.columnWidth(column)


def test_no_name_is_cut_while_there_is_room(table):
    table.rows.show_rows([("1", [Cell(LONG), Cell("1071 samples/s"), Cell("")])])
    assert not cut(table, 0, 0)
    assert sum(table.columnWidth(n) for n in range(3)) == table.viewport().width()
    table.rows.show_rows([("2", [Cell("rate"), Cell("1 samples/s"), Cell("held back by the power limit")])])
    assert not cut(table, 0, 2)


def test_figures_that_follow_each_other_do_not_jump(table):
    table.rows.show_rows([("1", [Cell(LONG), Cell("1071 samples/s"), Cell("held back")])])
    before = [table.columnWidth(n) for n in range(3)]
    for value in ("9 samples/s", "12 345 samples/s", "1 samples/s"):
        table.rows.show_rows([("1", [Cell(LONG), Cell(value), Cell("")])])
        assert [table.columnWidth(n) for n in range(3)] == before


def test_a_few_very_long_names_do_not_cost_every_remark(table):
    rows = [(str(n), [Cell("rate"), Cell("1 samples/s"), Cell("held back by the power limit")]) for n in range(30)]
    table.rows.show_rows([*rows, ("long", [Cell(LONG * 3), Cell("1"), Cell("")])])
    assert not cut(table, 0, 2)


def test_hovering_tells_words_that_are_cut_before_the_rest(table, monkeypatch):
    told = []
    monkeypatch.setattr(QToolTip, "showText", lambda _where, text, _widget: told.append(text))
    table.rows.show_rows([("1", [Cell(LONG * 2, "n = 8"), Cell("—", "not reported"), Cell("held back")])])
    for column in range(3):
        index = table.rows.index(0, column)
        event = QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(2, 2), table.mapToGlobal(QPoint(2, 2)))
        table.itemDelegate().helpEvent(event, table, QStyleOptionViewItem(), index)
    assert told == [f"{LONG * 2}\nn = 8", "not reported", "held back"]


def test_a_column_that_is_left_out_leaves_its_room(table):
    table.rows.show_rows([("1", [Cell(LONG * 2), Cell("1"), Cell("held back")])])
    before = table.columnWidth(0)
    table.setColumnHidden(2, True)
    assert table.columnWidth(0) == table.viewport().width() - table.columnWidth(1) > before


def test_figures_to_the_right_have_a_minus_sign(table):
    table.rows.show_rows([("1", [Cell("end loss -1"), Cell("-0.0118"), Cell("")])])
    shown = [table.rows.data(table.rows.index(0, column)) for column in range(2)]
    assert shown == ["end loss -1", "\u22120.0118"]
    assert table.rows.cells[0][1].text == "-0.0118", "what is copied can be read by programs"
