"""``--dry-run``: what a start would do and leave out, with the time that it would announce."""

import json
import re

import pytest

from gputuner.cli.app import main
from gputuner.language.words import set_language

CARD = "rtx-3090"


@pytest.fixture
def program(tmp_path, capsys, monkeypatch):
    """Runs a command line with ``--dry-run`` or without; returns exit code, stdout and stderr."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, "C.UTF-8")

    def run(*argv, cards=(CARD,), data="data"):
        where = [part for card in cards for part in ("--simulate", card)]
        code = main([*argv, *where, "--data-dir", str(tmp_path / data)])
        told = capsys.readouterr()
        return code, told.out, told.err

    yield run
    set_language("en")


@pytest.mark.parametrize("names", [("p2p",), ("gemm-fp8",), ("p2p", "gemm-fp8")])
def test_what_cannot_run_is_refused_as_by_the_run_itself(program, names):
    dry, real = (program("bench", *names, *flags) for flags in (("--dry-run",), ()))
    assert dry[0] == real[0] == 3
    assert dry[2] == real[2]


def test_what_is_left_out_is_told_with_its_reason(program):
    code, out, _err = program("bench", "gemm-fp8", "launch", "--dry-run")
    assert code == 0
    assert "Note: gemm-fp8 is left out: the chip has no FP8" in out
    document = json.loads(program("bench", "gemm-fp8", "launch", "--dry-run", "--json")[1])
    assert [warned["code"] for warned in document["warnings"]] == ["benchmark_unavailable"]


def test_further_cards_take_part(program):
    _code, out, _err = program("bench", "p2p", "allreduce", "--dry-run", cards=(CARD, CARD))
    assert "copies between two cards" in out
    assert "all-reduce" in out
    assert "2 steps, about" in out


def test_the_time_is_the_one_that_the_run_announces(program):
    _code, out, _err = program("bench", "launch", "--dry-run")
    _code, _out, err = program("bench", "launch")
    told = re.search(r"1 step, about (.+) with starting", out)
    announced = re.search(r"1 benchmark, about (.+)", err)
    assert told
    assert announced
    assert told[1] == announced[1]


def test_steps_are_numbered_out_of_a_total_only_once_they_are_counted(program):
    _code, _out, err = program("bench", "launch", "--null")
    numbers = [line.partition("]")[0] for line in err.splitlines() if line.startswith("[")]
    assert numbers == ["[1", "[2/5", "[3/5", "[4/5", "[5/5"]
