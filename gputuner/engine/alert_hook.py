"""The user's command that alerts run: apart from us, one at a time for each alert, ended at its time-out.

It gets the alert as JSON on stdin and in variables ``GPUTUNER_*``; what it writes goes to a log that does not grow
beyond ``LOG_BYTES``. It runs as the user who runs gputuner, in a session of its own. Nobody ever waits for it but
``close``: telemetry and window go on. A kind of failure is told once.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gputuner.engine.spawned import Spawned, spawn

LOG_BYTES = 256 * 1024
"""A log that is larger when a hook begins makes way for a new one."""
KEPT_BYTES = 16 * 1024
"""Of what one hook writes so much is kept; the rest is read and dropped, so that it never has to wait."""
ENDS_WITHIN_S = 2.0
LOOK_S = 0.2
MOST_AT_ONCE = 16
_PIECE = 65536

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    """How one run of the hook went.

    ``trouble``: ``""`` where all was well, else ``missing``, ``forbidden``, ``failed`` (``exit_code`` tells, below 0: a
    signal), ``timed_out``, ``crowded`` (too many hooks ran) or ``cut_short`` (we end, so it was ended before its time).
    """

    trouble: str = ""
    exit_code: int | None = None
    message: str = ""


Told = Callable[[HookEnded], None]


class Hooks:
    """Runs one command for alerts. Every method returns at once but ``close`` and ``wait``."""

    def __init__(self, argv: Sequence[str], timeout_s: float, log: Path, tell: Told) -> None:
        """``argv``: program and arguments, no shell. ``tell`` gets each kind of trouble once, from a thread of ours."""
        self._argv = list(argv)
        self._timeout_s = timeout_s
        self._log = log
        self._tell = tell
        self._changed = threading.Condition()
        self._running: set[Key] = set()
        self._waiting: dict[Key, tuple[Mapping[str, object], Mapping[str, str]]] = {}
        self._told: set[str] = set()
        self._closed = False
        self._hurried = threading.Event()
        """Hooks that run are to be ended."""

    def run(self, key: Key, document: Mapping[str, object], variables: Mapping[str, str]) -> None:
        """Run it for the alert ``key``; while it runs for the same alert only the newest call waits."""
        with self._changed:
            if self._closed or not self._argv:
                return
            if key in self._running:
                self._waiting[key] = document, variables
                return
            crowded = len(self._running) >= MOST_AT_ONCE
            if not crowded:
                self._running.add(key)
        if crowded:
            self._trouble(HookEnded(trouble="crowded"))
            return
        threading.Thread(target=self._serve, args=(key, document, variables), name="alert hook", daemon=True).start()

    def try_once(self, document: Mapping[str, object], variables: Mapping[str, str]) -> HookEnded:
        """Run it now and wait for its end, at most for its time-out and what ending it takes."""
        return self._once(document, variables)

    def wait(self, timeout_s: float) -> bool:
        """Wait until none runs; True if that came within ``timeout_s``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, timeout_s)

    def retire(self) -> dict[Key, tuple[Mapping[str, object], Mapping[str, str]]]:
        """Start none any more and leave those that run their time; what waited, for whoever runs hooks now."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, {}
        return waiting

    def close(self, grace_s: float = ENDS_WITHIN_S) -> None:
        """Start none any more, give those that run ``grace_s``, then end them; idempotent."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
        if not self.wait(grace_s):
            self._hurried.set()
            self.wait(3 * ENDS_WITHIN_S)

    def _serve(self, key: Key, document: Mapping[str, object], variables: Mapping[str, str]) -> None:
        following: tuple[Mapping[str, object], Mapping[str, str]] | None = document, variables
        while following is not None:
            self._trouble(self._once(*following))
            with self._changed:
                following = self._waiting.pop(key, None)
                if following is None:
                    self._running.discard(key)
                    self._changed.notify_all()

    def _trouble(self, ended: HookEnded) -> None:
        if not ended.trouble:
            return
        with self._changed:
            known = ended.trouble in self._told
            self._told.add(ended.trouble)
        if not known:
            self._tell(ended)

    def _once(self, document: Mapping[str, object], variables: Mapping[str, str]) -> HookEnded:
        try:
            process = spawn(self._argv, {**os.environ, **variables})
        except FileNotFoundError as error:
            return HookEnded(trouble="missing", message=error.strerror or str(error))
        except (OSError, ValueError) as error:
            return HookEnded(trouble="forbidden", message=getattr(error, "strerror", None) or str(error))
        return self._follow(process, json.dumps(document, allow_nan=False).encode() + b"\n")

    def _follow(self, process: Spawned, data: bytes) -> HookEnded:
        """Feed and drain it until it ends or its time is over."""
        assert process.stdin is not None
        assert process.stdout is not None
        kept = bytearray()
        threads = [
            threading.Thread(target=_feed, args=(process.stdin, data), daemon=True),
            threading.Thread(target=_drain, args=(process.stdout, kept), daemon=True),
        ]
        for thread in threads:
            thread.start()
        until_s = time.monotonic() + self._timeout_s
        code, late = None, False
        while code is None and not late:
            late = time.monotonic() >= until_s or self._hurried.is_set()
            with suppress(subprocess.TimeoutExpired):
                code = _end(process) if late else process.wait(min(LOOK_S, max(0.0, until_s - time.monotonic())))
        threads[1].join(ENDS_WITHIN_S)  # what it left in the background may hold its output open
        self._write(bytes(kept[:KEPT_BYTES]))
        if late:
            return HookEnded(trouble="cut_short" if self._hurried.is_set() else "timed_out", exit_code=code)
        return HookEnded(trouble="failed" if code else "", exit_code=code)

    def _write(self, said: bytes) -> None:
        if not said:
            return
        with self._changed, suppress(OSError):  # a full disk is no reason to stop an alert
            self._log.parent.mkdir(parents=True, exist_ok=True)
            if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
                self._log.replace(self._log.with_name(f"{self._log.name}.1"))
            with self._log.open("ab") as file:
                file.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode() + said.rstrip(b"\n") + b"\n")


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError), stream:  # it need not read what we tell it
        stream.write(data)


def _drain(stream: IO[bytes], kept: bytearray) -> None:
    with suppress(OSError, ValueError), stream:
        while piece := os.read(stream.fileno(), _PIECE):
            if len(kept) < KEPT_BYTES:
                kept += piece


def _end(process: Spawned) -> int | None:
    """End it and its group; its exit code, None if even that cannot end it. Nobody else may wait for it meanwhile."""
    _signal_group(process.pid, signal.SIGTERM)
    until_s = time.monotonic() + ENDS_WITHIN_S
    while not _over(process) and time.monotonic() < until_s:
        time.sleep(0.02)
    _signal_group(
        process.pid, getattr(signal, "SIGKILL", signal.SIGTERM)
    )  # not reaped yet: the number is still its own
    with suppress(subprocess.TimeoutExpired):
        return process.wait(ENDS_WITHIN_S)
    return None


def _over(process: Spawned) -> bool:
    """True once it has ended; where the system can, without reaping it."""
    if sys.platform == "win32":
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _signal_group(pid: int, number: int) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)
