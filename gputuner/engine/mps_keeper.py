"""The keeper of an MPS daemon: a child that waits until its parent is gone, and then ends the daemon that is left.

However the parent ends, its end of the keeper's standard input is closed. A parent that ended the daemon itself leaves
nothing to do. If the keeper is killed too, the journal (``engine/mps_journal.py``) lets the next start end the daemon.
"""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ARGUMENT = "--mps-keeper"
READY = "ready"
DYING_S = 30.0
"""A parent that has let go of us is gone within this time."""
PAUSE_S = 0.05


def main(argv: Sequence[str]) -> int:
    """Keep the daemon whose journal is named; the exit code."""
    from gputuner.engine.mps_journal import end_journalled

    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    journal = Path(argv[-1])
    print(READY, flush=True)
    sys.stdin.buffer.read()
    until = time.monotonic() + DYING_S
    while journal.exists() and not end_journalled(journal) and time.monotonic() < until:
        time.sleep(PAUSE_S)
    return 0
