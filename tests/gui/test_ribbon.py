"""The limiter over time as a ribbon."""

import pytest
from PySide6.QtGui import QColor

from gputuner.gui.history import Span
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.ribbon import Ribbon
from gputuner.model.quantities import Limiter


@pytest.mark.parametrize("width", [400, 555, 680])
def test_stretches_shorter_than_a_pixel_leave_no_holes(qtbot, width):
    spans, t_s = [], 0.0
    while t_s < 349.0:
        spans.append(Span(t_s, t_s + 9.3, Limiter.POWER))
        spans.append(Span(t_s + 9.3, t_s + 9.7, Limiter.NONE))
        t_s += 9.7
    ribbon = Ribbon(LIGHT)
    qtbot.addWidget(ribbon)
    ribbon.resize(width, 16)
    ribbon.show_spans(spans, 0.0, t_s, [])
    image = ribbon.grab().toImage()
    empty = QColor(LIGHT.sunk)
    assert [x for x in range(4, width - 4) if image.pixelColor(x, 8) == empty] == []


def test_time_without_telemetry_stays_empty(qtbot):
    ribbon = Ribbon(LIGHT)
    qtbot.addWidget(ribbon)
    ribbon.resize(400, 16)
    ribbon.show_spans([Span(0.0, 50.0, Limiter.POWER), Span(60.0, 100.0, Limiter.POWER)], 0.0, 100.0, [])
    image = ribbon.grab().toImage()
    assert all(image.pixelColor(x, 8) == QColor(LIGHT.sunk) for x in range(203, 238))
