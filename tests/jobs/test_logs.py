"""Logs of any size: read in blocks, the last lines from the end, and nothing that a terminal would obey."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.jobs import logs


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "BLOCK_BYTES", 7)

    def write(raw):
        path = tmp_path / "log"
        path.write_bytes(raw)
        return path

    return write


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ""),
        (b"one\ntwo\n", "one\ntwo\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b" 10 %\r 50 %\r100 %\ndone", "100 %\ndone"),
        (b"\x1b[31mred\x1b[0m \x07bell\n", "[31mred[0m bell\n"),
        ("Größe: 7 µs, 批大小\n".encode() * 3, "Größe: 7 µs, 批大小\n" * 3),
        ("a\u202eb\n".encode(), "ab\n"),
        (b"\xff\xfe bytes\n", "\ufffd\ufffd bytes\n"),
    ],
)
def test_a_log_is_shown_as_it_would_stand_on_a_terminal(log, raw, shown):
    assert "".join(logs.lines(log(raw))) == shown


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20), max_size=12),
    count=st.integers(1, 6),
    ended=st.booleans(),
)
def test_the_last_lines_are_those_of_the_whole(tmp_path_factory, texts, count, ended):
    text = "\n".join(texts) + ("\n" if ended and texts else "")
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_text(text, encoding="utf-8", newline="")
    size = path.stat().st_size
    for block in (3, logs.BLOCK_BYTES):
        whole = logs.BLOCK_BYTES
        try:
            logs.BLOCK_BYTES = block
            start = logs.start_of_last(path, count, size)
            assert "".join(logs.lines(path, start)) == "".join(text.splitlines(keepends=True)[-count:])
        finally:
            logs.BLOCK_BYTES = whole


def test_reading_a_large_log_takes_no_memory_of_its_size(tmp_path):
    path = tmp_path / "log"
    size = 48 * 2**20
    with path.open("wb") as file:
        for _ in range(48):
            file.write(b"x" * 1023 + b"\n" + b"y" * (2**20 - 1024))  # one line in each 1 MiB
    tracemalloc.start()
    try:
        assert sum(len(piece) for piece in logs.lines(path)) == size
        assert tracemalloc.get_traced_memory()[1] < size / 2
    finally:
        tracemalloc.stop()


def test_what_is_added_is_read_on_even_in_the_middle_of_a_sign(log):
    raw = "µ".encode()
    path = log(b"one " + raw[:1])
    follower = logs.Follower(path)
    assert "".join(follower.pieces()) == "one "
    with path.open("ab") as file:
        file.write(raw[1:] + b"\x1b[2J two")
    assert "".join(follower.pieces()) == "µ[2J two"
