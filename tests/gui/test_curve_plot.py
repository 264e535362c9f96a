"""Curves over sizes and decades: scales, ends of axes, rings of evidence, and bars that tell what they are."""

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import QToolTip

from gputuner.gui.plots.bars import GROUP, BarGroup, BarRow, Bars
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.curves import Dot, Series, Stretch, Upright
from gputuner.gui.plots.scales import decades, linear, sizes
from gputuner.gui.theme import LIGHT


@pytest.mark.parametrize(
    ("count", "words"),
    [(512, "512 B"), (2**15, "32 KiB"), (3 * 2**19, "1.5 MiB"), (2**34, "16 GiB")],
)
def test_sizes_are_said_in_powers_of_two(count, words):
    assert sizes().text(count) == words
    assert sizes().value(sizes().place(count)) == pytest.approx(count)


def test_ticks_thin_out_to_the_room_there_is():
    ticks = sizes().ticks(10.0, 34.0, 5)
    assert 2 <= len(ticks) <= 5
    assert {b - a for a, b in pairwise(ticks)} == {ticks[1] - ticks[0]}
    assert decades().ticks(-0.5, 3.2, 9) == [0.0, 1.0, 2.0, 3.0]
    assert linear().ticks(0.0, 100.0, 5) == [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]


@pytest.fixture
def plot(qtbot):
    result = CurvePlot(LIGHT, "Bandwidth", "GB/s", "bytes", sizes(), linear())
    qtbot.addWidget(result)
    result.resize(600, 320)
    result.show()
    return result


def curve(name: str, factor: float) -> Series:
    dots = tuple(Dot(x=2.0**p, y=factor * p, low=factor * p * 0.98, high=factor * p * 1.02, point_id=f"{name}{p}")
                 for p in range(20, 30))  # fmt: skip
    return Series(name=name, colour=LIGHT.blue, dots=dots)


def test_zero_is_included_and_all_dots_are_inside(plot):
    plot.show_series([curve("read", 3.0), curve("write", 2.9)], [Stretch(x0=2.0**20, x1=2.0**25, name="L2")])
    (x0, x1), (y0, y1) = plot.plot.getPlotItem().getViewBox().viewRange()
    assert y0 == 0.0
    assert y1 >= 3.0 * 29 * 1.02
    assert x0 < 20.0
    assert x1 > 29.0
    assert set(plot.label_boxes) == {"● read\n● write", "L2"}, "ends that lie together share a label"


def test_ends_that_lie_apart_have_a_label_each(plot):
    plot.show_series([curve("read", 3.0), curve("write", 1.5)])
    assert set(plot.label_boxes) == {"read", "write"}


