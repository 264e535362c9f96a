"""The help of the window, which needs no window."""

import subprocess
import sys

import pytest

from gputuner.cli.window_manual import OPTIONS, show
from gputuner.gui import options
from gputuner.language.words import set_language


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_ends_with_0_and_loads_no_qt(word):
    code = (
        "import sys; from gputuner.__main__ import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 'PySide6' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, word, "--lang", "en"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: gputuner [OPTIONS]")
    assert "gputuner --cli --help" in done.stdout
    assert done.stderr == ""


def test_it_names_every_option_of_the_window_and_no_other():
    told = {names.split()[0].rstrip(",") for names, _about in OPTIONS} - {"--help", "--version"}
    assert told == {name for name in options.WITH_VALUE | options.SWITCHES if name not in ("--quiet", "--verbose")}


def test_it_keeps_to_the_terminal_s_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert show([]) == 0
    set_language("en")
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
