"""Tables on terminals of every width: no cell is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.cli.layout import columns, drawn, width, wrapped_lines

HEADERS = ("session", "of", "value", "power", "verdict")
ROWS = (
    ("20261130-090259-bench-e4a6", "4032 × 4032 × 4032, from cold", "69.6 (69.6 … 69.7) TFLOP/s", "350 W", "worse"),
    ("20261130-090260-bench-0b1c", "DRAM, 1 GiB", "846 GB/s", "95 W", "void: others on the card"),
)


@pytest.mark.parametrize("room", [28, 40, 80, 120, 200])
def test_nothing_is_cut_and_nothing_is_wider_than_the_terminal(room):
    table = drawn(HEADERS, ROWS, room, right=(2, 3), wraps=(1, 2, 4), least=(3,))
    text = " ".join(" ".join(table.lines).split())
    assert max(width(line) for line in table.lines) <= room
    for row in ROWS:
        assert row[0] in text
        for word in " ".join(row[1:3] + row[4:]).split():
            assert word in text
    assert ("350 W" in text) == ("power" not in table.left_out)


def test_what_says_least_goes_first_and_is_told():
    wide = drawn(HEADERS, ROWS, 200, least=(3, 1))
    assert wide.left_out == ()
    assert wide.head == 1
    narrower = drawn(HEADERS, ROWS, width(wide.lines[1]) - 1, least=(3, 1))
    assert narrower.left_out == ("power",)
    assert drawn(HEADERS, ROWS, width(narrower.lines[1]) - 1, least=(3, 1)).left_out == ("of", "power")


def test_texts_are_wrapped_before_a_column_goes():
    table = drawn(("name", "about"), [("gemm", "best rate of a matrix product")], 22, wraps=(1,))
    assert table.lines == (
        "name  about",
        "──────────────────────",
        "gemm  best rate of a",
        "      matrix product",
    )


def test_where_no_table_fits_rows_become_lines_of_their_own():
    table = drawn(("name", "value", "remarks"), [("gemm-fp16-acc16", "69.6 TFLOP/s", "")], 24)
    assert table.lines == ("gemm-fp16-acc16", "    value: 69.6 TFLOP/s")
    assert table.head == 0


def test_wide_characters_break_anywhere_but_before_their_marks():
    assert wrapped_lines("矩阵乘法，卷积。", 9) == ["矩阵乘", "法，卷", "积。"]


@given(st.lists(st.tuples(st.text("ab 中文", max_size=30), st.text("xy批", min_size=1, max_size=6)), min_size=1))
def test_rows_on_a_wide_terminal_are_those_of_a_pipe(rows):
    table = drawn(("a", "b"), rows, 200)
    assert [table.lines[0], *table.lines[2:]] == columns([("a", "b"), *rows])


def test_no_header_is_broken_inside_a_word():
    """In Chinese no blank tells words apart; a header up to six characters stays whole as an English word does."""
    headers = ("显存占用", "measured rate", "结论 说明")
    table = drawn(headers, [("1", "2", "3")], 24)
    assert table.head > 1, "the header is wrapped"
    head = " ".join(table.lines[: table.head]).split()
    assert sorted(head) == sorted(word for header in headers for word in header.split())
