"""The helper (``gputuner --helper``): the one process that changes settings, usually as root, and does nothing else.

It reads lines from stdin (``helper_messages``) and answers on stdout. When stdin ends, by a goodbye, the death of its
parent or of the connection, and on SIGTERM and SIGHUP, it puts back what it holds and ends. What a helper that was
killed left behind, the next one puts back when it starts; ``--helper --restore`` does that and no more.

Nothing that the caller says chooses a file: the journal lies in the folder that systemd hands over
(``STATE_DIRECTORY``), else in root's or the user's own. Started by ``sudo`` or ``pkexec`` no variable of the caller
reaches it.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from gputuner.devices.control import Guard
from gputuner.devices.control_actuator import Actuator
from gputuner.devices.control_journal import Journal
from gputuner.devices.helper_desk import Desk
from gputuner.devices.helper_messages import MOST_BYTES
from gputuner.model.errors import GputunerError

TICK_S = 1.0
ROOT_FOLDER = Path("/var/lib/gputuner/control")
MOST_WAITING = 100
"""Lines that wait to be answered; what comes faster is read later."""
_LONG = b"\0"
"""Stands for a line that was too long to be kept."""


def main(arguments: Sequence[str]) -> int:
    """Serve stdin until it ends; the exit code."""
    only_restore = tuple(arguments) == ("--restore",)
    if arguments and not only_restore:
        print("gputuner --helper takes no arguments but --restore", file=sys.stderr)
        return 2
    from gputuner.devices.nvml.writes import NvmlControl

    try:
        cards = NvmlControl()
    except GputunerError as err:
        _start_failed(err)
        return int(err.exit_code)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    say = _speaker(sys.stdout.buffer)
    try:
        guard, desk = put_together(cards, Journal(state_folder(), readable=(ROOT_FOLDER,)), say)
        _mind_signals(desk, lines)
        guard.recover()
        if only_restore:
            return 0
        desk.hello()
        threading.Thread(target=_listen, args=(lines,), daemon=True).start()
        serve(guard, desk, lines)
    finally:
        cards.close()
    return 0


def state_folder() -> Path:
    """Where the journal lies."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given)
    if getattr(os, "geteuid", lambda: 1)() == 0:
        return ROOT_FOLDER
    from gputuner.settings.paths import paths

    return paths().data_dir / "control"


def serve(guard: Guard, desk: Desk, lines: "queue.SimpleQueue[bytes | None]", tick_s: float = TICK_S) -> None:
    """Answer lines until they end (None), looking after what is held in between; then put back what is held."""
    try:
        while not desk.over:
            try:
                line = lines.get(timeout=tick_s)
            except queue.Empty:
                guard.tick()
                continue
            if line is None:
                break
            desk.line(line)
            guard.tick()
    finally:
        guard.close()


def put_together(cards: Actuator, journal: Journal, say: Callable[[bytes], None]) -> tuple[Guard, Desk]:
    """A guard, and the desk that speaks for it."""
    desks: list[Desk] = []
    guard = Guard(cards, journal, tell=lambda told: desks[0].tell(told))
    desks.append(Desk(guard, say, privileged=getattr(os, "geteuid", lambda: 1)() == 0))
    return guard, desks[0]


def _speaker(stream: BinaryIO) -> Callable[[bytes], None]:
    """Writes lines; a reader that is gone is no reason to stop putting things back."""

    def say(line: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            stream.write(line)
            stream.flush()

    return say


def _listen(lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Hand over the lines of stdin; of one that is too long only that it was."""
    with open(os.dup(0), "rb") as stream:  # of its own: the interpreter closes sys.stdin when it ends
        while line := stream.readline(MOST_BYTES + 2):
            while lines.qsize() > MOST_WAITING:
                time.sleep(TICK_S / 100)
            if line.endswith(b"\n"):
                lines.put(line.rstrip(b"\r\n"))
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(MOST_BYTES)
            lines.put(_LONG)
    lines.put(None)


def _mind_signals(desk: Desk, lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Orders to end are as the end of input; Ctrl-C is for the client, which then ends the input."""

    def end(_number: int, _frame: FrameType | None) -> None:
        desk.over = True
        lines.put(None)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def _start_failed(err: GputunerError) -> None:
    """Tell the client in its own language why there is no helper."""
    from gputuner.devices.helper_desk import error_told
    from gputuner.model.codec import encode

    _speaker(sys.stdout.buffer)(encode({"id": None, "error": error_told(err)}) + b"\n")
