"""The list of sessions: order, summaries, broken files, finding, deleting."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.cards import Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import AdviceGiven, Outcome, PointMeasured
from gputuner.sessions.files import companions, session_file
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.writer import SessionWriter

from .streams import RUN, S, advice, finished, point, run, started, store


def put(folder: Path, run_id: str, unix_s: float, outcome: Outcome | None = Outcome.COMPLETED) -> Path:
    events = [started(run_id=run_id, unix_s=unix_s)]
    return store(folder, [*events, *([finished(1, 90 * S, outcome)] if outcome else [])], run_id)


def code_of(caught: "pytest.ExceptionInfo[StoreError]") -> str:
    return caught.value.code


def test_an_absent_folder_has_no_sessions_and_is_not_made(tmp_path: Path) -> None:
    library = SessionLibrary(tmp_path / "none")
    assert library.list() == ()
    with pytest.raises(StoreError) as caught:
        library.find()
    assert code_of(caught) == "no_sessions"
    assert not (tmp_path / "none").exists()


def test_named_files_are_listed_before_the_stored_ones_unless_they_are_among_them(tmp_path: Path) -> None:
    stored = put(tmp_path / "data", "a", 200.0)
    brought = put(tmp_path / "elsewhere", "b", 100.0)
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database")
    library = SessionLibrary(tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    also = (brought, damaged, tmp_path / "gone.sqlite", session_file(tmp_path / "link", "a"), brought)
    found = library.entries(also)
    assert [(entry.path, entry.outside) for entry in found] == [(brought, True), (damaged, True), (stored, False)]
    assert found[0].summary is not None
    assert found[0].summary.run_id == "b"
    assert found[1].error is not None
    assert library.entries() == found[2:]


def test_newest_first_by_when_they_began(tmp_path: Path) -> None:
    put(tmp_path, "b", 200.0)
    put(tmp_path, "c", 100.0)
    put(tmp_path, "a", 300.0, None)
    library = SessionLibrary(tmp_path)
    assert [s.run_id for s in library.list()] == ["a", "b", "c"]
    assert [s.outcome for s in library.list()] == [None, Outcome.COMPLETED, Outcome.COMPLETED]
    assert library.find().stem == "b"


def test_the_newest_that_tells_something_is_found(tmp_path: Path) -> None:
    """A run that was killed has figures and no end; one that failed or was cancelled at once has neither."""
    library = SessionLibrary(tmp_path)
    put(tmp_path, "empty", 100.0, Outcome.FAILED)
    assert library.find().stem == "empty"
    measured = PointMeasured(run_id="killed", seq=1, t_ns=S, point=point())
    store(tmp_path, [started(run_id="killed", unix_s=200.0), measured], "killed")
    assert library.find().stem == "killed"
    put(tmp_path, "failed", 300.0, Outcome.FAILED)
    put(tmp_path, "no-end", 400.0, None)
    assert library.find().stem == "killed"
    put(tmp_path, "record", 500.0)
    assert library.find().stem == "record"


def test_a_damaged_record_names_its_file_and_session(tmp_path: Path) -> None:
    import sqlite3

    path = store(tmp_path, run())
    connection = sqlite3.connect(path)
    connection.execute("UPDATE events SET json = '{' WHERE kind = 'point_measured'")
    connection.commit()
    connection.close()
    with SessionLibrary(tmp_path).open(path) as reader, pytest.raises(StoreError) as caught:
        reader.points()
    assert code_of(caught) == "session_record"
    assert caught.value.params == {"path": str(path), "session": path.stem}


def test_of_many_sessions_that_a_name_fits_a_few_are_told(tmp_path: Path) -> None:
    for number in range(9):
        put(tmp_path, f"2026-{number}", float(number))
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).find("2026")
    assert caught.value.params["n"] == 9
    assert caught.value.params["sessions"] == "2026-8, 2026-7, 2026-6, 2026-5"


def test_a_summary_tells_the_session(tmp_path: Path) -> None:
    path = store(tmp_path, run(seconds=10, origin=Origin.SIMULATED))
    (summary,) = SessionLibrary(tmp_path).list()
    assert summary.run_id == RUN
    assert summary.path == path
    assert summary.experiment == "tune"
    assert summary.started_unix_s == 1_796_000_000.0
    assert summary.duration_s == 10.0
    assert summary.outcome is Outcome.COMPLETED
    assert (summary.origin, summary.simulated, summary.running) == (Origin.SIMULATED, True, False)
    assert [card.title for card in summary.cards] == ["NVIDIA GeForce RTX 4090"] * 2
    assert (summary.point_count, summary.advice_count) == (1, 2)
    assert summary.size_bytes == path.stat().st_size


def test_advice_given_again_counts_once(tmp_path: Path) -> None:
    more = AdviceGiven(run_id=RUN, seq=100, t_ns=S, advice=(advice(rank=5.0), replace(advice(), card="other")))
    with SessionLibrary(tmp_path).open(store(tmp_path, [*run()[:-1], more])) as reader:
        assert reader.summary().advice_count == 3
        assert next((a.card, a.id) for a in reader.advice()[0]) == ("GPU-aaaa", "batch.fastest")


def test_a_running_session_is_listed_as_such(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started())
    (summary,) = SessionLibrary(tmp_path).list()
    assert (summary.running, summary.outcome) == (True, None)
    writer.close()
    assert not SessionLibrary(tmp_path).list()[0].running


def test_broken_files_are_listed_last_with_their_error(tmp_path: Path) -> None:
    good = put(tmp_path, "good", 1.0)
    folder = good.parent
    (folder / "text.sqlite").write_text("this is no database, though it is long enough to be taken for one" * 40)
    (folder / "empty.sqlite").write_bytes(b"")
    (folder / "half.sqlite").write_bytes(good.read_bytes()[: good.stat().st_size // 2 - 100])
    (folder / "folder.sqlite").mkdir()
    (folder / "notes.txt").write_text("not looked at")
    entries = SessionLibrary(tmp_path).entries()
    assert [(e.path.stem, e.error and e.error.code) for e in entries] == [
        ("good", None),
        ("text", "session_malformed"),
        ("half", "session_malformed"),
        ("folder", "file_unreadable"),
        ("empty", "session_malformed"),
    ]
    assert [s.run_id for s in SessionLibrary(tmp_path).list()] == ["good"]


def test_another_program_s_database_is_not_taken_for_a_session(tmp_path: Path) -> None:
    import sqlite3

    path = session_file(tmp_path, "foreign")
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events(a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).open(path)
    assert code_of(caught) == "session_malformed"
    assert path.read_bytes() == before


def test_find_by_id_by_unique_begin_and_by_path(tmp_path: Path) -> None:
    first = put(tmp_path, "20261130-1-tune", 1.0)
    second = put(tmp_path, "20261130-2-tune", 2.0)
    put(tmp_path, "20261130-2-tune-b", 3.0)
    elsewhere = tmp_path / "copy.sqlite"
    shutil.copy(first, elsewhere)
    library = SessionLibrary(tmp_path)
    assert library.find("20261130-1-tune") == first
    assert library.find("20261130-1") == first
    assert library.find("20261130-2-tune") == second
    assert library.find(str(elsewhere)) == elsewhere
    with pytest.raises(StoreError) as caught:
        library.find("20261130-2")
    assert code_of(caught) == "session_ambiguous"
    assert caught.value.params["sessions"] == "20261130-2-tune-b, 20261130-2-tune"
    for nothing in ("2027", "", "*", "../sessions"):
        with pytest.raises(StoreError) as caught:
            library.find(nothing)
        assert code_of(caught) == "session_unknown"


def test_delete_removes_a_session_and_what_lies_beside_it(tmp_path: Path) -> None:
    keep, go = put(tmp_path, "keep", 1.0), put(tmp_path, "go", 2.0)
    for file in companions(go):
        file.write_bytes(b"")
    library = SessionLibrary(tmp_path)
    library.delete(go)
    assert list(keep.parent.iterdir()) == [keep]
    with pytest.raises(StoreError) as caught:
        library.delete(go)
    assert code_of(caught) == "file_not_found"


def test_a_running_session_is_not_deleted(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started())
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).delete(writer.path)
    assert code_of(caught) == "session_in_use"
    assert writer.path.exists()
    writer.close()


def test_a_file_elsewhere_that_is_no_session_is_not_deleted(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("dear")
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).delete(letter)
    assert code_of(caught) == "session_malformed"
    assert letter.exists()
    broken = session_file(tmp_path, "broken")
    broken.parent.mkdir()
    broken.write_text("nonsense")
    SessionLibrary(tmp_path).delete(broken)
    assert os.listdir(broken.parent) == []
