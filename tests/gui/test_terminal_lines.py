"""What a program writes to a terminal, as lines of text."""

from hypothesis import given
from hypothesis import strategies as st

from gputuner.gui.terminal_lines import TerminalLines, seen


def lines_of(*parts: bytes) -> tuple[list[str], str]:
    reader, whole, rest = TerminalLines(), [], ""
    for part in parts:
        more, rest = reader.take(part)
        whole += more
    return whole, rest


def test_a_progress_bar_is_its_last_state():
    assert lines_of(b" 10%|#   |\r 50%|##  |\r100%|####|\n") == (["100%|####|"], "")
    assert lines_of(b" 10%\r", b" 20%\r") == ([], " 20%")


def test_lines_of_windows_end_without_their_return():
    assert lines_of(b"one\r\ntwo\r\n") == (["one", "two"], "")


def test_colours_and_titles_are_left_out():
    assert seen("\x1b[1;32mstep\x1b[0m 3 \x1b]0;title\x07done\x1b[K") == "step 3 done"


def test_what_is_no_text_is_told_as_such():
    assert lines_of(b"caf\xc3", b"\xa9 \xff\n") == (["café \ufffd"], "")


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t\x1b"), max_size=20), max_size=8), st.data()
)
def test_lines_come_out_as_they_went_in_however_they_were_cut(lines, data):
    whole = "".join(f"{line}\n" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert lines_of(*parts) == (lines, "")
