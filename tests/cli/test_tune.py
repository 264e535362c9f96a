"""``tune`` over a run told by real events."""

import json
import signal
from dataclasses import replace

import pytest

from gputuner.model.cards import Origin
from gputuner.model.errors import CardBusy
from gputuner.model.events import AdviceGiven, Outcome, PointMeasured
from gputuner.model.readings import Reading
from gputuner.telemetry.feed import Notice

from .conftest import RUN_ID


def test_ends_in_plain_words(program):
    result = program("tune", "--quick", "--simulate", "rtx-4090-48g")
    assert result.code == 0
    assert "What limits you" in result.out
    assert "The power limit held the clock back 71 % of the time under sustained load." in result.out
    assert "865 (851 … 880) samples/s" in result.out
    assert "152 TFLOP/s" in result.out
    assert "+41 % (+36 % … +45 %)" in result.out
    assert "loader = DataLoader(data, batch_size=64)" in result.out
    assert "All this is about ResNet-50 until your own model is measured." in result.out
    assert "All figures are simulated" in result.out
    assert str(program.setup.runs[0].session_path) in result.out


def test_shows_the_three_best_only_and_says_that_there_are_more(program):
    result = program("tune")
    assert [f"\n{n}. " in result.out for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert f"1 more: gputuner --cli advise {program.setup.runs[0].run_id}" in result.out


def test_progress_goes_to_stderr_as_plain_lines(program):
    result = program("tune")
    assert "[1/14] training step: batch 64, BF16 · 1 min 40 s left" in result.err
    assert "training step" not in result.out
    assert "\x1b" not in result.err + result.out


def test_quiet_keeps_warnings_only(program):
    result = program("tune", "--quiet")
    assert result.err.splitlines() == ["Note: something odd: count 3"]


def test_json_is_one_document(program):
    result = program("tune", "--quick", "--json")
    document = json.loads(result.out)
    assert result.code == 0
    assert document["schema"] == "gputuner.tune/1"
    assert document["origin"] == "simulated"
    assert document["simulated"] is True
    assert document["outcome"] == "completed"
    assert document["session_id"] == program.setup.runs[0].run_id
    assert document["session_path"] == str(program.setup.runs[0].session_path)
    point = document["points"][0]
    assert point["ci95"] == [851.0, 880.0]
    assert point["flags"] == ["throttled:power"]
    assert point["conditions"]["limited_s"] == {"power": 1.0}
    assert document["points"][1]["ci95"] is None
    assert [entry["id"] for entry in document["advice"]] == ["first", "second", "third", "fourth"]
    gain = document["advice"][0]["gain"]
    assert (gain["value"], gain["unit"]) == (0.41, "fraction")
    assert (gain["low"], gain["high"]) == pytest.approx((0.36, 0.45))
    assert document["advice"][0]["evidence"] == ["train_throughput-1"]
    assert document["to_measure"][0]["command"] == "gputuner --cli record"
    assert document["warnings"][0]["code"] == "something_odd"
    assert document["devices"][0]["modded"] is True
    assert document["devices"][0]["limits"]["memory_max_c"] == {
        "value": None,
        "unit": "degC",
        "reason": "not_supported",
    }


@pytest.mark.parametrize(
    ("argv", "minutes"),
    [
        ((), 5.0),
        (("--quick",), 5.0),
        (("--minutes", "2"), 2.0),
        (("--minutes", "30"), 30.0),
        (("--quick", "--minutes", "30"), 5.0),
        (("--quick", "--minutes", "1"), 1.0),
    ],
)
def test_minutes_reach_the_experiment(program, argv, minutes):
    program("tune", *argv)
    assert program.setup.started[0][0].minutes == minutes


def test_first_interrupt_cancels_and_keeps_what_was_measured(program):
    def interrupt(event):
        if isinstance(event, PointMeasured):
            signal.raise_signal(signal.SIGINT)

    program.setup.on_event = interrupt
    before = signal.getsignal(signal.SIGINT)
    result = program("tune", "--json")
    document = json.loads(result.out)
    assert result.code == 130
    assert document["outcome"] == "cancelled"
    assert len(document["points"]) == 1
    assert program.setup.closed == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_before_any_figure_says_so_and_leaves_no_session(program):
    program.setup.on_event = lambda _event: signal.raise_signal(signal.SIGINT)
    assert RUN_ID in program.setup.sessions.names
    result = program("tune")
    assert result.code == 130
    assert "Interrupted before anything was measured; nothing is kept." in result.err
    assert "Session:" not in result.out
    assert "is kept" not in result.out
    assert RUN_ID not in program.setup.sessions.names


def test_second_interrupt_ends_at_once(program):
    def interrupt_twice(_event):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    program.setup.on_event = interrupt_twice
    result = program("tune")
    assert result.code == 130
    assert program.setup.closed == 1
    assert program.setup.runs[0].forced
    assert RUN_ID not in program.setup.sessions.names, "nothing was measured"


def test_second_interrupt_keeps_what_was_measured(program):
    def interrupt_twice(event):
        if isinstance(event, AdviceGiven):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    program.setup.on_event = interrupt_twice
    result = program("tune")
    assert result.code == 130
    assert RUN_ID in program.setup.sessions.names
    assert f"what was measured is kept: /data/sessions/{RUN_ID}.sqlite" in result.err
    document = json.loads(program("tune", "--json").out)
    assert (document["session_id"], document["session_path"]) == (RUN_ID, f"/data/sessions/{RUN_ID}.sqlite")
    assert document["outcome"] == "cancelled"


def test_a_third_interrupt_while_all_is_closed_still_tells_the_session(program, monkeypatch):
    def interrupt_twice(event):
        if isinstance(event, AdviceGiven):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    program.setup.on_event = interrupt_twice
    monkeypatch.setattr(program.setup, "close", lambda: signal.raise_signal(signal.SIGINT))
    result = program("tune")
    assert result.code == 130
    assert f"what was measured is kept: /data/sessions/{RUN_ID}.sqlite" in result.err


def test_an_interrupt_on_one_card_is_no_reason_to_go_on_with_the_next(program):
    def interrupt_twice(event):
        if isinstance(event, AdviceGiven):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    program.setup.on_event = interrupt_twice
    assert program("tune", "--gpu", "all").code == 130
    assert len(program.setup.runs) == 1


def test_an_interrupt_before_a_run_claims_no_measurement(program, monkeypatch):
    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(program.setup, "start", interrupted)
    result = program("tune")
    assert result.code == 130
    assert result.err.splitlines()[-1] == "Interrupted; stored sessions are kept."


def test_a_busy_card_is_refused_with_the_process_named(program):
    program.setup.refuse = CardBusy("card_busy", "busy", card="RTX 4090", processes="python (pid 77)")
    result = program("tune", "--json")
    document = json.loads(result.out)
    assert result.code == 3
    assert result.err.splitlines()[-1].startswith("RTX 4090 is in use by python (pid 77);")
    assert document["outcome"] == "failed"
    assert document["error"]["code"] == "card_busy"
    assert document["error"]["exit_code"] == 3


def test_a_failed_run_ends_with_its_exit_code_and_sentence(program, ending):
    program.setup.end = ending(
        Outcome.STOPPED_FOR_SAFETY, 7, error_code="safety_memory_hot", error_params={"value": 101.0}
    )
    result = program("tune")
    assert result.code == 7
    assert "Stopped for safety: the memory reached 101 °C" in result.err
    assert "stopped for safety; what was measured is kept" in result.out
    assert "865 (851 … 880) samples/s" in result.out


def test_a_bug_in_the_engine_leaves_its_traceback_in_the_log(program, ending):
    program.setup.end = ending(Outcome.FAILED, 1, error_code="bug", error_text="Traceback: engine fell over")
    result = program("tune")
    assert result.code == 1
    assert "Traceback" not in result.err
    (log,) = (program.setup.data_dir / "log").iterdir()
    assert log.read_text() == "Traceback: engine fell over"
    assert str(log) in result.err


def test_a_bug_in_a_command_leaves_its_traceback_in_the_log(program, tmp_path):
    program.setup.events = (object(),)
    program.setup.on_event = lambda _event: 1 / 0
    result = program("tune", "--data-dir", str(tmp_path / "data"))
    assert result.code == 1
    (log,) = (tmp_path / "data" / "log").iterdir()
    assert "ZeroDivisionError" in log.read_text()
    assert len([line for line in result.err.splitlines() if str(log) in line]) == 1
    assert "ZeroDivisionError" not in result.err


def test_several_cards_are_measured_in_turn(program):
    first = program.setup.known[0]
    program.setup.known = (first, replace(first, uuid="GPU-second", index=1))
    result = program("tune", "--gpu", "all", "--json")
    document = json.loads(result.out)
    assert [uuids for _spec, uuids, _share in program.setup.started] == [(first.uuid,), ("GPU-second",)]
    assert len(document["sessions"]) == 2


def test_dry_run_touches_nothing(program):
    result = program("tune", "--dry-run", "--json", "--memory-cap", "4")
    document = json.loads(result.out)
    assert program.setup.started == []
    assert document["dry_run"] is True
    assert document["expected_s"] == 6.0
    assert [step["label"] for step in document["steps"]] == ["matmul", "matmul"]
    (limits,) = document["limits"].values()
    assert limits == {
        "memory_bytes": 4 * 2**30,
        "power_limit_enforced_w": 450.0,
        "slowdown_c": 90.0,
        "memory_max_c": None,
    }


def test_dry_run_in_words(program):
    result = program("tune", "--dry-run")
    assert "matrix multiplication: BF16, 8192 × 8192" in result.out
    assert "2 steps, about 6 s" in result.out
    assert "nothing was started" in result.out


def test_what_is_measured_on_a_real_card_is_not_called_simulated(program):
    program.setup.origin = Origin.MEASURED
    document = json.loads(program("tune", "--json").out)
    assert document["simulated"] is False
    assert document["origin"] == "measured"


def test_c020_with_mig_the_missing_utilisation_is_said(program):
    assert "no utilisation to judge by" not in program("tune").out
    card = program.setup.known[0]
    program.setup.known = (replace(card, readings={**card.readings, "mig_enabled": Reading(value=True)}),)
    assert "no utilisation to judge by" in program("tune").out


def test_what_the_telemetry_met_is_told_once_at_the_end(program, monkeypatch):
    notice = Notice(code="nvml_impostor", t_ns=1, params={"path": "/site/pynvml.py"}, count=3)
    monkeypatch.setattr(type(program.setup), "notices", lambda self: (notice,))
    result = program("tune")
    assert result.err.count("/site/pynvml.py is not NVIDIA's") == 1
    assert "/site/pynvml.py" not in result.out
