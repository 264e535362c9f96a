"""Sessions of one card from two sources: found, compared, never merged (C-021)."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gputuner.model import codec
from gputuner.model.cards import CPU_CARD, Origin
from gputuner.model.events import Event, RunStarted
from gputuner.model.quantities import Quantity
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader

from .streams import CARDS, S, card, finished, sample, started, store, tick

UNIX_S = 1_796_000_000.0
MEMORY = Quantity.MEMORY_TEMPERATURE_C


def session(source: str, memory_c: float, begin_s: float = 0.0, zero_ns: int = 0, **more: Any) -> list[Event]:
    """A minute at 1 Hz on one card, begun ``begin_s`` after ``UNIX_S`` on a clock that then stood at ``zero_ns``."""
    run_id = more.setdefault("run_id", source)
    more.setdefault("cards", (card(),))
    uuid = more["cards"][0].uuid
    times = [zero_ns + n * S for n in range(61)]
    ticks = [tick(n + 1, t, sample(t, {MEMORY: memory_c}, uuid), run_id=run_id) for n, t in enumerate(times)]
    head = started(t_ns=zero_ns, unix_s=UNIX_S + begin_s, source=source, **more)
    return [head, *ticks, replace(finished(62, times[-1]), run_id=run_id)]


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    def write(source: str, memory_c: float, *args: Any, **more: Any) -> Path:
        events = session(source, memory_c, *args, **more)
        return store(tmp_path, events, events[0].run_id)

    return write


def test_c021_two_tools_differ_by_14_degrees_and_neither_is_changed(put: Callable[..., Path], tmp_path: Path) -> None:
    mine, theirs = put("nvml", 86.0, zero_ns=5 * S), put("gputemps", 100.0, zero_ns=900 * S)
    before = [file.read_bytes() for file in (mine, theirs)]
    library = SessionLibrary(tmp_path)
    (note,) = library.disagreements(mine)
    assert note.code == "sources_disagree"
    assert note.params == {
        "card": "NVIDIA GeForce RTX 4090",
        "uuid": CARDS[0],
        "quantity": "memory_temperature_c",
        "source": "nvml",
        "other": "gputemps",
        "value": 86.0,
        "other_value": 100.0,
        "difference": 14.0,
        "unit": "degC",
        "other_session": "gputemps",
    }
    (back,) = library.disagreements(theirs)
    assert (back.params["source"], back.params["other"], back.params["difference"]) == ("gputemps", "nvml", 14.0)
    assert [file.read_bytes() for file in (mine, theirs)] == before
    for path, expected in ((mine, 86.0), (theirs, 100.0)):
        with SessionReader(path) as reader:
            assert set(reader.series(CARDS[0], MEMORY).mean.tolist()) == {expected}


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("gputemps", {"begin_s": 3600.0}),
        ("gputemps", {"begin_s": -3600.0}),
        ("gputemps", {"begin_s": 61.0}),
        ("nvml", {"run_id": "second"}),
        ("gputemps", {"cards": (card(CARDS[1]),)}),
        ("gputemps", {"origin": Origin.REPLAYED}),
        ("simulated", {"origin": Origin.SIMULATED}),
    ],
    ids=["later", "earlier", "right after", "same source", "another card", "replay", "simulated"],
)
def test_what_is_not_compared(put: Callable[..., Path], tmp_path: Path, source: str, more: dict[str, Any]) -> None:
    mine = put("nvml", 86.0)
    put(source, 100.0, **more)
    assert SessionLibrary(tmp_path).disagreements(mine) == ()


def test_processors_of_two_machines_are_not_the_same_card(put: Callable[..., Path], tmp_path: Path) -> None:
    mine = put("host", 86.0, cards=(card(CPU_CARD),))
    put("gputemps", 100.0, cards=(card(CPU_CARD),))
    assert SessionLibrary(tmp_path).disagreements(mine) == ()


def test_five_degrees_are_agreement(put: Callable[..., Path], tmp_path: Path) -> None:
    mine = put("nvml", 86.0)
    put("gputemps", 91.0)
    assert SessionLibrary(tmp_path).disagreements(mine) == ()


def test_the_largest_gap_comes_first_and_a_damaged_file_is_passed_over(
    put: Callable[..., Path], tmp_path: Path
) -> None:
    mine = put("nvml", 86.0)
    put("near", 94.0)
    put("far", 100.0)
    (tmp_path / "sessions" / "dead.sqlite").write_bytes(b"no database" * 100)
    assert [note.params["other"] for note in SessionLibrary(tmp_path).disagreements(mine)] == ["far", "near"]


def test_a_session_written_before_sources_were_kept_is_of_nvml() -> None:
    told = json.loads(codec.encode(started(source="gputemps")))
    assert codec.decode_event(json.dumps(told).encode()) == started(source="gputemps")
    del told["source"]
    event = codec.decode_event(json.dumps(told).encode())
    assert isinstance(event, RunStarted)
    assert event.source == "nvml"
