import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gputuner.workloads.launch import worker_command, worker_environment

Message = dict[str, Any]
START = "sys.exit(main("


class WorkerProcess:
    """A real worker, spoken to as the engine does."""

    def __init__(
        self,
        python: str = sys.executable,
        device: str = "cpu",
        cap: int | None = None,
        options: tuple[str, ...] = (),
        before_boot: str = "",
        before_start: str = "",
        memory_probe: bool = True,
    ) -> None:
        """Start it.

        ``before_boot``: Python that runs first of all; ``before_start``: Python that runs in the worker's process just
        before its main, to shelve further bodies.
        """
        command = worker_command(python, device, cap)
        assert START in command[2]
        command[2] = before_boot + command[2].replace(START, before_start + START)
        self.process = subprocess.Popen(
            [command[0], *options, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=worker_environment("cpu", os.environ, memory_probe=memory_probe),
        )

    def send(self, **message: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Message:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr
            raise EOFError(self.process.stderr.read().decode())
        return json.loads(line)

    def until(self, *kinds: str) -> Message:
        while True:
            message = self.receive()
            if message["kind"] in kinds:
                return message

    def trial(self, workload: str, params: dict[str, object], **more: object) -> Message:
        """Run one trial to its end; its ``result`` or ``failed``."""
        self.ask(workload, params, **more)
        return self.until("result", "failed")

    def ask(self, workload: str, params: dict[str, object], **more: object) -> None:
        message = {"measure_s": 0.1, "budget_s": 300.0, "warmup_s": 0.0, "barrier": False, "seed": 3, "id": "t", **more}
        self.send(kind="trial", workload=workload, params=params, **message)

    def wait(self) -> int:
        return self.process.wait(timeout=600)

    def close(self) -> None:
        with self.process as process:
            process.kill()


@pytest.fixture
def start_worker() -> Iterator[Callable[..., WorkerProcess]]:
    started: list[WorkerProcess] = []

    def start(**options: Any) -> WorkerProcess:
        started.append(WorkerProcess(**options))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    """One worker for all tests of a module that leave it alive; its ready message is taken."""
    process = WorkerProcess()
    process.until("ready")
    yield process
    process.close()
