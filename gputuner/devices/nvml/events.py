# pyright: standard
"""XID errors: an event set that is polled without waiting."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from gputuner.devices.nvml.binding import Binding
from gputuner.devices.nvml.errors import Failed
from gputuner.model.samples import XidSeen

_XID = 0x8
"""nvmlEventTypeXidCriticalError."""
_AT_MOST = 64
"""Events taken per poll, so that a storm cannot hold the collector."""


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


class XidWatch:
    """Listens to the XID errors of cards; NVML keeps no history from before the listening began."""

    def __init__(self, binding: Binding) -> None:
        """Open an event set where the platform has them (Linux)."""
        self._binding = binding
        found = binding.ask("nvmlEventSetCreate")
        self._set: Any = None if type(found) is Failed else found
        self._cards: dict[int, str] = {}
        self._event: Any = None
        self._wait: Callable[[], int] | None = None
        self._answered = False
        function, event = binding.pointer("nvmlEventSetWait_v2"), getattr(binding.module, "c_nvmlEventData_t", None)
        if self._set is not None and function is not None and event is not None:
            self._event = event()
            self._wait = partial(function, self._set, ctypes.byref(self._event), ctypes.c_uint(0))

    def add(self, handle: Any, uuid: str) -> None:
        """Listen to a card; cards without events are left out."""
        if self._set is None:
            return
        answer = self._binding.ask("nvmlDeviceRegisterEvents", handle, _XID, self._set)
        if type(answer) is not Failed:
            self._cards[_address(handle)] = uuid

    @property
    def made_ready(self) -> bool:
        """True if ``look`` may be called."""
        return self._wait is not None and bool(self._cards)

    def look(self) -> bool:
        """True if there is an event, which the next ``poll`` takes; never waits."""
        self._answered = self._wait is not None and not self._wait()
        return self._answered

    def poll(self, t_ns: int) -> tuple[XidSeen, ...]:
        """Errors since the last poll, stamped with ``t_ns``; never waits."""
        if self._set is None or not self._cards:
            return ()
        seen: list[XidSeen] = []
        for _ in range(_AT_MOST):
            event = self._next()
            if event is None:
                break
            uuid = self._cards.get(_address(event.device))
            if uuid is not None and event.eventType & _XID:
                seen.append(XidSeen(card=uuid, t_ns=t_ns, xid=int(event.eventData)))
        return tuple(seen)

    def _next(self) -> Any:
        """The next event, good until the one after it; None if there is none. (No exception for what is the rule.)"""
        if self._answered or self.look():
            self._answered = False
            return self._event
        if self._wait is not None:
            return None
        event = self._binding.first(("nvmlEventSetWait_v2", "nvmlEventSetWait"), self._set, 0)
        return None if type(event) is Failed else event

    def close(self) -> None:
        """Free the event set; idempotent."""
        if self._set is not None:
            self._binding.ask("nvmlEventSetFree", self._set)
        self._set = None
        self._cards.clear()
