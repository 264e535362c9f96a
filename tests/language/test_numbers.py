"""Figures as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.language.numbers import (
    bound,
    clock,
    duration,
    grouped,
    interval,
    number,
    reading,
    scale,
    signed_percent,
    tick,
    value,
)
from gputuner.language.tried import percent
from gputuner.model.readings import Reading, Reason


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (0.0, "0"),
        (865.2, "865"),
        (48.25, "48.2"),
        (9.996, "10"),
        (0.0123, "0.0123"),
        (1.98, "1.98"),
        (2.0, "2"),
        (1234.5, "1234"),
        (0.2, "0.2"),
        (-3.14159, "-3.14"),
        (1e-7, "0.0000001"),
        (123456.0, "123456"),
    ],
)
def test_number_has_three_significant_digits(figure, text):
    assert number(figure) == text


@given(st.floats(min_value=1e-9, max_value=1e12))
def test_number_is_within_half_of_its_last_digit(figure):
    text = number(figure)
    assert "e" not in text
    assert float(text) == pytest.approx(figure, rel=5.1e-3)


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (48 * 2**30, "bytes", "48 GiB"),
        (1.5 * 2**20, "B", "1.5 MiB"),
        (100, "bytes", "100 B"),
        (0.71, "fraction", "71 %"),
        (0.004, "fraction", "0.4 %"),
        (312.44, "W", "312 W"),
        (61.0, "degC", "61 °C"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (4.1e12, "B/s", "4.1 TB/s"),
        (936e9, "bytes/s", "936 GB/s"),
        (865.0, "samples/s", "865 samples/s"),
        (64, "samples", "64 samples"),
        (7.2e6, "J", "2 kWh"),
        (0.5, "J/sample", "500 mJ/sample"),
        (2610.0, "MHz", "2610 MHz"),
        (1.13, "", "1.13"),
        (-0.031, "change", "-3 %"),
        (95.0, "s", "1 min 35 s"),
        (2.5e9, "ns", "2.5 s"),
        (True, "", "yes"),
        (False, "", "no"),
        ("Ada", "", "Ada"),
        (None, "W", "—"),
    ],
)
def test_value(figure, unit, text):
    assert value(figure, unit) == text


def test_an_interval_has_one_scale():
    assert interval(865.0, 851.0, 880.0, "samples/s") == "865 (851 … 880) samples/s"
    assert interval(1.0e12, 0.98e12, 1.02e12, "B/s") == "1 (0.98 … 1.02) TB/s"
    assert interval(865.0, None, 880.0, "samples/s") == "865 samples/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0000123, "12.3 µs"),
        (0.85, "850 ms"),
        (2.5, "2.5 s"),
        (12.4, "12 s"),
        (59.6, "1 min"),
        (185.0, "3 min 05 s"),
        (7800.0, "2 h 10 min"),
        (3 * 86400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e8))
def test_a_duration_never_shows_sixty(seconds):
    words = duration(seconds).split()
    assert not any(
        int(n) >= 60 and unit in ("s", "min") for n, unit in zip(words[:-1:2], words[1::2], strict=False) if n.isdigit()
    )


@given(st.floats(min_value=1e-3, max_value=1e18), st.sampled_from(["bytes", "FLOP/s", "B/s", "J"]))
def test_a_scale_leaves_at_least_one(figure, unit):
    factor, _label = scale(figure, unit)
    assert figure / factor >= 1 or factor <= 1


def test_a_missing_reading_is_a_dash():
    assert reading(Reading(reason=Reason.NOT_SUPPORTED, unit="W")) == "—"
    assert reading(None) == "—"
    assert reading(Reading(value=450.0, unit="W")) == "450 W"


def test_percent_with_its_sign():
    assert signed_percent(0.234) == "+23 %"
    assert signed_percent(-0.05) == "-5 %"


def test_thousands_stand_apart():
    assert grouped(10500.4) == "10\u2009500"
    assert grouped(-1234.0) == "-1\u2009234"
    assert tick(0.25) == "0.25"
    assert tick(1234567.0) == "1\u2009234\u2009567"


def test_what_rounds_to_nothing_has_no_minus():
    assert signed_percent(-0.004) == "+0 %"
    assert signed_percent(-0.006) == "-1 %"
    assert percent(-0.0004) == "+0.0 %"


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_written_and_never_crashes(figure):
    word = str(figure)
    assert [number(figure), grouped(figure), tick(figure), clock(figure)] == [word] * 4
    assert word.lstrip("-") in duration(figure)
    assert word.lstrip("-") in signed_percent(figure)
    for unit in ("", "W", "degC", "bytes", "fraction", "s", "min", "ns", "x", "change", "B/s", "samples/s"):
        assert word in value(figure, unit).replace("+", "")
    assert word in interval(figure, figure, figure, "W")


def test_ratios_have_two_decimals():
    assert [value(ratio, "x") for ratio in (1.0, 0.999, 1.7412, 12.5)] == ["1.00", "1.00", "1.74", "12.50"]


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("draws 314 W of 450 W", "draws 314_W of 450_W"),
        ("at 81.5 °C for 3 min 05 s", "at 81.5_°C for 3_min 05_s"),
        ("90 % of 38.2 GiB at 1.2 TB/s", "90_% of 38.2_GiB at 1.2_TB/s"),
        ("第 3 秒，2 小时", "第 3_秒，2_小时"),
        ("2 cards at step 4 Why", "2 cards at step 4 Why"),
    ],
)
def test_a_number_keeps_its_unit_in_its_line(text, apart):
    assert bound(text) == apart.replace("_", "\u00a0")