def test_a_name_stands_where_it_is_wanted_and_nothing_beyond_the_figures_has_ticks(plot):
    level = Series(name="median", colour=LIGHT.muted, path=((2.0**20, 40.0), (2.0**29, 40.0)), named_at=(2.0**21, 40.0))
    plot.show_series([curve("read", 3.0), level])
    box = plot.label_boxes["median"]
    assert box.left < plot.plot.getPlotItem().getViewBox().width() / 2
    axis = plot.plot.getPlotItem().getAxis("bottom")
    (_step, places) = axis.tickValues(19.0, 40.0, 1000)[0]
    assert max(places) <= 29.5
    image = QImage(200, 40, QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    (_pen, left, right), *_others = axis.generateDrawSpecs(painter)
    painter.end()
    span, low, high = axis.size().width(), *axis.range
    assert axis.last < high
    assert (right - left).x() == pytest.approx(span * (axis.last - low) / (high - low), rel=0.02), "it ends there too"


def test_words_of_a_level_line_are_not_struck_through_by_it(plot):
    path = ((2.0**20, 40.0), (2.0**29, 40.0))
    level = Series(name="without waiting 40", colour=LIGHT.good, path=path, dashed=True, named_at=path[0])
    plot.show_series([curve("read", 3.0), level])
    box = plot.label_boxes["without waiting 40"]
    line = plot._pixel(plot._place(path[0]))[1]
    assert box.bottom <= line or box.top >= line


def test_words_of_an_upright_line_stand_off_the_edges_of_stretches(plot):
    stretches = [Stretch(x0=2.0**20, x1=2.0**25, name="L2"), Stretch(x0=2.0**27, x1=2.0**29, name="DRAM")]
    plot.show_series([curve("read", 3.0)], stretches, [Upright(x=2.0**25.5, name="L2 72 MiB")])
    box = plot.label_boxes["L2 72 MiB"]
    edges = [plot._pixel((plot._x.place(x), 0.0))[0] for x in (2.0**20, 2.0**25, 2.0**25.5, 2.0**27, 2.0**29)]
    assert not [edge for edge in edges if box.left < edge < box.right]


def test_nothing_shows_through_words(plot):
    plot.show_series([curve("read", 3.0)], [Stretch(x0=2.0**20, x1=2.0**25, name="L2")])
    assert {label.item.fill.color().alpha() for label in plot._labels} == {255}


def test_a_stretch_without_figures_is_in_the_picture(plot):
    plot.show_series([curve("read", 3.0)], [Stretch(x0=2.0**29, x1=2.0**31, name="not reached", hatched=True)])
    (_x0, x1), _y = plot.plot.getPlotItem().getViewBox().viewRange()
    assert x1 >= 31.0


def test_stretches_narrower_than_their_words_have_none(plot):
    stretches = [
        Stretch(x0=2.0**20, x1=2.0**24.9, name="L2"),
        Stretch(x0=2.0**24.9, x1=2.0**25.1, name="between two levels"),
        Stretch(x0=2.0**25.1, x1=2.0**29, name="DRAM"),
    ]
    plot.show_series([curve("read", 3.0)], stretches)
    boxes = plot.label_boxes
    assert set(boxes) == {"read", "L2", "DRAM"}
    assert not boxes["L2"].meets(boxes["DRAM"])


def test_both_ends_of_the_values_are_labelled(qtbot, plot):
    plot.show_series([curve("read", 3.0)])
    plot.grab()
    axis = plot.plot.getPlotItem().getAxis("left")
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    with_words = [words for _rect, _flags, words in axis.generateDrawSpecs(painter)[2]]
    painter.end()
    assert with_words[0] == "0"
    assert with_words[-1] == f"{axis.range[1]:g}"


def test_a_large_picture_has_no_more_even_ticks_than_are_read(qtbot, plot):
    plot.show_series([curve("read", 3.0)])
    plot.resize(1800, 1000)
    axis = plot.plot.getPlotItem().getAxis("left")
    (_step, ticks), *_ = axis.tickValues(*axis.range, 900)
    assert 4 <= len(ticks) <= 12


def test_the_unit_stands_beside_the_values(qtbot):
    result = CurvePlot(LIGHT, "Latency", "for each access", "footprint", sizes(), linear(), "ns")
    qtbot.addWidget(result)
    assert result.plot.getPlotItem().getAxis("left").labelText == "ns"


def test_thousands_stand_apart_beside_the_axis():
    assert linear().text(12000.0) == "12\u2009000"
    assert decades().text(0.5) == "0.5"


def test_one_dot_alone_is_drawn(plot):
    plot.show_series([Series(name="", colour=LIGHT.blue, dots=(Dot(x=1024.0, y=5.0),))])
    assert len(plot.dot_spots) == 1


def test_evidence_is_ringed(plot):
    import pyqtgraph as pg

    plot.show_series([curve("read", 3.0)])

    def scatters() -> int:
        return sum(isinstance(item, pg.ScatterPlotItem) for item in plot.plot.getPlotItem().items)

    before = scatters()
    plot.mark(frozenset({"read25"}))
    assert scatters() == before + 1
    plot.mark(frozenset())
    assert scatters() == before


def test_nothing_to_show_is_an_empty_picture(plot, tmp_path: Path):
    plot.show_series([curve("read", 3.0)])
    plot.show_series([])
    assert plot.dot_spots == []
    assert plot.grab().save(str(tmp_path / "empty.png"))


def test_hovering_over_a_bar_tells_its_conditions(qtbot, monkeypatch):
    told = []
    monkeypatch.setattr(QToolTip, "showText", lambda _where, text, _widget: told.append(text))
    bars = Bars(LIGHT)
    qtbot.addWidget(bars)
    bars.resize(400, 200)
    row = BarRow(name="BF16", text="1", value=1.0, top=1.0, colour=LIGHT.blue, hint="2565 MHz · 446 W")
    bars.show_groups([BarGroup(title="gemm", rows=(row,))])
    bars.show()
    spot = QPoint(60, 6 + GROUP + 8)
    bars.event(QHelpEvent(QHelpEvent.Type.ToolTip, spot, bars.mapToGlobal(spot)))
    bars.event(QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(60, 2), bars.mapToGlobal(QPoint(60, 2))))
    assert told == ["2565 MHz · 446 W", ""]
