"""Exactly the processes of a command are followed: children of children, those that lost their parent, no others."""

import os
import subprocess
import sys

import pytest

from gputuner.model.samples import CardProcesses, ProcessOnCard
from gputuner.telemetry.process_tree import MOST_KEPT, ProcessTree

MARK = ("GPUTUNER_TEST_MARK", "here")


class Started:
    """A program that does what it is told, a line at a time, and answers each line."""

    def __init__(self, code, environment=None):
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.pid = self.process.pid

    def answer(self):
        return self.process.stdout.readline().strip()

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait(600)
        self.process.stdout.close()


@pytest.fixture
def started():
    programs = []

    def start(code, environment=None):
        programs.append(Started(code, environment))
        return programs[-1]

    yield start
    for program in programs:
        program.end()


NEST = """
import subprocess, sys
inner = "import sys; print('up', flush=True); sys.stdin.read()"
middle = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {inner!r}]); p.wait()"
p = subprocess.Popen([sys.executable, "-c", middle])
p.wait()
"""


def test_children_of_children_are_followed_and_strangers_are_not(started):
    stranger, root = started("input()"), started(NEST)
    assert root.answer() == "up"
    tree = ProcessTree(root.pid)
    tree.look()
    assert len(tree.pids) == tree.count == 3
    assert root.pid in tree.pids
    assert not tree.pids & {stranger.pid, os.getpid()}


ORPHAN = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(1, b"%d\\n" % os.getpid())  # one write each: two processes share the pipe
    sys.stdin.read()
    os._exit(0)
os.wait()
os.write(1, b"left\\n")
sys.stdin.read()
"""


def test_a_daemon_that_left_before_it_was_seen_is_found_by_the_mark(started):
    root = started(ORPHAN, dict([MARK]))
    daemon = {root.answer(), root.answer()} - {"left"}
    marked, unmarked = ProcessTree(root.pid, MARK), ProcessTree(root.pid)
    marked.look()
    unmarked.look()
    assert marked.pids == {root.pid, int(daemon.pop())}
    assert unmarked.pids == {root.pid}


def test_one_that_loses_its_parent_later_stays(started):
    root = started(
        """
import os, sys
if os.fork() == 0:
    print(os.getpid(), flush=True)
    input()
    os._exit(0)
sys.stdin.readline()
os._exit(0)
"""
    )
    child = int(root.answer())
    tree = ProcessTree(root.pid)
    tree.look()
    assert tree.pids == {root.pid, child}
    root.process.kill()
    root.process.wait(600)
    tree.look()
    assert child in tree.pids
    assert root.pid not in tree.pids
    assert {process.pid: process.alive for process in tree.processes()} == {root.pid: False, child: True}


BUSY = """
import time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: pass
while True:
    work(float(input())); print("done", flush=True)
"""


def test_processor_time_memory_and_busiest_thread_of_the_last_interval(started):
    root = started(BUSY)
    clock = iter([0.0, 2.0])
    tree = ProcessTree(root.pid, now_s=lambda: next(clock))
    assert tree.look() is None
    before = tree.processes()[0].cpu_s
    root.process.stdin.write("0.5\n")
    root.process.stdin.flush()
    assert root.answer() == "done"
    now = tree.look()
    used = tree.processes()[0].cpu_s - before
    assert 0.4 < used < 1.5
    assert now.cpu_cores == pytest.approx(used / 2.0, abs=0.02)
    assert now.processes == 1
    assert now.memory_bytes > 2**20


def test_time_of_a_child_that_ended_between_two_looks_counts(started):
    root = started(
        """
import subprocess, sys
input()
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"])
print("done", flush=True)
input()
"""
    )
    clock = iter([0.0, 1.0])
    tree = ProcessTree(root.pid, now_s=lambda: next(clock))
    tree.look()
    root.go_on()
    assert root.answer() == "done"
    assert tree.look().cpu_cores >= 0.5


def test_memory_on_a_card_is_told_apart_from_that_of_others(started):
    root = started("input()")
    tree = ProcessTree(root.pid)
    tree.look()

    def process(pid, held):
        return ProcessOnCard(pid=pid, name="x", user=None, command=None, memory_bytes=held)

    table = CardProcesses(card="GPU-1", t_ns=0, processes=(process(root.pid, 700), process(1, 5000)))
    assert tree.take(table) == 700
    assert tree.processes()[0].card_bytes == {"GPU-1": 700}
    assert tree.take(CardProcesses(card="GPU-1", t_ns=0, processes=(process(root.pid, None),))) is None


MANY = """
import subprocess
many = [subprocess.Popen(["sleep", "600"]) for _ in range(int(input()))]
print("up", flush=True)
input()
for each in many: each.kill()
for each in many: each.wait()
print("gone", flush=True)
input()
"""


def test_of_many_processes_only_the_heaviest_are_kept_and_all_are_counted(started):
    root, many = started(MANY), MOST_KEPT + 20
    root.process.stdin.write(f"{many}\n")
    root.process.stdin.flush()
    assert root.answer() == "up"
    tree = ProcessTree(root.pid)
    tree.look()
    root.go_on()
    assert root.answer() == "gone"
    tree.look()
    assert tree.pids == {root.pid}
    assert len(tree.processes()) == MOST_KEPT + 1
    assert tree.count == many + 1


def test_pythons_own_tidying_is_not_left_running():
    """The resource tracker of multiprocessing ends once its pipe is closed, a moment after the program."""
    code = "import sys; sys.stdin.read()"
    words = [[sys.executable, "-c", code, "multiprocessing.resource_tracker"], [sys.executable, "-c", code]]
    started = [subprocess.Popen(each, stdin=subprocess.PIPE) for each in words]
    try:
        assert [ProcessTree(each.pid).left() for each in started] == [0, 1]
    finally:
        for each in started:
            each.communicate()
