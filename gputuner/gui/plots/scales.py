# pyright: standard
"""Scales of pictures: linear from zero, decades, and powers of two for sizes in bytes; each with its axis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, log10
from typing import Any

from gputuner.gui.plots.style import EndedAxis, even_ticks
from gputuner.language.numbers import number, tick

EVEN_TICKS = 8
"""About as many ticks on a linear scale, however large the picture."""
NEAR = 20
"""Pixels between two ticks that are named."""
TINY = 1e-300
"""Logarithms of nothing stop here."""


@dataclass(frozen=True, slots=True)
class Scale:
    """``place`` maps a value to the axis, ``text`` names a value; ``base`` of the logarithm, 0: linear.

    ``zero``: a linear scale begins there (rates, power); without it the figures fill the height (losses).
    """

    base: int
    text: Callable[[float], str]
    zero: bool = True

    def place(self, value: float) -> float:
        """Where a value lies on the axis."""
        if self.base == 2:
            return log2(max(TINY, value))
        return log10(max(TINY, value)) if self.base else value

    def value(self, place: float) -> float:
        """The value at a place."""
        return float(self.base**place) if self.base else place

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """Places of at most ``most`` ticks."""
        if not self.base:
            return even_ticks(low, high, most)
        first, last = ceil(low - 1e-9), floor(high + 1e-9)
        step = max(1, ceil((last - first + 1) / max(1, most)))
        if self.base == 2 and step > 2:
            step = ceil(step / 2) * 2
        return [float(place) for place in range(first, last + 1) if place % step == 0]


def linear(text: Callable[[float], str] = tick) -> Scale:
    """From zero, evenly."""
    return Scale(0, text)


def free(text: Callable[[float], str] = tick) -> Scale:
    """Evenly, from the lowest figure to the highest."""
    return Scale(0, text, zero=False)


def doublings(text: Callable[[float], str] = tick) -> Scale:
    """Logarithmic, in powers of two."""
    return Scale(2, text)


def decades(text: Callable[[float], str] = tick) -> Scale:
    """Logarithmic."""
    return Scale(10, text)


def sizes() -> Scale:
    """Bytes in powers of two: ``32 KiB``, ``1 GiB``."""
    return Scale(2, _size)


def _size(count: float) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{number(count / factor)} {unit}"
    return f"{number(count)} B"


class ScaleAxis(EndedAxis):
    """An axis with few round ticks of a scale."""

    def __init__(self, orientation: str, scale: Scale, room: int) -> None:
        super().__init__(orientation)
        self._scale = scale
        self._room = room
        self.last = float("inf")
        """Place of the last figure: what lies beyond has no ticks, only room for words."""
        self.wanted: tuple[float, ...] = ()
        """Places to name instead of round ones, as far as they have room."""

    def generateDrawSpecs(self, p: Any) -> Any:
        """What is drawn; the line of a bottom axis ends behind the last figure: what follows is room for words."""
        specs = super().generateDrawSpecs(p)
        low, high = self.range
        if specs is None or self.orientation != "bottom" or not low < self.last < high:
            return specs
        (pen, left, right), *others = specs
        end = left + (right - left) * ((self.last - low) / (high - low))
        return ((pen, left, end), *others)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """As many as have room; of even ones no more than are needed to read a value."""
        if self.wanted:
            return [(1.0, self._apart(size / max(1e-9, maxVal - minVal)))]
        most = max(2, int(size / self._room))
        places = self._scale.ticks(minVal, maxVal, min(most, EVEN_TICKS) if not self._scale.base else most)
        return [(1.0, [place for place in places if place <= self.last])]

    def _apart(self, pixels: float) -> list[float]:
        """The wanted places that do not touch, the largest first; ``pixels`` per unit."""
        chosen: list[float] = []
        for place in sorted(self.wanted, reverse=True):
            if not chosen or (chosen[-1] - place) * pixels > NEAR:
                chosen.append(place)
        return chosen

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Words of the values."""
        return [self._scale.text(self._scale.value(place)) for place in values]
