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


def run(arguments: Sequence[str]) -> int:
    """Exit code of one pytest run on two cores."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *arguments, *sys.argv[1:]]
    return subprocess.call(command, cwd=ROOT, env=environment)


def main() -> int:
    """Exit code of the first run that fails."""
    return run(BELOW) or run(WINDOW)


if __name__ == "__main__":
    sys.exit(main())
