"""Streams that take nothing, or not every letter."""

import io
import os
import subprocess
import sys

import pytest

from gputuner.cli.app import main
from gputuner.cli.streams import guarded
from gputuner.model.events import Outcome

FULL = "/dev/full"
needs_full = pytest.mark.skipif(not os.path.exists(FULL), reason="only Linux has a device that is always full")


class Failing(io.StringIO):
    """A stream whose terminal has gone."""

    def write(self, text: str, /) -> int:
        raise OSError(5, "Input/output error")


def test_what_stdout_cannot_take_is_one_sentence(program, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Failing())
    code = main(["devices"], open_setup=program.setup)
    said = program.capsys.readouterr().err
    assert code == 8
    assert said == "The output cannot be written: Input/output error; stored sessions are kept.\n"
    assert program.setup.closed == 1


@pytest.mark.parametrize("argv", [["devices"], ["devices", "--json"], ["tune"], ["tune", "--json"], ["sessions"], []])
def test_a_run_ends_before_its_output_fails(program, monkeypatch, argv):
    monkeypatch.setattr(sys, "stdout", Failing())
    assert main(argv, open_setup=program.setup) == 8
    assert [run.cancelled for run in program.setup.runs] == [False] * len(program.setup.runs)


def test_progress_that_cannot_be_told_stops_nothing(program, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Failing())
    assert main(["tune"], open_setup=program.setup) == 0
    assert not program.setup.runs[0].cancelled
    assert "Session: " in program.capsys.readouterr().out


class Gone(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("argv", [["tune"], ["tune", "--json"], ["record"]])
def test_a_reader_that_goes_away_does_not_change_the_exit_code(program, monkeypatch, ending, argv):
    program.setup.end = ending(Outcome.FAILED, 5, error_code="does_not_fit")
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(argv, open_setup=program.setup) == 5


def test_an_error_of_a_document_that_nobody_reads_keeps_its_exit_code(program, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["tune", "--json", "--gpu", "GPU-nobody"], open_setup=program.setup) == 3


def test_a_reader_of_progress_that_goes_away_stops_nothing(program, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Gone())
    assert main(["tune"], open_setup=program.setup) == 0
    assert not program.setup.runs[0].cancelled
    assert "Session: " in program.capsys.readouterr().out


def test_no_stdout_is_told_before_anything_is_opened(program, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["devices"], open_setup=program.setup) == 8
    assert program.setup.asked == {}
    assert program.capsys.readouterr().err.startswith("The output is closed;")


def test_without_stderr_its_words_do_not_go_to_stdout(program, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    code = main(["tune", "--json"], open_setup=program.setup)
    assert code == 0
    assert program.capsys.readouterr().out.startswith("{")


def test_the_streams_are_put_back(capsys):
    before = sys.stdout, sys.stderr
    with guarded():
        assert sys.stdout is not before[0]
        assert sys.stderr is not before[1]
    assert (sys.stdout, sys.stderr) == before


def test_neither_stream(program, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["devices"], open_setup=program.setup) == 8
    assert (sys.stdout, sys.stderr) == (None, None)


@needs_full
@pytest.mark.parametrize("words", ["--help", "--version", "tune --help", "frob --json"])
def test_a_full_disk_is_said_and_the_interpreter_ends_cleanly(words):
    code = f"import sys; from gputuner.cli.app import main; sys.exit(main({words.split()!r}))"
    with open(FULL, "w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 8
    assert len(done.stderr.splitlines()) == 1
    assert "space" in done.stderr


def test_signs_that_an_encoding_lacks_are_replaced():
    code = "from gputuner.cli.streams import guarded\nwith guarded(): print('31 °C · a × b — 显')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "31  C - a x b - ?\n"
