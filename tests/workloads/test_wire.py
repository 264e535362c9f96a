import contextlib
import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.workloads.wire import Inbox, Outbox, decode, encode

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
MESSAGES = st.dictionaries(st.text(), SCALARS | st.lists(SCALARS), max_size=5).map(lambda rest: {**rest, "kind": "x"})


@given(MESSAGES)
def test_every_message_survives_the_wire_on_one_line(message):
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_a_number_is_not_sent(value):
    with pytest.raises(ValueError, match="JSON"):
        encode({"kind": "progress", "rate": value})


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "3", '{"id": 1}', '{"kind": 7}', '{"kind":"progress","rate":NaN}', '{"kind":"x","y":Infinity}'],
)
def test_malformed_lines_are_refused(line):
    with pytest.raises(ValueError):  # noqa: PT011  (json's own errors too)
        decode(line)


@given(st.binary())
def test_any_bytes_are_decoded_or_refused(data):
    with contextlib.suppress(ValueError):
        assert isinstance(decode(data)["kind"], str)


class HeldOpen(io.RawIOBase):
    """A stream that gives its lines and then stays silent, as a pipe does."""

    def __init__(self, *messages: dict[str, object]) -> None:
        self._lines = [encode(message) for message in messages]
        self.silent = threading.Event()

    def readline(self, size: int | None = -1, /) -> bytes:
        if self._lines:
            return self._lines.pop(0)
        self.silent.set()
        threading.Event().wait()
        return b""


def inbox(*messages: dict[str, object]) -> Inbox:
    stream = HeldOpen(*messages)
    box = Inbox(stream)  # pyright: ignore[reportArgumentType]
    assert stream.silent.wait(10)
    return box


def test_requests_wait_in_order():
    box = inbox({"kind": "open"}, {"kind": "trial", "id": "1"}, {"kind": "exit"})
    assert [box.next()["kind"] for _ in range(3)] == ["open", "trial", "exit"]


def test_stop_acts_on_the_trial_it_names_and_is_forgotten_with_it():
    box = inbox({"kind": "stop", "id": "1"})
    assert box.stopped("1")
    assert not box.stopped("2")
    box.forget("1")
    assert not box.stopped("1")


def test_exit_stops_every_trial():
    assert inbox({"kind": "exit"}).stopped("any")


def test_go_lets_through_and_stop_does_not():
    box = inbox({"kind": "go", "id": "1"}, {"kind": "stop", "id": "2"})
    assert box.wait_for_go("1") is True
    assert box.wait_for_go("2") is False


def test_sent_messages_are_lines():
    stream = io.BytesIO()
    box = Outbox(stream)
    box.send({"kind": "armed", "id": "1"})
    box.send({"kind": "armed", "id": "2"})
    assert [decode(line)["id"] for line in stream.getvalue().splitlines()] == ["1", "2"]
