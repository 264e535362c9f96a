"""The line below a big number."""

import pytest

from gputuner.gui.widgets.big_number import Caption

PARTS = ["of 3 045 MHz", "memory 10 500 MHz"]
WHOLE = " · ".join(PARTS)


@pytest.fixture
def caption(qtbot):
    result = Caption()
    qtbot.addWidget(result)
    result.show_text(WHOLE)
    result.show()
    return result


def test_a_part_without_room_is_left_out_whole_and_told_on_hover(caption):
    metrics = caption.fontMetrics()
    caption.resize(metrics.horizontalAdvance(WHOLE) + 2, 20)
    assert caption.text() == WHOLE
    caption.resize(metrics.horizontalAdvance(WHOLE) - 4, 20)
    assert caption.text() == PARTS[0]
    assert caption.toolTip() == WHOLE


def test_words_are_never_cut_inside(caption):
    for width in range(10, 200, 7):
        caption.resize(width, 20)
        assert caption.text() in {WHOLE, PARTS[0], "of 3 045 …", "of 3 …", "of …", "…", ""}
