"""All checks that run code: everything below the window with Qt out of reach, then the window."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DISPLAY = "tests/e2e/test_cli_usage.py::test_doctor_sees_that_there_is_no_display"
WINDOW = ["tests/gui", "tests/e2e/test_window.py", "tests/e2e/test_cases_window.py", DISPLAY]
BELOW = ["-p", "no:pytest-qt", "-p", "tests.no_qt", f"--deselect={DISPLAY}"]
BELOW += [f"--ignore={path}" for path in WINDOW if "::" not in path]


SPREAD = ["-n", "2", "--dist", "worksteal"]
"""Each of two processes takes tests that stand together, so that they share what a module sets up once."""


def environment() -> dict[str, str]:
    """Of the tests and all that they start.

    Compiled modules are kept, whatever the machine's habit: a thousand programs start, and to compile ours takes each
    as long as all else of its start. One thread for each process that computes: two of them have the cores of two, and
    threads that wait for each other at a barrier cost more than they bring.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}


def run(arguments: Sequence[str]) -> int:
    """Exit code of one pytest run on two cores."""
    command = [sys.executable, "-m", "pytest", "-q", *SPREAD, *arguments, *sys.argv[1:]]
    return subprocess.call(command, cwd=ROOT, env=environment())


def main() -> int:
    """Exit code of the first run that fails."""
    return run(BELOW) or run(WINDOW)


if __name__ == "__main__":
    sys.exit(main())
