"""Stored sessions from end to end: list, show, advise, replay, export, delete."""

import csv
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
CARD = "rtx-4090-48g"


def test_list(gputuner, tuned):
    listed = gputuner("sessions", "list", "--json").document["sessions"]
    (entry,) = [entry for entry in listed if entry["session_id"] == tuned["session_id"]]
    assert entry["outcome"] == "completed"
    assert entry["simulated"] is True
    assert entry["points"] == len(tuned["points"])
    assert tuned["session_id"] in gputuner("sessions", "list").out


def test_show_gives_back_what_the_run_told(gputuner, tuned):
    shown = gputuner("sessions", "show", tuned["session_id"], "--json").document
    for part in ("points", "advice", "to_measure", "devices", "session_id", "session_path", "outcome"):
        assert shown[part] == tuned[part], part


def test_show_and_advise_in_words(gputuner, tuned):
    for command in (("sessions", "show"), ("advise",)):
        ended = gputuner(*command, tuned["session_id"])
        assert ended.code == 0
        for entry in tuned["advice"]:
            assert entry["title"] in ended.out
        assert ended.err == ""


def test_the_newest_session_is_the_default(gputuner, tuned):
    assert gputuner("advise", "--json").document["session_id"] == tuned["session_id"]


def test_replay_feeds_the_viewing_commands(gputuner, tuned):
    path = tuned["session_path"]
    devices = gputuner("devices", "--replay", path, "--json").document
    assert devices["origin"] == "replayed"
    assert devices["simulated"] is False
    shots = gputuner("monitor", "--replay", path, "--count", "2", "--interval", "0.1", "--json").document["samples"]
    assert len(shots) == 2
    assert gputuner("advise", "--replay", path, "--json").document["advice"] == tuned["advice"]


def test_export(gputuner, tuned, tmp_path):
    target = tmp_path / "out.csv"
    ended = gputuner("sessions", "export", tuned["session_id"], "--out", str(target), "--json")
    assert ended.code == 0
    files = [Path(name) for name in ended.document["files"]]
    assert target in files
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    assert {row["origin"] for row in rows} == {"simulated"}


def test_export_does_not_overwrite(gputuner, tuned, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("mine")
    ended = gputuner("sessions", "export", tuned["session_id"], "--format", "json", "--out", str(target))
    assert ended.code == 8
    assert target.read_text() == "mine"


def test_export_to_a_folder_that_is_not_there(gputuner, tuned, tmp_path):
    ended = gputuner("sessions", "export", tuned["session_id"], "--out", str(tmp_path / "none" / "out.csv"))
    assert ended.code == 8
    assert len(ended.err.splitlines()) == 1


def test_delete(fresh):
    path = Path(fresh("record", "--simulate", CARD, "--duration", "5", "--json").document["session_path"])
    assert path.is_file()
    assert fresh("sessions", "delete", path.stem).code == 0
    assert list(path.parent.glob(f"{path.stem}*")) == []
    assert fresh("sessions", "list", "--json").document["sessions"] == []


def test_a_damaged_file_beside_good_ones_is_told_and_passed_over(fresh):
    path = Path(fresh("record", "--simulate", CARD, "--duration", "5", "--json").document["session_path"])
    (path.parent / "20200101-000000-tune-dead.sqlite").write_bytes(b"no database at all" * 100)
    ended = fresh("sessions", "list", "--json")
    assert ended.code == 0
    assert len(ended.document["sessions"]) == 1
    assert "20200101-000000-tune-dead.sqlite" in ended.err


def test_record_document(fresh):
    ended = fresh("record", "--simulate", CARD, "--duration", "20", "--json")
    document = json.loads(ended.out)
    assert document["schema"] == "gputuner.record/1"
    assert document["outcome"] == "completed"
    assert document["points"] == []
