"""Whether the machine has been suspended."""

import time
from collections.abc import Callable

from gputuner.telemetry.schedule import NS

_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def suspended_ns() -> int:
    """Time this machine has spent suspended since boot, in ns; 0 where the system does not tell."""
    if _BOOTTIME is None:
        return 0
    return time.clock_gettime_ns(_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Suspend:
    """Looks for suspends of more than a second; two clocks that are read one after the other may seem to go back."""

    def __init__(self, slept_ns: Callable[[], int] = suspended_ns) -> None:
        """Count from now on."""
        self._slept = slept_ns
        self._known_ns = slept_ns()

    def seen(self) -> bool:
        """True if there was one since ``over_s`` was asked last."""
        return self._slept() - self._known_ns > NS

    def over_s(self) -> float | None:
        """How long the machine was suspended since this was asked last, in seconds; None if it was not."""
        slept_ns = self._slept()
        gone_s, self._known_ns = (slept_ns - self._known_ns) / NS, max(slept_ns, self._known_ns)
        return gone_s if gone_s > 1.0 else None
