"""Our child that runs a command of the user's as a job beside others: it speaks the worker's protocol.

States: ``ready`` → *started* (the command runs) → ``armed`` (its steps are steady, or none was seen within the time
given to it) → *measuring* → ``result`` or ``failed`` → *ending* → gone. The command ends with us on every path:
``exit``, the end of stdin (gputuner is gone, killed too), SIGTERM.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from gputuner.analysis.commanded import StepLine, Stretch, steady, step_lines, stretch
from gputuner.engine.commanded_log import keep_small, ran_out, tail
from gputuner.engine.commanded_tree import Mark, Tree, adopt_orphans
from gputuner.engine.watched_records import read_records
from gputuner.workloads.bodies.host_use import processor_times, share_in_use
from gputuner.workloads.observed.environment import FOLDER, injected
from gputuner.workloads.wire import EXIT_OK, EXIT_OUT_OF_MEMORY, Message, decode, encode, private_pipes

LOOK_S = 0.2
WARMUP_S = 2.0
QUIETED_S = 3.0
"""Within this time a client of MPS ends that its server has let go."""
LEAST_STEPS = 3
"""A window is made longer until it holds so many steps, within the trial's budget."""
SETTLES_S = 10.0
"""A command that steps at an uneven pace for so long after ``warmup_s`` is measured all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A ``trial`` message for a command."""

    id: str
    argv: tuple[str, ...]
    folder: Path | None
    log: Path
    records: Path
    measure_s: float
    budget_s: float
    warmup_s: float
    patience_s: float
    """Without a step for so long after its start it is taken to make none that can be seen."""
    grace_s: float

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "Order":
        """The order in a message of the engine."""
        command: Mapping[str, Any] = message["command"]
        warmup_s = message.get("warmup_s")
        return cls(
            id=str(message["id"]),
            argv=tuple(str(word) for word in command["argv"]),
            folder=Path(command["folder"]) if command.get("folder") else None,
            log=Path(command["log"]),
            records=Path(command["records"]),
            measure_s=float(message["measure_s"]),
            budget_s=float(message["budget_s"]),
            warmup_s=WARMUP_S if warmup_s is None else float(warmup_s),
            patience_s=float(command["patience_s"]),
            grace_s=float(command["grace_s"]),
        )


class Ending(Exception):
    """The engine wants the end, or is gone; ``hurry``: at once."""


class Told:
    """Our end of the pipe to the engine."""

    def __init__(self, stream: BinaryIO) -> None:
        """Write to ``stream``."""
        self._stream = stream

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message and flush.

        Raises:
            Ending: nobody reads any more; the command has to end, so this is no end of ours at once.
        """
        try:
            self._stream.write(encode(message))
            self._stream.flush()
        except OSError as err:
            raise Ending from err


class Requests:
    """What the engine says, read in a thread; None: it is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        """Read ``stream`` until it ends."""
        self._waiting: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._stream = stream
        self.hurry = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def next(self, wait_s: float | None = None) -> Message | None:
        """The next message, or None after ``wait_s``.

        Raises:
            Ending: the engine wants the end, or is gone.
        """
        try:
            message = self._waiting.get(timeout=wait_s)
        except queue.Empty:
            return None
        if message is None or message["kind"] == "exit":
            raise Ending
        return message

    def terminate(self, _number: int, _frame: FrameType | None) -> None:
        """SIGTERM: end, and wait for nothing."""
        self.hurry = True
        self._waiting.put(None)

    def _read(self) -> None:
        for line in iter(self._stream.readline, b""):
            try:
                self._waiting.put(decode(line))
            except ValueError as err:
                print(f"command: unreadable message: {err}", file=sys.stderr, flush=True)
        self._waiting.put(None)


