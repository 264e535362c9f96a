"""``sessions``, ``advise``, ``record`` and ``doctor``."""

import json
from pathlib import Path

import pytest

from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.model.errors import StoreError
from gputuner.model.findings import Finding, Level

RUN = "20261130-142233-tune-a1b2"


def test_list(program):
    out = program("sessions", "list").out
    assert RUN in out
    assert "4 min 44 s" in out
    assert "RTX 4090 48G" in out
    assert "simulated" in out


def test_list_warns_of_files_that_cannot_be_read(program):
    path = Path("/data/sessions/new.sqlite")
    newer = StoreError("session_newer", "newer", path=str(path), found=9, supported=1)
    program.setup.sessions.damaged[path] = newer
    result = program("sessions", "list", "--json")
    assert result.code == 0
    assert len(json.loads(result.out)["sessions"]) == 2
    assert "was written by a newer gputuner (format 9, this one reads up to 1)" in result.err


def test_list_of_nothing_says_how_to_make_one(program):
    program.setup.sessions.names.clear()
    assert program("sessions", "list").out == "No sessions yet. Make one: gputuner --cli tune\n"


def test_show_tells_figures_limit_advice_and_questions(program):
    out = program("sessions", "show", RUN[:13]).out
    assert "865 (851 … 880) samples/s" in out
    assert "The power limit held the clock back 71 %" in out
    assert "\n4. " in out
    assert "gputuner --cli record" in out


DISPUTE = QualityNote(
    code="sources_disagree",
    params={
        "card": "RTX 4090 48G",
        "uuid": "GPU-5a1e0c6e-0000-4000-8000-000000004090",
        "quantity": "power_average_w",
        "source": "host",
        "other": "wattmeter",
        "value": 312.5,
        "other_value": 260.0,
        "difference": 52.5,
        "unit": "W",
        "other_session": "20261129-080000-record-c3d4",
    },
)


@pytest.mark.parametrize("command", [("sessions", "show"), ("advise",)])
def test_sources_that_disagree_are_told_with_the_one_that_was_used(program, command):
    assert "Sources disagree" not in program(*command).out
    program.setup.sessions.disputed = (DISPUTE,)
    out = " ".join(program(*command).out.split())
    assert (
        "Note: Sources disagree by 52.5 W on the average power of RTX 4090 48G: this machine, used here, says 312 W; "
        "wattmeter said 260 W at the same time (session 20261129-080000-record-c3d4)."
    ) in out
    document = json.loads(program(*command, "--json").out)
    assert document["source"] == "simulated"
    assert {"code": "sources_disagree", "params": DISPUTE.params}.items() <= document["warnings"][-1].items()


def test_show_json(program):
    document = json.loads(program("sessions", "show", "--json").out)
    assert document["schema"] == "gputuner.sessions.show/1"
    assert document["session_id"] == RUN
    assert len(document["points"]) == 2
    assert len(document["advice"]) == 4


def test_an_unknown_session_is_code_8(program):
    result = program("sessions", "show", "nope", "--json")
    assert result.code == 8
    assert json.loads(result.out)["error"]["code"] == "session_unknown"
    assert result.err.startswith("There is no session nope;")


def test_export_takes_form_and_target(program, tmp_path):
    target = tmp_path / "out.json"
    result = program("sessions", "export", RUN, "--format", "json", "--out", str(target))
    assert result.code == 0
    assert target.read_text() == "json"
    assert str(target) in result.out


def test_export_names_the_file_after_the_session(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program("sessions", "export")
    assert (tmp_path / f"{RUN}.csv").is_file()


def test_export_of_an_unknown_form_is_wrong_usage(program):
    result = program("sessions", "export", "--format", "xml")
    assert result.code == 2
    assert result.err == "--format cannot be 'xml'; it takes csv, json, parquet.\n"


def test_delete_looks_all_names_up_before_it_deletes_any(program):
    result = program("sessions", "delete", RUN, "nope")
    assert result.code == 8
    assert RUN in program.setup.sessions.names


def test_delete(program):
    result = program("sessions", "delete", RUN, RUN[:10])
    assert result.code == 0
    assert RUN not in program.setup.sessions.names
    assert len(program.setup.sessions.names) == 1


def test_delete_needs_a_name(program):
    result = program("sessions", "delete")
    assert result.code == 2
    assert "is missing" in result.err


def test_advise_shows_all_advice_with_the_figures_it_rests_on(program):
    out = program("advise").out
    assert "\n4. " in out
    assert "Evidence" in out
    assert "training rate, batch 64, BF16, channels-last: 865 (851 … 880) samples/s" in out
    assert "152 TFLOP/s" not in out


def test_record_stops_after_its_duration(program):
    program("record", "--duration", "30")
    spec, uuids, _share = program.setup.started[0]
    assert (spec.name, spec.duration_s) == ("record", 30.0)
    assert uuids == (program.setup.known[0].uuid,)


def test_record_without_duration_goes_on_until_stopped(program):
    program("record")
    assert program.setup.started[0][0].duration_s is None


def test_doctor_ends_with_0_if_nothing_blocks(program):
    program.setup.findings = (
        Finding(code="host_fine", level=Level.FINE),
        Finding(code="governor_slow", level=Level.NOTE, params={"governor": "powersave"}),
    )
    result = program("doctor")
    assert result.code == 0
    assert "! The processor's frequency governor is powersave;" in result.out
    assert "→ While you measure: `sudo cpupower" in result.out


def test_doctor_ends_with_9_if_something_blocks(program):
    program.setup.findings = (Finding(code="torch_missing", level=Level.BLOCKING, params={"interpreter": "/x/python"}),)
    result = program("doctor", "--json")
    assert result.code == 9
    (finding,) = json.loads(result.out)["findings"]
    assert finding["level"] == "blocking"
    assert finding["message"] == "/x/python has no torch; nothing can be measured with it."
    assert finding["remedy"]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("health", "--minutes", "2"), "Video memory"),
        (("cooling", "--minutes", "3"), "How the forecast closed"),
        (("power", "--passive", "--minutes", "1"), "What was visited"),
    ],
)
def test_show_has_the_tables_that_the_command_had(whole, words, first):
    told = whole(*words, "--quiet")[1]
    shown = whole("sessions", "show")[1]
    tables = told[told.index(first) : told.index("\nAdvice")]
    assert tables in shown
    assert "until your own model is measured" not in shown, "no training was measured"
