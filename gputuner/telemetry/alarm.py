"""A timer that one thread puts off and another waits for; putting it off wakes nobody."""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

_MONOTONIC, _CLOSE_ON_EXEC = 1, 0o2000000
"""CLOCK_MONOTONIC and TFD_CLOEXEC (timerfd_create(2))."""
_TIME = ctypes.c_long * 4
"""``itimerspec``: seconds and nanoseconds of the interval (none), then of the first expiry."""


class Alarm:
    """Goes off once, some time after it was last put off.

    On Linux the kernel keeps the time (timerfd), so that a waiting thread sleeps on while the alarm is put off.
    Elsewhere ``put_off`` does nothing and a waiting thread simply sleeps.
    """

    def __init__(self) -> None:
        """Have a timer that is not set."""
        self._descriptor = -1
        self._settime: Callable[..., Any] | None = None
        if sys.platform == "linux":
            library = ctypes.CDLL(None)
            self._descriptor = library.timerfd_create(_MONOTONIC, _CLOSE_ON_EXEC)
            self._settime = library.timerfd_settime if self._descriptor >= 0 else None

    def put_off(self, after_s: float) -> None:
        """Go off ``after_s`` seconds (> 0) from now and not before."""
        if self._settime is not None:
            whole_s, ns = divmod(round(after_s * 1e9), 1_000_000_000)
            self._settime(self._descriptor, 0, _TIME(0, 0, whole_s, ns), None)

    def wait(self, after_s: float) -> None:
        """Put it off by ``after_s`` seconds and wait until it goes off; used by one thread at a time."""
        if self._settime is None:
            time.sleep(after_s)
        else:
            self.put_off(after_s)
            os.read(self._descriptor, 8)

    def close(self) -> None:
        """Give the timer back, when nobody waits or will put it off any more."""
        descriptor, self._descriptor, self._settime = self._descriptor, -1, None
        if descriptor >= 0:
            os.close(descriptor)
