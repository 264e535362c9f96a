"""Older and newer session files."""

import json
import sqlite3
from pathlib import Path

import pytest

from gputuner.model.errors import StoreError
from gputuner.model.quantities import QUANTITIES
from gputuner.sessions import migrations, opening, schema
from gputuner.sessions.columns import QUANTITY_COLUMNS
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader

from .streams import run, store

FROZEN = Path(__file__).parents[1] / "data" / "sessions" / "version-1-columns.json"


def aged(tmp_path: Path) -> Path:
    """A made-up file of version 0, which kept events in a table of another name and had no kinds."""
    path = store(tmp_path, run())
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE happenings AS SELECT seq, t_ns, json FROM events; DROP TABLE events; PRAGMA user_version = 0;"
    )
    connection.close()
    return path


def from_0(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE events(seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, t_ns INTEGER NOT NULL, json TEXT NOT NULL)"
    )
    connection.execute("INSERT INTO events SELECT seq, json_extract(json, '$.kind'), t_ns, json FROM happenings")
    connection.execute("CREATE INDEX events_kind ON events(kind, seq)")
    connection.execute("DROP TABLE happenings")


def test_an_older_file_is_brought_up_on_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = aged(tmp_path)
    monkeypatch.setattr(opening, "STEPS", {0: from_0})
    with SessionReader(path) as reader:
        assert list(reader.events()) == run()
        assert migrations.version_of(reader.connection) == schema.VERSION


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        from_0(connection)
        connection.execute("INSERT INTO nowhere VALUES (1)")

    path = aged(tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(opening, "STEPS", {0: broken})
    with pytest.raises(StoreError):
        SessionReader(path)
    assert path.read_bytes() == before
    monkeypatch.setattr(opening, "STEPS", {0: from_0})
    with SessionReader(path) as reader:
        assert list(reader.events()) == run()


def test_steps_run_one_after_the_other(tmp_path: Path) -> None:
    path = aged(tmp_path)
    connection = sqlite3.connect(path, isolation_level=None)
    steps = {0: from_0, 1: lambda c: None, 2: lambda c: c.execute("CREATE TABLE later(a)") and None}
    migrations.upgrade(connection, path, steps, target=3)
    assert migrations.version_of(connection) == 3
    assert connection.execute("SELECT count(*) FROM later").fetchone() == (0,)
    connection.close()


def test_a_version_no_step_knows_is_refused(tmp_path: Path) -> None:
    path = aged(tmp_path)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        SessionReader(path)
    assert caught.value.code == "session_too_old"
    assert path.read_bytes() == before


def test_a_newer_file_is_refused_naming_both_versions_and_not_touched(tmp_path: Path) -> None:
    path = store(tmp_path, run())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 6}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        SessionReader(path)
    assert caught.value.code == "session_newer"
    assert caught.value.exit_code == 8
    assert (caught.value.params["found"], caught.value.params["supported"]) == (schema.VERSION + 6, schema.VERSION)
    assert f"format {schema.VERSION + 6}" in str(caught.value)
    assert f"up to {schema.VERSION}" in str(caught.value)
    (entry,) = SessionLibrary(tmp_path).entries()
    assert entry.error is not None
    assert entry.error.code == "session_newer"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_columns_of_version_1_are_frozen() -> None:
    # A new quantity or another resolution changes the file: raise schema.VERSION, add a step, then this table
    columns = {str(q): QUANTITIES[q].resolution for q in QUANTITY_COLUMNS}
    assert json.loads(FROZEN.read_text()) == columns
    assert schema.VERSION == 1
