"""How far a trial is, told to the engine at most twice a second: a line on a pipe costs a few µs between timings."""

import time
from collections.abc import Callable
from typing import Any

Send = Callable[[dict[str, Any]], None]

PROGRESS_S = 0.5


class Telling:
    """The ``progress`` messages of one trial."""

    def __init__(self, send: Send, trial: str, clock: Callable[[], float] = time.monotonic) -> None:
        """``trial`` is its id; ``clock`` gives seconds."""
        self._send = send
        self._trial = trial
        self._clock = clock
        self._told_s: float | None = None
        self._phase = ""

    def say(
        self,
        phase: str,
        done_s: float,
        left_s: "float | None" = None,
        *,
        done: "int | None" = None,
        of: "int | None" = None,
        rate: "float | None" = None,
    ) -> None:
        """Tell it, unless something of this phase was told less than half a second ago.

        Args:
            phase: ``setup``, ``warmup`` or ``measure``.
            done_s: seconds of it so far.
            left_s: seconds that the trial will still take; None: not known.
            done: settings tried so far; None: it has one.
            of: of how many; None: not known.
            rate: work per second of the last window.
        """
        now_s = self._clock()
        if phase == self._phase and self._told_s is not None and now_s - self._told_s < PROGRESS_S:
            return
        self._told_s, self._phase = now_s, phase
        self._send(
            {
                "kind": "progress",
                "id": self._trial,
                "phase": phase,
                "done_s": done_s,
                "left_s": None if left_s is None else max(0.0, left_s),
                "done": done,
                "of": of,
                "rate": rate,
            }
        )
