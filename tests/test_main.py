"""The entry of the program."""

import os
import signal
import subprocess
import sys

import pytest

LOADED = """
import os
import sys
before = set(sys.modules)
import gputuner.__main__
print(*sorted(set(sys.modules) - before))
"""


def test_nothing_is_loaded_before_an_interrupt_can_be_caught():
    ended = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["gputuner", "gputuner.__main__"]


def held_keys():
    """Signals of keys that came between the fork and the new session, held by whoever started it."""
    keys = {signal.SIGINT, signal.SIGQUIT}
    signal.pthread_sigmask(signal.SIG_BLOCK, keys)
    for number in keys:
        os.kill(os.getpid(), number)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="POSIX")
def test_a_key_pressed_while_the_collector_starts_does_not_end_it():
    words = [sys.executable, "-m", "gputuner", "--collector"]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=held_keys, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
