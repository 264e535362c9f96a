"""What counts as a number in an option."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.model.written_numbers import written_number, written_whole

SLIPS = ("1_000", "２５０", "٣", " 300", "300 ", "nan", "inf", "-inf", "1e400", "", ".", "0x10", "1,5", "+-1", "1e")


@pytest.mark.parametrize("text", SLIPS)
def test_what_python_alone_would_read_or_nobody_is_no_number(text: str):
    with pytest.raises(ValueError, match="no number"):
        written_number(text)
    with pytest.raises(ValueError, match="no whole number"):
        written_whole(text)


@pytest.mark.parametrize(("text", "value"), [("300", 300.0), ("-12.5", -12.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1e3)])
def test_numbers_are_read(text: str, value: float):
    assert written_number(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_that_python_writes_is_read(value: float):
    assert written_number(repr(value)) == value


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_whole_numbers_are_read_and_fractions_are_not(value: int):
    assert written_whole(str(value)) == value
    with pytest.raises(ValueError, match="no whole number"):
        written_whole(f"{value}.0")
