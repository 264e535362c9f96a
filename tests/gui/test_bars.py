"""Bars: columns as wide as their words, one scale for what is compared."""

import pytest
from PySide6.QtGui import QFontMetricsF

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bars import BarGroup, BarRow, Bars
from gputuner.gui.results import together_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import LIGHT, TEXT_SMALL


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
