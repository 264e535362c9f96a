# pyright: standard
"""The time axis of readings: seconds before now, in minutes and seconds with round steps."""

import numpy as np

from gputuner.gui.plots.style import FixedAxis
from gputuner.language.words import _


def clock_text(seconds: float) -> str:
    """``−4:00`` for 240 seconds before the right end, ``0`` for the end itself, hours where needed."""
    whole = round(abs(seconds))
    if whole == 0:
        return "0"
    sign = "−" if seconds < 0 else ""
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    return f"{sign}{hours}:{minutes:02d}:{second:02d}" if hours else f"{sign}{minutes}:{second:02d}"


class TimeAxis(FixedAxis):
    """A time axis in minutes and seconds with round steps."""

    def __init__(self) -> None:
        super().__init__("bottom", self._words)
        self.setStyle(hideOverlappingLabels=False)

    def _words(self, seconds: float) -> str:
        """``now`` at the right end of a picture of the last minutes."""
        if round(seconds) == 0 and self.range[1] <= 0:
            return _("now")
        return clock_text(seconds)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """Ticks at whole 10 s, 30 s, 1 min, 5 min … steps."""
        room = max(2, int(size / 56))
        raw = (maxVal - minVal) / room
        steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
        step = next((s for s in steps if s >= raw), 86400)
        first = int(np.ceil(minVal / step - 1e-9))
        return [(step, [i * step for i in range(first, int(np.floor(maxVal / step + 1e-9)) + 1)])]
