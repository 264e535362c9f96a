"""The entry of the program."""

import subprocess
import sys

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
