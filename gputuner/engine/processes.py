"""A worker as a child process: start, send, end. Its messages and its death arrive in the run's inbox."""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from gputuner.engine.inbox import FromWorker, Item, WorkerGone

STDERR_TAIL_LINES = 40
LINE_LIMIT_BYTES = 4 * 2**20
"""A longer line is not ours: the worker's stream is taken as corrupt."""


class ProcessWorker:
    """One worker process in its own session, so that a terminal's SIGINT does not reach it."""

    def __init__(
        self, worker_id: str, command: Sequence[str], environment: Mapping[str, str], deliver: Callable[[Item], None]
    ) -> None:
        """Start ``command``; ``deliver`` is called from reader threads.

        Raises:
            OSError: the interpreter cannot be started.
        """
        self.id = worker_id
        self._deliver = deliver
        self._stderr: deque[str] = deque(maxlen=STDERR_TAIL_LINES)
        self._process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._stderr_reader = self._thread(self._read_stderr, "stderr")
        self._reader = self._thread(self._read, "stdout")

    def send(self, message: Mapping[str, object]) -> None:
        """Write one request; a worker that is gone is told by ``WorkerGone``, not here."""
        stdin = self._process.stdin
        assert stdin is not None
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        with contextlib.suppress(OSError, ValueError):
            stdin.write(line)
            stdin.flush()

    def terminate(self) -> None:
        """Ask the process group to end (SIGTERM)."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process group now (SIGKILL)."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def close(self) -> None:
        """Wait for the readers of a worker that has been told to end, and release its pipes."""
        self._reader.join()
        self._stderr_reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(pipe)

    def _thread(self, target: Callable[[], None], what: str) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"{self.id}-{what}", daemon=True)
        thread.start()
        return thread

    def _signal(self, number: int) -> None:
        if self._process.poll() is not None:
            return
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()
        except ProcessLookupError:
            pass

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while line := stdout.readline(LINE_LIMIT_BYTES):
            message = _parse(line)
            if message is not None:
                self._deliver(FromWorker(worker=self.id, message=message))
        code = self._process.wait()
        self._stderr_reader.join(timeout=1.0)
        self._deliver(WorkerGone(worker=self.id, exit_code=code, stderr_tail="\n".join(self._stderr)))

    def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        for line in iter(lambda: stderr.readline(2000), b""):
            self._stderr.append(line.decode("utf-8", "replace").rstrip())


def _parse(line: bytes) -> Mapping[str, object] | None:
    try:
        message: object = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and isinstance(message.get("kind"), str) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()
