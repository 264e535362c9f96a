"""The stored session is the stream."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from gputuner.model.events import Event, TelemetrySampled
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter

from .streams import RUN, run, same_stream, streams


def store(folder: Path, events: list[Event]) -> Path:
    writer = SessionWriter.create(folder, RUN)
    for event in events:
        writer.write(event)
    writer.close()
    return writer.path


@settings(max_examples=60, deadline=None)
@given(streams())
def test_any_stream_comes_back_as_it_was(events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder, SessionReader(store(Path(folder), events)) as reader:
        assert same_stream(list(reader.events()), events)