class Commanded:
    """Performs one order."""

    def __init__(self, order: Order, tree: Tree, requests: Requests, outbox: Told) -> None:
        """The command runs as ``tree``."""
        self._order = order
        self._tree = tree
        self._requests = requests
        self._outbox = outbox
        self._started_s = time.monotonic()
        self._read: dict[Path, tuple[int, tuple[StepLine, ...]]] = {}

    def perform(self) -> int:
        """Until the engine wants the end; the exit code of this child.

        Raises:
            Ending: that is now.
        """
        if not self._warm():
            return self._ended()
        self._outbox.send({"kind": "armed", "id": self._order.id})
        while (message := self._requests.next(LOOK_S)) is None or message["kind"] not in ("go", "stop"):
            if self._look_failed():
                return self._ended()
        if message["kind"] == "go" and not self._measure():
            return self._ended()
        while True:
            self._requests.next(None)

    def _warm(self) -> bool:
        """Wait until it is steady; False if it has ended."""
        order, stepping_s = self._order, None
        while not self._look_failed():
            lines = self._lines()
            passed_s = time.monotonic() - self._started_s
            if steady(lines, order.warmup_s):
                return True
            if len(lines) > 1 and stepping_s is None:
                stepping_s = passed_s
            if passed_s > order.patience_s:
                return True
            if (
                stepping_s is not None
                and passed_s > stepping_s + order.warmup_s + SETTLES_S
                and len(lines) > LEAST_STEPS
            ):
                return True
            self._progress("warmup", passed_s)
            self._requests.next(LOOK_S)
        return False

    def _measure(self) -> bool:
        """Measure and tell; False if it has ended before."""
        order = self._order
        begun_ns, begun_unix_s, host = time.monotonic_ns(), time.time(), processor_times()
        seen = len(self._lines()) > 1
        least_s, most_s = order.measure_s, max(order.measure_s, order.budget_s)
        while (passed_s := (time.monotonic_ns() - begun_ns) / 1e9) < most_s:
            if self._look_failed():
                return False
            if passed_s >= least_s:
                found = stretch(self._lines(), begun_unix_s)
                if not seen or (found is not None and len(found.step_s) >= LEAST_STEPS):
                    break
            self._progress("measure", passed_s, max(0.0, least_s - passed_s))
            self._requests.next(LOOK_S)
        ended_ns = time.monotonic_ns()
        busy = share_in_use(host, processor_times())
        result = self._result(stretch(self._lines(), begun_unix_s), begun_ns, ended_ns)
        notes = self._notes() | ({} if busy is None else {"host_busy": round(busy, 3)})
        self._outbox.send({**result, "too_slow": passed_s >= most_s > least_s, "notes": {**notes, **result["notes"]}})
        return True

    def _result(self, found: Stretch | None, begun_ns: int, ended_ns: int) -> dict[str, Any]:
        """The trial, from the first to the last whole step of the window; without steps the window as it was."""
        offset_ns = time.time_ns() - time.monotonic_ns()
        trained = next(iter(read_records(self._order.records)), None)
        memory = {
            name: value
            for name in ("allocated_peak_bytes", "reserved_peak_bytes", "rss_peak_bytes")
            if trained is not None and (value := getattr(trained, name)) is not None
        }
        result: dict[str, Any] = {"kind": "result", "id": self._order.id, "memory": memory}
        if found is None:
            return {**result, "iteration_s": [], "t0_ns": begun_ns, "t1_ns": ended_ns, "notes": {"steps_seen": False}}
        samples = found.samples_per_step
        return {
            **result,
            "iteration_s": list(found.step_s),
            "t0_ns": int(found.begun_s * 1e9) - offset_ns,
            "t1_ns": int(found.ended_s * 1e9) - offset_ns,
            "work": {} if samples is None else {"samples": samples},
            "steady": steady(self._lines(), 0.0),
            "notes": {"steps_seen": True, "other_share": round(found.other_share, 4)},
        }

    def _notes(self) -> dict[str, object]:
        """What its hooks told of how it trains."""
        trained = next(iter(read_records(self._order.records)), None)
        if trained is None:
            return {}
        told = {"optimizer": trained.optimizer, "autocast": trained.autocast, "threads": trained.threads}
        known: dict[str, object] = {name: value for name, value in told.items() if value is not None}
        return {**known, "ranks": trained.world_size or 1, "by_batches": trained.by_batches}

    def _lines(self) -> tuple[StepLine, ...]:
        """Those of the process that has made most steps."""
        for file in self._order.records.glob("*.jsonl"):
            size = file.stat().st_size
            if file not in self._read or self._read[file][0] != size:
                self._read[file] = size, step_lines(file.read_bytes().split(b"\n"))
        found = [lines for _, lines in self._read.values()]
        return max(found, key=lambda lines: sum(line.steps for line in lines), default=())

    def _look_failed(self) -> bool:
        """Whether the command has ended."""
        keep_small(self._order.log)
        return self._tree.exit_code is not None

    def _ended(self) -> int:
        """Tell that the command has ended by itself, and wait for the engine; the exit code of this child."""
        code, words = self._tree.exit_code or 0, tail(self._order.log)
        how = signal.Signals(-code).name if -code in signal.valid_signals() and code < 0 else f"exit code {code}"
        out_of_memory = code != 0 and ran_out(words)
        error = "out_of_memory" if out_of_memory else "command_failed" if code else "command_ended"
        self._outbox.send({"kind": "failed", "id": self._order.id, "error": error, "message": how, "traceback": words})
        if out_of_memory:
            return EXIT_OUT_OF_MEMORY
        while True:
            self._requests.next(None)

    def _progress(self, phase: str, done_s: float, left_s: float | None = None) -> None:
        message = {"kind": "progress", "id": self._order.id, "phase": phase, "done_s": round(done_s, 3)}
        self._outbox.send(message if left_s is None else {**message, "left_s": round(left_s, 3)})


