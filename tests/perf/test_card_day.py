"""The driver of a card's measurements: nothing that sets, nothing lost when it is killed, nothing done twice."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.perf.card_day import LOG, SESSIONS, SPARE_S, Day, done_in, main, results
from tests.perf.card_parts import PARTS, WHERE, Piece

ALL = [piece for pieces in PARTS.values() for piece in pieces]
ENDS_LATE = """
import signal, sys, time
print("measured 1", flush=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("kept", flush=True)
"""


def piece(name: str, code: str, **changes) -> Piece:
    made = Piece(name=name, words=(sys.executable, "-c", code), expected_s=0.0, longest_s=60.0)
    return replace(made, **changes)


def day(folder: Path, time_s: float = 600.0) -> Day:
    return Day(folder, (), time_s, folder / "data")


def test_no_piece_can_change_a_setting():
    assert [each.name for each in ALL if each.forbidden()] == []
    assert piece("power", "").forbidden() == set()
    setter = replace(ALL[0], words=(sys.executable, "-m", "gputuner", "--cli", "power", "--yes"))
    assert setter.forbidden() == {"power", "--yes"}


def test_a_piece_that_would_is_refused_before_it_runs(tmp_path):
    setter = Piece(name="cap", words=(sys.executable, "-c", "", "control"), expected_s=0.0, longest_s=1.0)
    with pytest.raises(SystemExit, match="cap would change settings"):
        day(tmp_path, 60.0).run([setter], set())
    assert done_in(tmp_path) == set()


def test_pieces_fit_into_a_command_of_ten_minutes_and_have_names_of_their_own():
    assert len({each.name for each in ALL}) == len(ALL)
    usual_s = 9.4 * 60 - SPARE_S
    assert [each.name for each in ALL if each.expected_s >= usual_s] == []
    assert all(each.expected_s < each.longest_s for each in ALL)
    assert all(sum(part.words.count(WHERE) for part in pieces) <= len(pieces) for pieces in PARTS.values())


def test_what_is_done_is_kept_and_left_out_next_time(tmp_path, capsys):
    told = {"schema": "x/1", "outcome": "completed", "points": []}
    first = piece("first", f"import json; print(json.dumps({told}))", document=True)
    bad = piece("bad", "import sys; print('half'); sys.exit(3)")
    assert day(tmp_path).run([first, bad], set()) == 1
    lines = {line["piece"]: line for line in results(tmp_path)}
    assert lines["first"]["document"] == told
    assert (lines["bad"]["outcome"], lines["bad"]["code"], lines["bad"]["said"]) == ("failed", 3, "half\n")
    assert done_in(tmp_path) == {"first"}
    assert (tmp_path / SESSIONS).exists()
    assert day(tmp_path).run([first], done_in(tmp_path)) == 0
    assert "first: done already" in capsys.readouterr().out
    assert "half" in (tmp_path / LOG).read_text()


def test_a_piece_whose_time_is_over_is_interrupted_and_what_it_told_stays(tmp_path):
    assert day(tmp_path).run([piece("long", ENDS_LATE, longest_s=4.0)], set()) == 1
    (line,) = results(tmp_path)
    assert line["outcome"] == "ended"
    assert "measured 1\nkept\n".startswith(line["said"])  # less where Python itself took so long to start
    assert done_in(tmp_path) == set()


def test_what_does_not_fit_into_the_time_left_is_not_begun(tmp_path, capsys):
    assert day(tmp_path, 60.0).run([piece("late", "print('never')", expected_s=500.0)], set()) == 1
    assert "late: not begun" in capsys.readouterr().out
    assert list(results(tmp_path)) == []


def test_a_line_that_was_cut_off_ends_the_results(tmp_path):
    day(tmp_path).run([piece("one", "print(1)")], set())
    file: Path = tmp_path / "results.jsonl.gz"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    assert done_in(tmp_path) == {"one"}


def test_parts_are_listed_and_unknown_ones_refused(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name}: about" in listed for name in PARTS)
    with pytest.raises(SystemExit):
        main(["--part", "nothing"])
