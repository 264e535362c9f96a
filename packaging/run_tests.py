"""All checks that run code: the whole suite, then everything below the window once more with Qt out of reach."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_QT = ["-p", "no:pytest-qt", "-p", "no:xdist", "-p", "tests.no_qt", "--ignore=tests/gui", "--ignore=tests/e2e"]


def main() -> int:
    """Exit code of the first run that fails."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-m", "pytest", "-q"]
    code = subprocess.call([*command, "-n", "2", *sys.argv[1:]], cwd=ROOT, env=environment)
    if code:
        return code
    quick = ["-m", "not torch", "--override-ini=qt_api=", "--override-ini=qt_log_level_fail="]
    return subprocess.call([*command, *NO_QT, *quick, "tests/cli", "tests/engine", "tests/model"], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
