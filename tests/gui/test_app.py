"""Starting the window: bad words on the command line, and signals from the terminal."""

import os
import signal

import pytest

from gputuner.gui.app import main
from gputuner.gui.interrupts import SIGNALS, Interrupts


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--nope"], 2, "--nope"),
        (["--minutes", "1000"], 2, "--minutes"),
        (["--simulate", "no-such-card", "--screenshots", "out"], 2, "no-such-card"),
    ],
)
def test_wrong_words_give_one_sentence_and_exit_code(capsys, tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C")
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "nothing half-made stays behind"


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_closes_the_window_and_handlers_are_put_back(qtbot, number):
    before = [signal.getsignal(each) for each in SIGNALS]
    seen = []
    interrupts = Interrupts(lambda: seen.append(number))
    os.kill(os.getpid(), number)
    qtbot.waitUntil(lambda: seen == [number])
    interrupts.restore()
    interrupts.restore()
    assert [signal.getsignal(each) for each in SIGNALS] == before
