"""Pictures as they leave the program: sharp, with what they show, of which card, when, and whether it was measured."""

from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage

from gputuner.gui.pages.saved_picture import SavedPicture
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.curves import Dot, Series
from gputuner.gui.plots.scales import linear, sizes
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import LIGHT
from gputuner.model.cards import Origin

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def plot(qtbot):
    result = CurvePlot(LIGHT, "Latency", "ns for each access; bars: 95 % interval", "footprint", sizes(), linear())
    qtbot.addWidget(result)
    result.resize(400, 300)
    result.show()
    result.show_series([Series(name="", colour=LIGHT.blue, dots=(Dot(x=1024.0, y=5.0),))])
    return result


def facts_of(invented, origin: Origin) -> RunFacts:
    facts = RunFacts()
    for event in invented.tune_events(origin=origin):
        facts.take(event)
    return facts


def test_simulated_pictures_say_so_and_name_card_and_software(plot, invented):
    saved = SavedPicture(LIGHT, plot, facts_of(invented, Origin.SIMULATED))
    assert saved.origin.startswith("Simulated")
    assert "RTX 4090" in saved.caption
    assert "torch" in saved.caption


def test_measured_pictures_have_no_strip(plot, invented):
    saved = SavedPicture(LIGHT, plot, facts_of(invented, Origin.MEASURED))
    assert saved.origin == ""
    assert saved.size.height() > plot.height()


def test_a_legend_that_is_cut_on_screen_stands_in_the_caption(plot, invented):
    facts = facts_of(invented, Origin.MEASURED)
    assert "95 % interval" not in SavedPicture(LIGHT, plot, facts).caption
    plot.resize(180, 300)
    assert "Latency: ns for each access; bars: 95 % interval" in SavedPicture(LIGHT, plot, facts).caption


def test_pixels_are_at_least_twice_the_windows(plot, invented, tmp_path):
    saved = SavedPicture(LIGHT, plot, facts_of(invented, Origin.SIMULATED))
    saved.save(tmp_path / "picture.png")
    assert QImage(str(tmp_path / "picture.png")).size() == saved.size * max(2.0, plot.devicePixelRatioF())


def test_the_drawing_carries_its_words(plot, invented, tmp_path):
    SavedPicture(LIGHT, plot, facts_of(invented, Origin.SIMULATED)).save(tmp_path / "picture.svg")
    root = ElementTree.parse(tmp_path / "picture.svg").getroot()
    words = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    assert "Simulated" in words
    assert "RTX 4090" in words
