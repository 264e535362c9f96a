"""All checks that take long: everything below the window with Qt out of reach; at the same time types and the window.

Tests wait for processes and for time to pass: what two processes leave idle of two cores, the third one uses. What it
says is shown when it has ended.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DISPLAY = "tests/e2e/test_cli_usage.py::test_doctor_sees_that_there_is_no_display"
WINDOW = ["tests/gui", "tests/e2e/test_window.py", "tests/e2e/test_cases_window.py", DISPLAY]
BELOW = ["-p", "no:pytest-qt", "-p", "tests.no_qt", f"--deselect={DISPLAY}"]
BELOW += [f"--ignore={path}" for path in WINDOW if "::" not in path]
SPREAD = ["-n", "2", "--dist", "worksteal"]
"""Each of two processes takes tests that stand together, so that they share what a module sets up once."""
BESIDE = "--beside"


def environment() -> dict[str, str]:
    """Of the tests and all that they start.

    Compiled modules are kept, whatever the machine's habit: a thousand programs start, and to compile ours takes each
    as long as all else of its start. One thread for each process that computes: two of them have the cores of two, and
    threads that wait for each other at a barrier cost more than they bring.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}


def tests(*arguments: str) -> list[str]:
    """The command of a pytest run."""
    return [sys.executable, "-m", "pytest", "-q", *arguments]


def run(command: Sequence[str]) -> int:
    """Exit code of a command."""
    return subprocess.call(command, cwd=ROOT, env=environment())


def beside(arguments: Sequence[str]) -> int:
    """Exit code of what needs one process: types, and the window's tests also where those are wrong."""
    types = run([str(Path(sys.executable).with_name("basedpyright"))])
    return run(tests(*WINDOW, *arguments)) or types


def main(arguments: Sequence[str]) -> int:
    """Exit code of the first of both that fails."""
    if arguments[:1] == [BESIDE]:
        return beside(arguments[1:])
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, __file__, BESIDE, *arguments]
        with subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT) as other:
            code = run(tests(*SPREAD, *BELOW, *arguments))
            other.wait()
        said.seek(0)
        print(said.read().decode(errors="replace"), end="", flush=True)
    return code or other.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
