"""What the window starts runs apart from it, tells its story, and ends when it is asked to, or goes on."""

import os
import signal
import sys

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.assembly.watching import elsewhere
from gputuner.assembly.window import WindowPorts
from gputuner.engine.watched import CommandError
from gputuner.model.errors import UsageError
from gputuner.model.events import CommandEnded, CommandStarted, Outcome, RunFinished

WAITS = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {WAITS}"


@pytest.fixture
def ports(tmp_path):
    setup = open_setup(data_dir=tmp_path / "data")
    yield WindowPorts(setup)
    setup.close()


def start(ports, code, folder=None, **how):
    return ports.start_watch((sys.executable, "-c", code), folder, False, ("cpu",), **how)


def told_until(run, kind):
    """Events up to the first of ``kind``."""
    for event in run:
        if isinstance(event, kind):
            return event
    raise AssertionError("it was not told")


def up(watched):
    while "up" not in watched.output.read_text():
        assert watched.running


def test_a_command_runs_in_its_folder_and_its_words_stand_in_a_file(ports, tmp_path):
    watched = start(ports, "import os; print(os.getcwd()); raise SystemExit(3)", tmp_path)
    events = list(watched)
    ended = next(event for event in events if isinstance(event, CommandEnded))
    assert ended.exit_code == 3
    assert watched.output.read_text() == f"{tmp_path}\n"
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    assert watched.session_path.exists()


@pytest.mark.parametrize(("code", "asked", "by"), [(WAITS, 1, signal.SIGINT), (STUBBORN, 2, signal.SIGTERM)])
def test_cancel_asks_the_command_harder_each_time(ports, code, asked, by):
    watched = start(ports, code)
    up(watched)
    for _ in range(asked):
        watched.cancel()
    ended = told_until(watched, CommandEnded)
    assert ended.exit_code == (1 if by is signal.SIGINT and ended.signal is None else 128 + by)
    assert [type(event) for event in watched][-1] is RunFinished
    assert not watched.running


def test_leaving_ends_the_watching_and_not_the_command(ports):
    watched = start(ports, WAITS)
    pid = told_until(watched, CommandStarted).pid
    watched.leave()
    assert list(watched)[-1].outcome is Outcome.CANCELLED
    assert watched.running
    os.killpg(pid, signal.SIGKILL)


def test_what_cannot_be_started_leaves_nothing(ports, tmp_path):
    with pytest.raises(CommandError):
        ports.start_watch(("no-such-program-anywhere",), tmp_path, True, ("cpu",))
    with pytest.raises(UsageError):
        ports.start_watch((), tmp_path, True, ("cpu",))
    assert not list((tmp_path / "data").glob("sessions/*"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("docker", "run", "image"), ["docker"]),
        (("ssh", "host", "train"), ["ssh"]),
        (("python", "docker"), []),
        ((), []),
    ],
)
def test_a_command_that_lets_others_work_is_told_as_such(words, told):
    assert [note.params["program"] for note in elsewhere(words)] == told
