"""One failing test fails alone."""

import subprocess
import sys
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import subprocess, sys, tempfile

def test_fails_and_leaves_a_process_and_a_file():
    child = subprocess.Popen([sys.executable, "-c", "print('up', flush=True); input()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    file = open(__file__)
    print("left", child.pid)
    raise OSError("as it happens")

def test_after_it():
    pass

def test_much_later():
    import gc
    gc.collect()
"""


def test_what_a_failing_test_left_is_ended_and_fails_no_other(tmp_path):
    (tmp_path / "test_failing.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("from tests.left_behind import pytest_runtest_protocol")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    words += ["--rootdir", str(tmp_path), "-c", "/dev/null"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    left = int(done.stdout.partition("left ")[2].split()[0])
    assert not psutil.pid_exists(left)
