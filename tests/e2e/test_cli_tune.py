"""``tune`` from end to end on a simulated card."""

import os
import pty
import re
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
CARD = "rtx-4090-48g"


def test_document(tuned):
    assert tuned["schema"] == "gputuner.tune/1"
    assert tuned["origin"] == "simulated"
    assert tuned["simulated"] is True
    assert tuned["outcome"] == "completed"
    assert Path(tuned["session_path"]).is_file()
    assert Path(tuned["session_path"]).stem == tuned["session_id"]
    (card,) = tuned["devices"]
    assert card["catalog_id"] == CARD
    assert card["modded"] is True
    assert card["origin"] == "simulated"


def test_points(tuned):
    assert len(tuned["points"]) >= 6
    metrics = {point["metric"] for point in tuned["points"]}
    assert {"matmul_rate", "copy_bandwidth", "train_throughput", "batch_limit", "batch_fastest"} <= metrics
    ids = [point["id"] for point in tuned["points"]]
    assert len(set(ids)) == len(ids)
    for point in tuned["points"]:
        assert point["origin"] == "simulated"
        assert isinstance(point["value"], (int, float))
        if point["ci95"] is not None:
            low, high = point["ci95"]
            assert low <= point["median"] <= high


def test_simulated_rates_are_those_of_the_card(tuned):
    """No more than the peak of the sheet; a 4090 trains ResNet-50 faster in BF16 than in FP32."""
    burst = max(
        p["value"] for p in tuned["points"] if p["metric"] == "matmul_rate" and p["params"]["precision"] == "bf16"
    )
    assert 120e12 < burst < 200e12
    best = {
        precision: max(
            p["value"]
            for p in tuned["points"]
            if p["metric"] == "train_throughput" and p["params"]["precision"] == precision
        )
        for precision in ("bf16", "fp32")
    }
    assert best["bf16"] > 1.5 * best["fp32"]


def test_advice_rests_on_points_of_the_run(tuned):
    assert len(tuned["advice"]) >= 2
    ids = {point["id"] for point in tuned["points"]}
    for entry in tuned["advice"]:
        assert entry["title"]
        assert entry["action"]
        assert entry["why"]
        assert "—" not in entry["title"] + entry["action"] + entry["why"]
        assert entry["evidence"]
        assert all(reference in ids or ":" in reference for reference in entry["evidence"])


def test_questions_name_commands_that_exist(tuned, gputuner):
    for entry in tuned["to_measure"]:
        words = entry["command"].split()
        assert words[:2] == ["gputuner", "--cli"]
        assert gputuner(words[2], "--help", here=False).code == 0
        assert "_" not in entry["question"]


def test_plain_words_in_a_pipe(fresh):
    ended = fresh("tune", "--quick", "--simulate", CARD)
    assert ended.code == 0
    assert "\x1b" not in ended.out + ended.err
    for heading in ("What limits you", "The best advice", "Not known yet"):
        assert f"\n{heading}\n" in ended.out
    assert "until your own model is measured" in ended.out
    assert "All figures are simulated" in ended.out
    assert re.search(r"^Session: .*\.sqlite$", ended.out, re.MULTILINE)
    assert re.search(r"^\[1/\d+\] .* left$", ended.err, re.MULTILINE)
    assert "—" not in ended.out


def test_chinese(fresh, chinese):
    ended = fresh("tune", "--quick", "--simulate", CARD, "--lang", "zh_CN")
    assert ended.code == 0
    assert "你的瓶颈" in ended.out
    assert "ResNet-50" in ended.out
    assert "measured" not in ended.out
    for line in ended.err.splitlines():
        assert not re.search(r"[a-z]{4,} [a-z]{4,} [a-z]{4,}", line), line


def test_a_terminal_gets_a_live_view(fresh):
    main, side = pty.openpty()
    process = fresh.start("tune", "--quick", "--simulate", CARD, stdout=side, stderr=side, stdin=side)
    os.close(side)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait() == 0
    assert b"\x1b[?25l" in shown
    assert b"\x1b[?25h" in shown
    assert "What limits you" in shown.decode()


def test_the_same_seed_gives_the_same_figures(fresh, tuned):
    again = fresh("tune", "--quick", "--simulate", CARD, "--json").document
    assert [(p["id"], p["value"]) for p in again["points"]] == [(p["id"], p["value"]) for p in tuned["points"]]


def test_a_short_budget_shrinks_the_plan(fresh, tuned):
    short = fresh("tune", "--minutes", "0.5", "--simulate", CARD, "--json")
    assert short.code == 0
    assert 0 < len(short.document["points"]) < len(tuned["points"])


def test_two_cards_in_turn(fresh):
    document = fresh(
        "tune", "--minutes", "0.5", "--gpu", "all", "--simulate", CARD, "--simulate", "rtx-3090", "--json"
    ).document
    assert len(document["devices"]) == 2
    assert len(document["sessions"]) == 2
    assert {point["card"] for point in document["points"]} == {card["uuid"] for card in document["devices"]}


def test_a_dry_run_leaves_nothing_behind(fresh):
    ended = fresh("tune", "--dry-run", "--simulate", CARD, "--json")
    assert ended.code == 0
    assert ended.document["dry_run"] is True
    assert 30 < ended.document["expected_s"] < 300
    assert len(ended.document["steps"]) > 5
    assert not list(fresh.data_dir.rglob("*.sqlite"))


def test_an_interrupted_recording_keeps_what_was_measured(fresh):
    process = fresh.start("record", "--gpu", "cpu", "--verbose", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[1]"):
            break
    process.send_signal(signal.SIGINT)
    out, _err = process.communicate(timeout=600)
    assert process.returncode == 130
    path = re.search(r"^Session: (.*)$", out, re.MULTILINE)
    assert path is not None
    with sqlite3.connect(path[1]) as session:
        assert session.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    session.close()
    shown = fresh("sessions", "show", path[1], "--json").document
    assert shown["outcome"] == "cancelled"
