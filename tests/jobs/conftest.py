"""A queue in a folder of its own, and ways to run its jobs."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from gputuner.jobs.claims import log_path
from gputuner.jobs.store import JobStore
from gputuner.model.jobs import Needs, NeedSource, Request

LIMIT_S = 600.0


@dataclass
class Bench:
    """A queue, its folder, and what tests do with both."""

    data_dir: Path
    store: JobStore

    def add(self, *command, memory=None, **more):
        """Add a job; its id."""
        needs = more.pop("needs", {})
        if memory is not None:
            needs = {"memory_bytes": memory, "source": NeedSource.GIVEN, **needs}
        environment = more.pop("environment", {"PATH": os.environ["PATH"]})
        request = Request(
            command=command, folder=str(self.data_dir), environment=environment, needs=Needs(**needs), **more
        )
        return self.store.add(request)[0]

    def place(self, job, ticket="t", cards='["GPU-0"]'):
        """Give a job its place, as a runner does."""
        self.store.connection.execute(
            "UPDATE jobs SET state = 'starting', ticket = ?, cards = ?, placed = ? WHERE id = ?",
            (ticket, cards, time.time(), job),
        )

    def supervise(self, job, ticket="t"):
        """Start its supervisor."""
        words = [sys.executable, "-m", "gputuner", "--job", str(job), ticket, str(self.data_dir)]
        return subprocess.Popen(words, start_new_session=True)

    def run(self, job):
        """Place, supervise to the end, and tell how it then stands."""
        self.place(job)
        assert self.supervise(job).wait(timeout=LIMIT_S) == 0
        return self.store.job(job)

    def log(self, job, attempt=1):
        """What it wrote."""
        return log_path(self.data_dir, job, attempt).read_text()

    def until(self, fact):
        """Wait for a fact; what it is."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            found = fact()
            if found:
                return found
            time.sleep(0.01)
        raise AssertionError("it never came")


@pytest.fixture
def queue(tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    with JobStore(data_dir) as store:
        yield Bench(data_dir, store)
