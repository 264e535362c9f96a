"""The shapes of matrix products that a search may try: grid, largest work, results that fill whole waves of tiles."""

import math
import random
from collections.abc import Iterator

Shape = tuple[int, int, int, bool]
"""m, n, k, and whether B is stored transposed (its k contiguous)."""

SHORTEST = 0.12
"""Smallest m and n that are tried, as a share of the largest: shorter ones leave SMs idle or wait for memory."""
TILE = (128, 256)
"""Tiles of the libraries' large kernels; smaller ones divide them, so that what fills waves of these fills theirs."""
FILLED = 0.985
"""Least share of the SMs' time in waves of tiles that is used, for results that count as filling whole waves."""
ANYWHERE = 4
"""One result in so many lies anywhere, whether it fills its waves or not."""


def radical_inverse(number: int, base: int) -> float:
    """The ``number``-th term of the van der Corput sequence in ``base``, in [0, 1): fills an interval evenly."""
    value, share = 0.0, 1.0
    while number:
        share /= base
        number, digit = divmod(number, base)
        value += digit * share
    return value


def filled(m: int, n: int, sm_count: int) -> float:
    """Share of the SMs' time that the tiles of an m × n result use when they run in waves of ``sm_count``."""
    tiles = math.ceil(m / TILE[0]) * math.ceil(n / TILE[1])
    return tiles / (math.ceil(tiles / sm_count) * sm_count)


class ShapeSpace:
    """Sides in multiples of ``step`` up to ``top``; no shape exceeds ``largest_flop`` by more than rounding to steps.

    ``sm_count`` None: not known, or a processor; then no result is preferred.
    """

    def __init__(self, *, top: int, step: int, largest_flop: float, sm_count: "int | None") -> None:
        self.top = top
        self._step = step
        self._most = largest_flop / 2.0
        self._sm_count = sm_count

    @property
    def results(self) -> int:
        """How many m × n there are."""
        return (self.top // self._step) ** 2

    def fitted(self, m: float, n: float, k: float, transposed: bool) -> Shape:
        """The shape in whole steps; where it is too much work, k is shortened first, to a quarter at least."""
        k = min(k, max(k / 4.0, self._most / (m * n)))
        scale = min(1.0, (self._most / (m * n * k)) ** (1 / 3))
        steps = [max(1, min(self.top // self._step, int(side * scale / self._step + 0.5))) for side in (m, n, k)]
        return (steps[0] * self._step, steps[1] * self._step, steps[2] * self._step, transposed)

    def sides(self, random_: random.Random) -> "Iterator[tuple[float, float]]":
        """Endless: m × n, most of which fill whole waves, the others spread evenly over the whole range."""
        whole = self._whole()
        random_.shuffle(whole)
        number = 0
        while True:
            for _ in range(min(len(whole), ANYWHERE - 1)):
                yield whole.pop()
            number += 1
            m, n = (SHORTEST + (1.0 - SHORTEST) * radical_inverse(number, base) for base in (2, 3))
            yield (m * self.top, n * self.top)

    def _whole(self) -> "list[tuple[float, float]]":
        if not self._sm_count:
            return []
        steps = range(max(1, round(SHORTEST * self.top / self._step)), self.top // self._step + 1)
        sides = [step * self._step for step in steps]
        return [(m, n) for m in sides for n in sides if filled(m, n, self._sm_count) >= FILLED]