def main(_argv: Sequence[str]) -> int:
    """Serve one order; the exit code."""
    inward, outward = private_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    requests, outbox = Requests(inward), Told(outward)
    signal.signal(signal.SIGTERM, requests.terminate)
    try:
        outbox.send({"kind": "ready", "pid": os.getpid()})
        while (message := requests.next(None)) is None or message["kind"] != "trial":
            pass
    except Ending:
        return EXIT_OK
    return _serve(Order.from_message(message), requests, outbox)


def _serve(order: Order, requests: Requests, outbox: Told) -> int:
    environment = injected(os.environ, str(order.records))
    environment.setdefault("PYTHONUNBUFFERED", "1")  # its last words are to stand in the log when it is ended
    try:
        tree = Tree(order.argv, environment, order.folder, order.log, Mark(name=FOLDER, value=str(order.records)))
    except OSError as err:
        message = f"{order.argv[0]}: {err.strerror or err}"
        return _refuse(order, message, requests, outbox)
    try:
        outbox.send({"kind": "started", "pid": tree.pid})
        return Commanded(order, tree, requests, outbox).perform()
    except Ending:
        return EXIT_OK
    finally:
        tree.end(order.grace_s, lambda: requests.hurry, lambda pids: _tell_stubborn(pids, outbox))


def _tell_stubborn(pids: Sequence[int], outbox: Told) -> float:
    """Let the engine quiet what is about to be killed, where its server may be hurt by that; seconds to wait for it."""
    if "CUDA_MPS_PIPE_DIRECTORY" not in os.environ:
        return 0.0
    try:
        outbox.send({"kind": "stubborn", "pids": list(pids)})
    except Ending:
        return 0.0
    return QUIETED_S


def _refuse(order: Order, message: str, requests: Requests, outbox: Told) -> int:
    try:
        outbox.send({"kind": "failed", "id": order.id, "error": "command_not_started", "message": message})
        while True:
            requests.next(None)
    except Ending:
        return EXIT_OK
