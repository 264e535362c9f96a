"""Axes, labels and limits of the pictures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QLabel

from gputuner.gui.plots.style import even_ticks, round_up
from gputuner.gui.plots.time_axis import TimeAxis, clock_text
from gputuner.gui.plots.time_plot import Curve, Limit, TimePlot
from gputuner.gui.theme import LIGHT


@given(st.floats(1e-6, 1e15))
def test_upper_end_holds_the_value_without_waste(value):
    end = round_up(value)
    assert value <= end * (1 + 1e-6)
    assert end <= value * 1.5


@given(st.floats(0, 1000), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_round_and_inside(low, span, about):
    ticks = even_ticks(low, low + span, about)
    assert 1 <= len(ticks) <= 2.6 * about + 1
    assert all(low - 1e-6 * span <= t <= low + span * (1 + 1e-6) for t in ticks)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0"), (-240, "−4:00"), (-61, "−1:01"), (-7262, "−2:01:02"), (75, "1:15")]
)
def test_time_before_now(seconds, text):
    assert clock_text(seconds) == text


@pytest.mark.parametrize("span", [60, 300, 1800, 7200, 43200])
def test_time_ticks_are_whole_and_few(qapp, span):
    (step, ticks), *_ = TimeAxis().tickValues(-span, 0, 340)
    assert 3 <= len(ticks) <= 10
    assert all(tick % step == 0 for tick in ticks)


def test_limit_and_curve_both_fit_and_zero_is_in(qtbot):
    plot = TimePlot(LIGHT, "Power", "W", [Curve(key="a", name="a", colour=LIGHT.blue)])
    qtbot.addWidget(plot)
    plot.resize(400, 200)
    plot.show()
    plot.show_limits([Limit(name="limit 450", value=450.0, colour=LIGHT.blue)])
    plot.show_curves({"a": (np.array([-2.0, -1.0, 0.0]), np.array([440.0, np.nan, 460.0]))}, 60.0)
    low, high = plot.plot.getPlotItem().getViewBox().viewRange()[1]
    assert low == 0.0
    assert high > 460.0


def test_far_limit_does_not_flatten_the_curve(qtbot):
    plot = TimePlot(LIGHT, "Memory", "GiB", [Curve(key="a", name="a", colour=LIGHT.sky)])
    qtbot.addWidget(plot)
    plot.show_limits([Limit(name="total", value=1000.0, colour=LIGHT.sky)])
    plot.show_curves({"a": (np.array([-1.0, 0.0]), np.array([10.0, 11.0]))}, 60.0)
    assert plot.plot.getPlotItem().getViewBox().viewRange()[1][1] < 20


def test_curves_have_no_nan_filled_in(qtbot):
    plot = TimePlot(LIGHT, "Clock", "MHz", [Curve(key="a", name="SM", colour=LIGHT.green)])
    qtbot.addWidget(plot)
    plot.show_curves({}, 60.0)
    plot.show_reading("a", None, "SM clock: not supported")
    assert plot.legends == {"a": "SM —"}
    assert plot.legend_hint("a") == "SM clock: not supported"


def test_limits_that_lie_close_have_their_words_on_both_sides(qtbot):
    plot = TimePlot(LIGHT, "Temperature", "°C", [Curve(key="a", name="core", colour=LIGHT.vermilion)])
    qtbot.addWidget(plot)
    plot.resize(400, 200)
    plot.show()
    close = [
        Limit(name="core 89", value=89.0, colour=LIGHT.vermilion),
        Limit(name="memory 95", value=95.0, colour=LIGHT.orange),
    ]
    plot.show_limits(close)
    plot.show_curves({"a": (np.array([-1.0, 0.0]), np.array([40.0, 50.0]))}, 60.0)
    assert plot.limit_words_below == {"core 89": True, "memory 95": False}
    plot.show_limits([close[1], Limit(name="core 40", value=40.0, colour=LIGHT.vermilion)])
    assert plot.limit_words_below == {"memory 95": False, "core 40": False}


def test_words_of_a_limit_give_way_to_a_curve(qtbot):
    plot = TimePlot(LIGHT, "Temperature", "°C", [Curve(key="a", name="memory", colour=LIGHT.orange)])
    qtbot.addWidget(plot)
    plot.resize(400, 200)
    plot.show()
    plot.show_limits([Limit(name="core 83", value=83.0, colour=LIGHT.vermilion)])
    times = np.linspace(-60.0, 0.0, 121)
    plot.show_curves({"a": (times, np.where(times < -30, 86.0, 40.0))}, 60.0)
    assert plot.limit_words_below == {"core 83": True}
    plot.show_curves({"a": (times, np.where(times < -30, 79.0, 40.0))}, 60.0)
    assert plot.limit_words_below == {"core 83": False}


def test_right_end_of_the_last_minutes_is_now(qtbot):
    plot = TimePlot(LIGHT, "Power", "W", [Curve(key="a", name="a", colour=LIGHT.blue)])
    qtbot.addWidget(plot)
    axis = plot.plot.getPlotItem().getAxis("bottom")
    plot.show_curves({}, 60.0)
    assert axis.tickStrings([-60.0, 0.0], 1.0, 60.0) == ["−1:00", "now"]
    plot.show_range({}, 0.0, 60.0)
    assert axis.tickStrings([0.0, 60.0], 1.0, 60.0) == ["0", "1:00"]


def test_every_legend_keeps_its_place_and_the_unit_stays(qtbot):
    curves = [Curve(key=name, name=name, colour=LIGHT.blue) for name in ("instant", "average", "lowest")]
    plot = TimePlot(LIGHT, "Power", "W", curves)
    qtbot.addWidget(plot)
    plot.show()
    for key in ("instant", "average", "lowest"):
        plot.show_reading(key, 326.0)
    entries = [entry for entry in plot.findChildren(QLabel) if entry.property("role") == "legend"]
    unit = next(entry for entry in plot.findChildren(QLabel) if entry.text() == "W")
    for width, below in ((700, False), (240, True), (150, True), (700, False)):
        plot.resize(width, 200)
        qtbot.waitUntil(lambda width=width: plot.width() == width)
        qtbot.waitUntil(lambda: all(entry.width() >= entry.sizeHint().width() for entry in entries))
        assert all(entry.isVisible() for entry in entries), width
        assert plot.legend_is_below is below
        assert unit.text() == "W"


def test_a_sample_without_neighbours_is_a_dot(qtbot):
    plot = TimePlot(LIGHT, "Step", "ms", [Curve(key="a", name="step", colour=LIGHT.blue)])
    qtbot.addWidget(plot)
    plot.show_curves({"a": (np.array([-3.0]), np.array([19.8]))}, 60.0)
    assert plot.dots("a") == [(-3.0, 19.8)]
    gapped = np.array([1.0, np.nan, 2.0, 3.0, np.nan, 4.0])
    plot.show_curves({"a": (np.arange(-6.0, 0.0), gapped)}, 60.0)
    assert plot.dots("a") == [(-6.0, 1.0), (-1.0, 4.0)], "a line joins the two in between"
    plot.show_curves({}, 60.0)
    assert plot.dots("a") == []
