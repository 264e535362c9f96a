"""All checks that run code: everything below the window with Qt out of reach, then the window."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BELOW = ["-p", "no:pytest-qt", "-p", "tests.no_qt", "--ignore=tests/gui", "--ignore=tests/e2e/test_window.py"]
WINDOW = ["tests/gui", "tests/e2e/test_window.py"]


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
