"""The engine's side of one command of the user's, and commands that act as trainings without torch."""

import os
import queue
import sys
import textwrap
from pathlib import Path

from gputuner.engine.commanded import CommandedProcess, Commands
from gputuner.engine.commanded_tree import Mark, marked
from gputuner.engine.inbox import WorkerGone
from gputuner.model.steps import Work
from gputuner.workloads.observed.environment import FOLDER

LONG_S = 600.0
CHILD = (sys.executable, "-m", "gputuner", "--commanded")
STEPS = """
    import json, os, sys, time
    record = os.path.join(os.environ["GPUTUNER_WATCH_DIR"], f"{os.getpid()}-1.jsonl")
    def write(**line):
        with open(record, "a") as file:
            file.write(json.dumps(line) + chr(10))
    write(k="hello", pid=os.getpid(), t=time.time())
    def train(lines):
        last = time.time()
        for _ in range(lines):
            time.sleep(0.1)
            now, last = time.time(), time.time()
            write(k="window", t=now, steps=5, training_s=0.1, step_us=[20000] * 5, samples=40, batches=5, rss_peak=7)
"""
"""What the hooks would write of a training, without torch: 5 steps each 0.1 s."""
DETACHED = """
    import subprocess, sys
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
"""
"""A child in a session of its own that hears no SIGTERM."""


class Job:
    """The engine's side of one command."""

    def __init__(self, folder: Path, *argv: str, patience_s: float = 60.0, grace_s: float = 5.0):
        self.items: queue.SimpleQueue = queue.SimpleQueue()
        environment = {**os.environ, "PYTHONPATH": ""}
        self.process = CommandedProcess("c1", CHILD, environment, self.items.put)
        commands = Commands(argvs=(argv,), folder=folder, logs=folder / "logs", grace_s=grace_s)
        work = Work(
            label="contend_alone",
            workload="command",
            params={"command": 1, "patience_s": patience_s},
            measure_s=1.0,
            budget_s=30.0,
            runtime="command",
        )
        order = commands.order(work)
        self.mark = Mark(name=FOLDER, value=str(order["records"]))
        trial = {"kind": "trial", "id": "t1", "measure_s": 1.0, "budget_s": 30.0, "warmup_s": 0.3}
        self.process.send({**trial, "command": order})

    def until(self, kind: str) -> dict:
        """The next message of this kind; the child's end is an error unless waited for."""
        while True:
            item = self.items.get(timeout=LONG_S)
            if isinstance(item, WorkerGone):
                assert kind == "gone", f"the child ended: {item}"
                self.process.close()
                return {"exit_code": item.exit_code}
            if item.message["kind"] == kind:
                return dict(item.message)

    def all_gone(self) -> bool:
        return marked(self.mark) == [] and not Path(self.mark.value).exists()

    def end(self) -> None:
        self.process.send({"kind": "exit"})
        assert self.until("gone") == {"exit_code": 0}
        assert self.all_gone()


def python(code: str) -> tuple[str, ...]:
    """The command that runs ``code``."""
    return (sys.executable, "-c", textwrap.dedent(code))
