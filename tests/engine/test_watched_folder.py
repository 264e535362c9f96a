"""Folders of records: private, known by their maker, and gone once nobody is left of them."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from gputuner.engine.watched_folder import FORGOTTEN_S, JOB, OWNER, WATCH, make, remove, sweep
from gputuner.workloads.observed.environment import FOLDER


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def killed(prefix: str = WATCH) -> Path:
    """A folder whose maker was killed before it could remove it."""
    code = f"""
import os, signal, sys, tempfile
tempfile.tempdir = {tempfile.tempdir!r}
from gputuner.engine.watched_folder import make
print(make({prefix!r}), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == -9, ended.stderr
    return Path(ended.stdout.strip())


@pytest.mark.parametrize("prefix", [WATCH, JOB])
def test_that_of_a_killed_one_goes_at_the_next_start(prefix):
    folder = killed(prefix)
    assert (folder / OWNER).is_file()
    ours = make(WATCH)
    assert not folder.exists()
    assert ours.parent == Path(tempfile.tempdir)
    assert ours.stat().st_mode & 0o777 == 0o700
    remove(ours)
    assert not ours.exists()


def test_it_stays_while_the_command_lives_on_that_writes_there():
    folder = killed()
    environment = {**os.environ, FOLDER: str(folder)}
    with subprocess.Popen(["sleep", "600"], env=environment) as command:
        while psutil.Process(command.pid).environ().get(FOLDER) != str(folder):
            pass  # until it has become the command
        sweep()
        assert folder.exists()
        command.kill()
    sweep()
    assert not folder.exists()


def test_ours_stays_while_we_live():
    folder = make(JOB)
    sweep()
    assert folder.exists()


def test_what_cannot_be_judged_here_goes_once_it_is_old():
    """Made before there were notes, or in a container that shares the folder: its process numbers mean nothing here."""
    folders = {}
    for name, age_s in (("old", 2 * FORGOTTEN_S), ("new", 0.0)):
        folder = folders[name] = Path(tempfile.tempdir) / f"{WATCH}{name}"
        folder.mkdir()
        (folder / OWNER).write_text(json.dumps({"pid": 1 << 22, "started_s": 0.0, "where": "another machine"}))
        (folder / "1-1.jsonl").write_text("{}")
        then = time.time() - age_s
        for path in (*folder.iterdir(), folder):
            os.utime(path, (then, then))
    sweep()
    assert not folders["old"].exists()
    assert folders["new"].exists()
