"""Signals while a command is watched: they are the command's, not ours.

What the terminal sends (Ctrl-C, Ctrl-\\) reaches the command by itself, since it is in the terminal's foreground group
as we are; it must not come twice. What somebody sends to our process alone (``kill``, a scheduler) is passed on. Linux
tells the two apart by the sender (``si_code``); elsewhere it counts as the terminal's while we are in its foreground.
The sender is known only while no thread takes signals by itself, so they are held (``hold``) before libraries start
theirs. Signals that were ignored when we started (``nohup``) stay ignored, for us and for the command.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_NAMES = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_ENDING = {"SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"}
_KEYS = ("SIGINT", "SIGQUIT")
"""What keys of the terminal send."""
_FROM_KERNEL = 0x80
"""``SI_KERNEL`` of Linux: no process sent it."""
_CAN_WAIT = hasattr(signal, "sigwait") and hasattr(signal, "pthread_sigmask")


_held: set[int] | None = None
"""The mask from before ``hold``."""


def hold() -> None:
    """Hold the signals from now on, for this thread and all that it starts; a ``Relay`` passes them on."""
    global _held
    if _CAN_WAIT and _held is None:
        _held = _block(_wanted())


def _wanted() -> set[int]:
    found = [int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)]
    return {number for number in found if signal.getsignal(number) is not signal.SIG_IGN}


def _block(numbers: set[int]) -> set[int]:
    """Block ``numbers`` for this thread; the mask from before."""
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, numbers)}


class Relay:
    """Passes signals on to a command. Enter it in the main thread before any other thread is started."""

    def __init__(self) -> None:
        """Nothing is changed yet."""
        self._send: Callable[[int], None] | None = None
        self._early: list[int] = []
        self._numbers: set[int] = set()
        self._before: list[tuple[int, Any]] = []
        self._mask: set[int] = set()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._starting = False
        """The command may be there already, and get by itself what the terminal sends."""
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        """Take the signals; from now on they wait for a command."""
        if not self._main:
            return self
        self._numbers = _wanted()
        self._before = [(number, signal.signal(number, self._on_signal)) for number in self._numbers]
        if _CAN_WAIT:
            before = _block(self._numbers)
            self._mask = before if _held is None else _held
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        self._closing = True
        if self._thread is not None and self._thread.ident is not None:
            signal.pthread_kill(self._thread.ident, min(self._numbers))
            self._thread.join()
        if self._main and _CAN_WAIT:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number, handler in self._before:
            signal.signal(number, handler)

    def end_if_asked(self) -> None:
        """End before there is a command, if a signal has come that asks for it.

        Raises:
            KeyboardInterrupt: one has.
        """
        waiting = signal.sigpending() if self._main and _CAN_WAIT else set[int]()
        if self._early or _ENDING & {signal.Signals(number).name for number in waiting}:
            raise KeyboardInterrupt

    @contextmanager
    def as_before(self) -> Generator[None]:
        """Within, a process that is started gets the signal mask that we were started with."""
        if not self._main or not _CAN_WAIT:
            yield
            return
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)  # what has waited is taken here
        self._starting = True
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, self._numbers)
            self._starting = False

    def to(self, send: Callable[[int], None]) -> None:
        """Pass signals on by ``send``, first those that have come before the command was there."""
        self._send = send
        for number in self._early:
            send(number)
        if self._main and _CAN_WAIT and self._numbers:
            self._thread = threading.Thread(target=self._wait, name="signals", daemon=True)
            self._thread.start()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        keys = _from_keys(number)
        if self._send is not None:
            if not keys:
                self._send(number)
        elif not (self._starting and keys):
            self._early.append(number)

    def _wait(self) -> None:
        while True:
            number, ours = _next(self._numbers)
            if self._closing:
                return
            if ours and self._send is not None:
                self._send(number)


def _next(numbers: set[int]) -> tuple[int, bool]:
    """The next signal, and whether it was sent to us alone."""
    if sys.platform == "linux":
        info = signal.sigwaitinfo(numbers)
        return info.si_signo, info.si_code != _FROM_KERNEL
    number = int(signal.sigwait(numbers))
    return number, not _from_keys(number)


def _from_keys(number: int) -> bool:
    """Whether a signal may have come from keys of the terminal: it is one of theirs, and we are in the foreground."""
    if number not in {getattr(signal, name) for name in _KEYS if hasattr(signal, name)}:
        return False
    if not hasattr(os, "tcgetpgrp"):
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
