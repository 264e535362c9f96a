"""JSON lines between the engine and a worker: encoding, the worker's ends of the two pipes, and its exit codes.

One message is one JSON object on one line. NaN and infinities are refused on both sides. This file belongs to the
worker's closure: standard library only, Python 3.10 grammar.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

EXIT_OK = 0
EXIT_UNUSABLE = 3
"""This interpreter cannot run trials on this device (an ``unusable`` message was sent)."""
EXIT_OUT_OF_MEMORY = 5
"""The last trial did not fit (a ``failed`` message was sent)."""
EXIT_STICKY = 6
"""The last trial left the device context broken (a ``failed`` message was sent)."""

Message = dict[str, Any]


def encode(message: Mapping[str, object]) -> bytes:
    """``message`` as one line with its line end.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of this protocol")


def decode(line: bytes | str) -> Message:
    """The message in one line.

    Raises:
        ValueError: not a JSON object with a text ``kind``.
    """
    message = json.loads(line, parse_constant=_refuse)
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):  # pyright: ignore[reportUnknownMemberType]
        raise ValueError("a message is a JSON object with a kind")
    return message  # pyright: ignore[reportUnknownVariableType]


class Outbox:
    """The worker's end of the pipe to the engine. Ends the process when nobody reads any more."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message and flush."""
        line = encode(message)
        with self._lock:
            try:
                self._stream.write(line)
                self._stream.flush()
            except OSError:
                os._exit(EXIT_OK)


class Inbox:
    """The worker's end of the pipe from the engine, read in a thread of its own.

    ``go`` and ``stop`` act at once on the trial they name; ``exit`` also stops the trial in hand; all other messages
    wait in a queue for the main thread. The end of the stream ends the process at once: the engine is gone.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._change = threading.Condition()
        self._go: set[str] = set()
        self._stop: set[str] = set()
        self._exit = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        for line in iter(self._stream.readline, b""):
            try:
                self._take(decode(line))
            except ValueError as err:
                print(f"worker: unreadable message: {err}", file=sys.stderr, flush=True)
        os._exit(EXIT_OK)

    def _take(self, message: Message) -> None:
        kind = message["kind"]
        if kind in ("go", "stop"):
            with self._change:
                (self._go if kind == "go" else self._stop).add(str(message.get("id")))
                self._change.notify_all()
            return
        if kind == "exit":
            with self._change:
                self._exit = True
                self._change.notify_all()
        self._waiting.put(message)

    def next(self) -> Message:
        """The next message for the main thread; waits for it."""
        return self._waiting.get()

    def stopped(self, trial: str) -> bool:
        """Whether the engine wants ``trial`` to end."""
        return self._exit or trial in self._stop

    def forget(self, trial: str) -> None:
        """Drop what was said of a trial that is over."""
        with self._change:
            self._go.discard(trial)
            self._stop.discard(trial)

    def wait_for_go(self, trial: str) -> bool:
        """Wait at the barrier; False if the trial was stopped there."""
        with self._change:
            self._change.wait_for(lambda: trial in self._go or self.stopped(trial))
            return not self.stopped(trial)


def private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout for the protocol (input, output).

    Afterwards descriptor 0 is empty and descriptor 1 is stderr, so that neither a body nor a library can read or
    write messages by accident.
    """
    inward = os.dup(0)
    outward = os.dup(1)
    sys.stdout.flush()
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return os.fdopen(inward, "rb"), os.fdopen(outward, "wb")
