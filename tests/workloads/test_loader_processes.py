"""The loader's processes end with the worker, however it ends."""

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends them on Linux only"),
]
PARAMS = {"part": "supply", "batch": 4, "precision": "fp32", "image": 32, "workers": 1, "persistent": True}
LONG = {"measure_s": 600.0, "budget_s": 1200.0}
START_S = 600.0
END_S = 600.0
BLIND = "import torch.utils.data._utils.worker as loop; loop.MP_STATUS_CHECK_INTERVAL = 3600.0; "
"""Torch's own watch of the parent would end them too, after 5 s: here it looks once an hour."""


def children(pid):
    return [int(c) for tasks in Path(f"/proc/{pid}/task").glob("*/children") for c in tasks.read_text().split()]


def watched(worker):
    """Handles of the loader's processes, once they run."""
    until = time.monotonic() + START_S
    while not (found := children(worker.process.pid)) and time.monotonic() < until:
        select.select([worker.process.stderr], [], [], 0.05)
    assert found
    return [os.pidfd_open(pid) for pid in found]


def all_end(handles):
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    ended = set()
    while len(ended) < len(handles):
        ready = poll.poll(END_S * 1000)
        if not ready:
            return False
        for handle, _ in ready:
            ended.add(handle)
            poll.unregister(handle)
            os.close(handle)
    return True


@pytest.fixture
def loading(start_worker):
    """A worker in the middle of a loader's trial."""
    worker = start_worker(before_start=BLIND)
    worker.until("ready")
    worker.ask("loading", PARAMS, **LONG)
    return worker


def test_killed(loading):
    handles = watched(loading)
    loading.process.send_signal(signal.SIGKILL)
    assert all_end(handles)


def test_left_by_the_engine(loading):
    handles = watched(loading)
    loading.process.stdin.close()
    assert all_end(handles)
    assert loading.wait() == 0


def test_cancelled(loading):
    handles = watched(loading)
    loading.send(kind="stop", id="t")
    said = loading.until("result", "failed")
    assert all_end(handles)
    assert said["kind"] == "failed" or said["notes"]["stopped"] is True
    assert loading.process.poll() is None
