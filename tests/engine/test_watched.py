"""The user's command is started as the user would, and its end is told as a shell tells it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from gputuner.engine.watched import CommandError, CommandForbidden, Launch, start
from gputuner.model.errors import ExitCode

LONG_S = 600.0


def python(code, **how):
    return start(Launch(argv=(sys.executable, "-c", textwrap.dedent(code)), **how))


def test_exit_code_is_the_commands():
    assert python("raise SystemExit(42)").wait(LONG_S) == 42


def test_death_by_a_signal_is_128_plus_its_number():
    command = python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert command.wait(LONG_S) == 128 + signal.SIGKILL
    assert command.signal == signal.SIGKILL


def test_a_plain_end_has_no_signal():
    command = python("raise SystemExit(137)")
    assert command.wait(LONG_S) == 137
    assert command.signal is None


def test_output_goes_to_the_file_with_the_errors_and_nothing_is_read(tmp_path):
    log = tmp_path / "made" / "output.log"
    command = python(
        """
        import sys
        print("out", sys.stdin.read() == "")
        sys.stdout.flush()
        print("err", file=sys.stderr)
        """,
        output=log,
    )
    assert command.wait(LONG_S) == 0
    assert log.read_text() == "out True\nerr\n"


def test_folder_and_environment_are_as_asked(tmp_path):
    log = tmp_path / "log"
    environment = {**os.environ, "SEEN": "by the command"}
    command = python(
        "import os; print(os.getcwd(), os.environ['SEEN'])", folder=tmp_path, environment=environment, output=log
    )
    assert command.wait(LONG_S) == 0
    assert log.read_text() == f"{tmp_path} by the command\n"


@pytest.mark.parametrize(
    ("program", "code", "exit_code"),
    [
        ("no-such-program-anywhere", "command_not_found", ExitCode.COMMAND_NOT_FOUND),
        ("{folder}/missing", "command_not_found", ExitCode.COMMAND_NOT_FOUND),
        ("{folder}/plain", "command_forbidden", ExitCode.COMMAND_NOT_EXECUTABLE),
        ("{folder}/no_program", "command_no_program", ExitCode.COMMAND_NOT_EXECUTABLE),
        ("{folder}/lost", "command_interpreter", ExitCode.COMMAND_NOT_FOUND),
        ("{folder}", "command_forbidden", ExitCode.COMMAND_NOT_EXECUTABLE),
    ],
)
def test_what_cannot_be_started_is_told_as_shells_do(tmp_path, program, code, exit_code):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for name, text in (("no_program", "no first line that names one\n"), ("lost", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(CommandError) as caught:
        start(Launch(argv=(program.format(folder=tmp_path),)))
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert isinstance(caught.value, CommandForbidden) == (exit_code == ExitCode.COMMAND_NOT_EXECUTABLE)


def test_a_folder_that_is_not_there_is_told_as_such(tmp_path):
    with pytest.raises(CommandError) as caught:
        start(Launch(argv=("true",), folder=tmp_path / "missing"))
    assert caught.value.code == "command_folder"


def test_an_output_file_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(CommandError) as caught:
        start(Launch(argv=("true",), output=tmp_path))
    assert caught.value.code == "command_output"


def test_an_inherited_file_stays_open_for_it(tmp_path):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    command = python(f"import os; os.write({write}, b'reached')")
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"reached"
    assert command.wait(LONG_S) == 0


def test_apart_a_signal_reaches_its_children_too(tmp_path):
    log = tmp_path / "log"
    command = python(
        """
        import subprocess, sys
        child = subprocess.Popen(["sleep", "600"])
        print(child.pid, flush=True)
        raise SystemExit(-child.wait())
        """,
        output=log,
        apart=True,
    )
    while not log.read_text().endswith("\n"):
        assert command.wait(0.02) is None
    command.send(signal.SIGTERM)
    command.wait(LONG_S)
    child = int(log.read_text())
    assert subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True).stdout.strip() in (
        "",
        "Z",
    )


def test_one_that_has_ended_gets_no_signal_and_calls_back_at_once():
    command = python("pass")
    assert command.wait(LONG_S) == 0
    command.send(signal.SIGKILL)
    told = threading.Event()
    command.on_end(told.set)
    assert told.is_set()


def test_what_it_used_counts_its_children():
    command = python(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"])
        """
    )
    assert command.wait(LONG_S) == 0
    assert command.used is not None
    assert 0.5 <= command.used.cpu_s < 5.0
