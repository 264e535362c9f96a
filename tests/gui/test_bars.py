"""Bars: columns as wide as their words, one scale for what is compared."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QScrollArea, QToolTip

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bar_marks import SIGNS_AT_MOST, Sign, signs_of
from gputuner.gui.plots.bars import BarGroup, BarRow, Bars
from gputuner.gui.results import together_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import LIGHT, TEXT_SMALL
from gputuner.model.points import Flag


@pytest.mark.parametrize("note", ["105 % (98 % at clock)", "105 % （当前频率下 98 %）"])
def test_no_word_is_cut(qtbot, note):
    bars = Bars(LIGHT)
    qtbot.addWidget(bars)
    bars.resize(600, 300)
    row = BarRow(name="BF16 · from cold", text="174 TFLOP/s", value=174.0, top=180.0, colour=LIGHT.blue, note=note)
    bars.show_groups([BarGroup(title="peak", rows=(row,))])
    metrics = QFontMetricsF(painted(TEXT_SMALL))
    left, value, beside, end = bars.columns
    assert metrics.horizontalAdvance(row.name) <= left
    assert value + metrics.horizontalAdvance(row.text) <= beside
    assert beside + metrics.horizontalAdvance(note) <= end + 1 <= 600
    assert value - left > 100, "the bar keeps its room"


def test_gains_of_all_batches_have_one_scale(qapp, invented):
    facts = RunFacts()
    for event in invented.tune_events():
        facts.take(event)
    tops = {row.top for group in together_groups(facts, LIGHT)[:-1] for row in group.rows}
    assert len(tops) == 1


@pytest.mark.parametrize("width", [345, 420, 556])
def test_names_and_bars_give_way_before_a_verdict(qtbot, width):
    bars = Bars(LIGHT)
    qtbot.addWidget(bars)
    bars.resize(width, 300)
    note = "+136.7 % ▲ better"
    row = BarRow(name="sparse · FP16, without set-up", text="165 TFLOP/s", value=1, top=2, colour=LIGHT.blue, note=note)
    bars.show_groups([BarGroup(title="peak", rows=(row,))])
    left, value, beside, end = bars.columns
    assert end <= width
    assert end - beside >= QFontMetricsF(painted(TEXT_SMALL)).horizontalAdvance(note)
    assert value - left > 24 or width < 400, "where there is room the bar stays a bar"
    assert bars.minimumSizeHint().width() <= 360


def test_signs_tell_the_gravest_first_and_the_key_explains_what_occurs(qtbot):
    flags = (Flag.FEW_SAMPLES, Flag.DRIFT, Flag.THROTTLED_THERMAL, Flag.NOT_STEADY)
    assert signs_of(flags) == (Sign.HEAT, Sign.DRIFT)
    assert len(signs_of(Flag)) == SIGNS_AT_MOST
    bars = Bars(LIGHT, keyed=True)
    qtbot.addWidget(bars)
    rows = tuple(
        BarRow(name=name, text="1", value=1, top=2, colour=LIGHT.blue, signs=signs, hollow=name == "cold")
        for name, signs in (("warm", (Sign.HEAT,)), ("cold", ()))
    )
    bars.show_groups([BarGroup(title="peak", rows=rows)])
    assert bars.key == ("from cold", "held back by heat")


def test_arrow_keys_go_from_bar_to_bar_and_tell_what_hovering_tells(qtbot, monkeypatch):
    told = []
    monkeypatch.setattr(QToolTip, "showText", lambda _where, text, _widget: told.append(text))
    bars = Bars(LIGHT)
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    area.setWidget(bars)
    rows = [BarRow(name=str(n), text=f"{n} W", value=n, top=40, colour=LIGHT.blue, hint=f"hint {n}") for n in range(30)]
    bars.show_groups([BarGroup(title="peak", rows=tuple(rows))])
    bars.setMinimumHeight(bars.sizeHint().height())
    area.resize(400, 200)
    area.show()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_End, Qt.Key.Key_Down, Qt.Key.Key_Home):
        qtbot.keyClick(bars, key)
        if key is Qt.Key.Key_End:
            assert area.verticalScrollBar().value() > 400, "the bar is scrolled into sight"
    assert told == ["hint 1", "hint 2", "hint 1", "hint 29", "hint 29", "hint 0"]
    assert bars.accessibleName() == "0, 0 W"
    assert bars.focusPolicy() is Qt.FocusPolicy.TabFocus
