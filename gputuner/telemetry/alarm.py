"""A timer that one thread puts off and another waits for; putting it off wakes nobody."""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from functools import partial

_MONOTONIC, _CLOSE_ON_EXEC = 1, 0o2000000
"""CLOCK_MONOTONIC and TFD_CLOEXEC (timerfd_create(2))."""
_TIME = ctypes.c_long * 4
"""``itimerspec``: seconds and nanoseconds of the interval (none), then of the first expiry."""


class _Setting:
    """The system's call that sets a timer, made ready once; whoever waits and whoever puts off have one each."""

    def __init__(self, settime: Callable[..., int], descriptor: int) -> None:
        self._time = _TIME()
        self._call = partial(settime, descriptor, 0, ctypes.byref(self._time), None)

    def __call__(self, after_s: float) -> None:
        self._time[2], self._time[3] = divmod(round(after_s * 1e9), 1_000_000_000)
        self._call()


class Alarm:
    """Goes off once, some time after it was last put off.

    On Linux the kernel keeps the time (timerfd), so that a waiting thread sleeps on while the alarm is put off.
    Elsewhere ``put_off`` does nothing and a waiting thread simply sleeps.
    """

    def __init__(self) -> None:
        """Have a timer that is not set."""
        self._descriptor = -1
        self._put_off: _Setting | None = None
        self._wait: _Setting | None = None
        if sys.platform == "linux":
            library = ctypes.CDLL(None)
            descriptor = library.timerfd_create(_MONOTONIC, _CLOSE_ON_EXEC)
            if descriptor >= 0:
                self._descriptor = descriptor
                self._put_off, self._wait = (_Setting(library.timerfd_settime, descriptor) for _ in range(2))

    def put_off(self, after_s: float) -> None:
        """Go off ``after_s`` seconds (> 0) from now and not before; used by one thread at a time."""
        if self._put_off is not None:
            self._put_off(after_s)

    def wait(self, after_s: float) -> None:
        """Put it off by ``after_s`` seconds and wait until it goes off; used by one thread at a time."""
        if self._wait is None:
            time.sleep(after_s)
        else:
            self._wait(after_s)
            os.read(self._descriptor, 8)

    def close(self) -> None:
        """Give the timer back, when nobody waits or will put it off any more."""
        descriptor, self._descriptor, self._put_off, self._wait = self._descriptor, -1, None, None
        if descriptor >= 0:
            os.close(descriptor)
