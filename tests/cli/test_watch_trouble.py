"""Whatever fails in the watching is said; the command goes on and its exit code stays the answer."""

import json
import os
import signal
import sys

import pytest

from gputuner.assembly.watching import begin
from gputuner.cli.app import main
from gputuner.engine.watched import Launch
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import CommandEnded, Outcome, RunFinished
from gputuner.model.watched import TreeUse

CARD = CardInfo(uuid="GPU-1", index=0, name="Card")
BUG = ZeroDivisionError("in an analysis")


class Run:
    """A run that tells these events, then raises what it is to raise."""

    run_id, session_path = "20261130-000000-watch-abcd", None

    def __init__(self, events=(), error=None):
        self.events, self.error, self.cancelled = events, error, False

    def __iter__(self):
        yield from self.events
        if self.error:
            raise self.error

    def cancel(self, *, force=False):
        self.cancelled = True


class Program:
    """A program whose cards, or whose runs, fail."""

    origin = Origin.MEASURED

    def __init__(self, run, select_error=None):
        self.run, self.select_error = run, select_error

    def open(self, **_options):
        return self

    def select(self, _selection, *, for_experiment):
        if self.select_error:
            raise self.select_error
        return (CARD,)

    def launch(self, argv, *, hooks, to_stderr, around):
        launch = Launch(argv=tuple(argv), to_stderr=to_stderr)
        return begin(launch, os.environ, hooks=hooks, collector_s=lambda: 0.0, around=around)

    def watch(self, _begun, _cards):
        if isinstance(self.run, Exception):
            raise self.run
        return self.run

    def notices(self):
        return ()

    def close(self):
        return


def finished(code):
    return RunFinished(
        run_id="r", seq=9, t_ns=9, outcome=Outcome.FAILED, exit_code=1, error_code=code, error_text="Traceback: x"
    )


ENDED = CommandEnded(
    run_id="r", seq=8, t_ns=8, exit_code=6, signal=None, duration_s=1.0, hooks=True, use=TreeUse(duration_s=1.0)
)


@pytest.fixture(autouse=True)
def as_kind_as_before(monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _step: 0)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (Program(StoreError("store_full", "no space", path="x")), "The disk that holds"),
        (Program(BUG), "This is a bug in gputuner"),
        (Program(Run(error=BUG)), "This is a bug in gputuner"),
        (Program(Run([finished("bug")])), "This is a bug in gputuner"),
        (Program(Run([finished("store_full")])), "The disk that holds"),
        (Program(Run(), select_error=BUG), "This is a bug in gputuner"),
    ],
)
def test_the_commands_exit_code_stays(program, said, capfd, tmp_path):
    words = ["watch", "--data-dir", str(tmp_path), "--", sys.executable, "-c", "print('done'); raise SystemExit(6)"]
    assert main(words, program.open) == 6
    out, err = capfd.readouterr()
    assert out == "done\n"
    assert err.count(said) == 1


def test_a_page_that_fails_is_told_and_the_exit_code_stays(capfd, tmp_path, monkeypatch):
    monkeypatch.setattr("gputuner.cli.watch_page.where_time_went", lambda *_: 1 / 0)
    words = ["watch", "--data-dir", str(tmp_path), "--", sys.executable, "-c", "raise SystemExit(6)"]
    assert main(words, Program(Run([ENDED])).open) == 6
    assert "This is a bug in gputuner" in capfd.readouterr().err


def test_the_document_names_the_trouble_beside_the_commands_exit(capfd, tmp_path):
    words = ["watch", "--json", "--data-dir", str(tmp_path), "--", sys.executable, "-c", "raise SystemExit(6)"]
    assert main(words, Program(BUG).open) == 6
    document = json.loads(capfd.readouterr().out)
    assert document["command_exit"] == 6
    assert document["outcome"] == "failed"
    assert document["error"]["code"] == "bug"
    assert document["where_time_went"] is None


def test_a_run_whose_reader_fails_is_cancelled(tmp_path, monkeypatch):
    run = Run([ENDED])
    monkeypatch.setattr("gputuner.cli.running.Found.take", lambda *_: 1 / 0)
    words = ["watch", "--data-dir", str(tmp_path), "--", sys.executable, "-c", "raise SystemExit(6)"]
    assert main(words, Program(run).open) == 6
    assert run.cancelled


def test_an_interrupt_before_the_command_is_there_starts_none(capfd, tmp_path):
    class Interrupted(Program):
        def select(self, _selection, *, for_experiment):
            os.kill(os.getpid(), signal.SIGINT)
            return (CARD,)

    words = ["watch", "--gpu", "0", "--data-dir", str(tmp_path), "--", sys.executable, "-c", "print('started')"]
    before = signal.getsignal(signal.SIGINT)
    assert main(words, Interrupted(Run()).open) == 130
    assert "started" not in capfd.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
