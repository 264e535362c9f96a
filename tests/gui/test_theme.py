"""Colours can be read, and those that mean different things can be told apart."""

import itertools

import pytest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import DARK, LIGHT, Choice, contrast, pick, readable, text_on
from gputuner.model.quantities import Limiter, Quantity

SERIES = ("vermilion", "orange", "blue", "sky", "green", "purple", "yellow")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
class TestTheme:
    def test_text_contrast(self, theme):
        for ground in (theme.background, theme.surface, theme.sunk):
            for ink in (theme.text, theme.muted, theme.accent, theme.danger, theme.warning, theme.good):
                assert contrast(ink, ground) >= 4.5, (ink, ground)
        assert contrast(theme.on_accent, theme.accent) >= 4.5

    def test_what_stands_where_nothing_was_typed_can_be_read(self, theme, qtbot):
        for box in (QLineEdit(), QPlainTextEdit()):
            box.setProperty("role", "code")
            qtbot.addWidget(box)
            box.setStyleSheet(stylesheet(theme))
            box.ensurePolished()
            ink = box.palette().placeholderText().color()
            assert ink.alpha() == 255
            assert contrast(ink.name(), theme.surface) >= 4.5

    def test_graphics_contrast(self, theme):
        for name in SERIES:
            assert contrast(getattr(theme, name), theme.surface) >= 3.0, name
        for limiter in Limiter:
            assert contrast(theme.limiter(limiter), theme.surface) >= 3.0, limiter
        assert contrast(theme.strong_line, theme.surface) >= 3.0

    def test_series_colours_as_text(self, theme):
        for name in SERIES:
            ink = theme.ink(getattr(theme, name))
            assert contrast(ink, theme.surface) >= 4.5, name

    def test_words_on_limiter_colours(self, theme):
        for limiter in Limiter:
            colour = theme.limiter(limiter)
            assert contrast(text_on(colour), colour) >= 4.5, limiter

    def test_curves_of_one_picture_differ(self, theme):
        together = [
            (Quantity.CORE_TEMPERATURE_C, Quantity.MEMORY_TEMPERATURE_C, Quantity.HOTSPOT_TEMPERATURE_C),
            (Quantity.POWER_AVERAGE_W, Quantity.POWER_INSTANT_W),
            (Quantity.GPU_UTILISATION, Quantity.TENSOR_ACTIVE),
        ]
        for group in together:
            colours = [theme.quantity(quantity) for quantity in group]
            assert len(set(colours)) == len(colours)

    def test_limiters_differ(self, theme):
        assert all(a != b for a, b in itertools.combinations(theme.limiters.values(), 2))


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.01)


def test_a_colour_that_reads_well_is_kept():
    assert readable("#0072b2", "#ffffff") == "#0072b2"


def test_forced_theme_wins(qapp):
    assert pick(Choice.DARK) is DARK
    assert pick(Choice.LIGHT) is LIGHT
