"""Find the shape of a matrix product that a chip computes fastest, with few and noisy timings.

Method. On an H200 the rate of a product m × k by k × n is nearly f(m, n) · g(k): g saturates for long k, while f jumps
with how tiles fill the SMs and how much power they draw, and 2 to 7 % of all (m, n) lie within 1 % of the best
(measured over all 262 144 shapes, docs/measurements/gemm-shapes.md). So neither a grid nor a descent along one axis
serves best, but: (1) shapes spread evenly over the whole range, once each; (2) again and again the leaders, and shapes
next to them; (3) the last few interleaved, until time is up. A card under a power cap gets slower and faster with what
ran before; interleaving in random order gives every leader the same share of that.
"""

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

Shape = tuple[int, int, int, bool]
"""m, n, k, and whether B is stored transposed (its k contiguous)."""

SPREAD_UNTIL, NEAR_UNTIL = 0.6, 0.3
"""Shares of the time left at which spreading out and looking near the leaders end."""
LEADERS_FIRST, LEADERS, PARENTS, FINALISTS = 100, 15, 4, 10
ANCHOR_EVERY = 10
"""One timing in so many is of the same shape as ever, so that what heat and power change can be divided out."""
NOISE = 0.015
"""Relative scatter of a single timing on a power-capped card; one timing counts as that much worse than it looks."""
SHORTEST = 0.12
"""Smallest side that is tried, as a share of the largest: shorter ones leave SMs idle or wait for memory."""
LONG_K = 0.5
"""Smallest k that is tried, as a share of the largest."""


@dataclass(slots=True)
class Candidate:
    """A shape and the rates measured so far, as shares of what the anchor shape gave around that time."""

    shape: Shape
    rates: "list[float]" = field(default_factory=lambda: [])
    flop_per_s: "list[float]" = field(default_factory=lambda: [])
    """The same as measured."""

    def score(self) -> float:
        """The median rate, less what chance may have added to it."""
        return statistics.median(self.rates) * (1.0 - NOISE / len(self.rates) ** 0.5)


def radical_inverse(number: int, base: int) -> float:
    """The ``number``-th term of the van der Corput sequence in ``base``, in [0, 1): fills an interval evenly."""
    value, share = 0.0, 1.0
    while number:
        share /= base
        number, digit = divmod(number, base)
        value += digit * share
    return value


class ShapeSearch:
    """One search. ``rate_of`` measures a shape once, in FLOP/s; ``left`` tells the share of the time that is left."""

    def __init__(
        self,
        rate_of: "Callable[[Shape], float]",
        left: "Callable[[], float]",
        *,
        largest_flop: float,
        top: int = 16384,
        step: int = 256,
        layouts: "tuple[bool, ...]" = (False, True),
        seed: int = 0,
    ) -> None:
        self._rate_of = rate_of
        self._left = left
        self._largest_flop = largest_flop
        self._steps = top // step
        self._step = step
        self._layouts = layouts
        self._random = random.Random(seed)
        self._known: dict[Shape, Candidate] = {}
        self._anchor = self._proposal(1)
        self._pace: list[float] = []
        self._count = 0

    def run(self) -> "list[Candidate]":
        """All that were measured, the best first; the first ones were measured most often."""
        self._spread()
        self._near()
        self._finals()
        return self._ranking()

    def _ranking(self) -> "list[Candidate]":
        return sorted(self._known.values(), key=Candidate.score, reverse=True)

    def _measure(self, shape: Shape) -> None:
        if self._count % ANCHOR_EVERY == 0:
            self._take(self._anchor)
        self._take(shape)

    def _take(self, shape: Shape) -> None:
        self._count += 1
        rate = self._rate_of(shape)
        if shape == self._anchor:
            self._pace.append(rate)
        candidate = self._known.setdefault(shape, Candidate(shape))
        candidate.flop_per_s.append(rate)
        candidate.rates.append(rate / statistics.median(self._pace[-5:]))

    def _spread(self) -> None:
        number = 0
        while (self._left() > SPREAD_UNTIL or len(self._known) < 2) and number < self._steps**3:
            number += 1
            shape = self._proposal(number)
            if shape not in self._known:
                self._measure(shape)

    def _proposal(self, number: int) -> Shape:
        shares = [radical_inverse(number, base) for base in (2, 3, 5)]
        m, n = (SHORTEST + (1.0 - SHORTEST) * share for share in shares[:2])
        k = LONG_K + (1.0 - LONG_K) * shares[2]
        return self._fitted(
            m * self._steps, n * self._steps, k * self._steps, self._layouts[number % len(self._layouts)]
        )

    def _fitted(self, m: float, n: float, k: float, transposed: bool) -> Shape:
        """The shape in whole steps, scaled down to the largest work that one timing may take."""
        flop = 2.0 * m * n * k * self._step**3
        scale = min(1.0, (self._largest_flop / flop) ** (1 / 3))
        sides = [max(1, min(self._steps, round(side * scale))) * self._step for side in (m, n, k)]
        return (sides[0], sides[1], sides[2], transposed)

    def _near(self) -> None:
        """Fewer and fewer leaders, each round timed once more, and shapes next to the best."""
        start = self._left()
        while (left := self._left()) > NEAR_UNTIL:
            share = (left - NEAR_UNTIL) / max(start - NEAR_UNTIL, 1e-9)
            leaders = self._ranking()[: round(LEADERS + (LEADERS_FIRST - LEADERS) * share)]
            self._random.shuffle(leaders)
            for leader in leaders:
                self._measure(leader.shape)
                if self._left() <= NEAR_UNTIL:
                    return
            for leader in self._ranking()[:PARENTS]:
                self._measure(self._neighbour(leader.shape))

    def _neighbour(self, shape: Shape) -> Shape:
        """One or two steps along one or more sides, sides swapped, or the other layout."""
        m, n, k, transposed = shape
        kind = self._random.randrange(8)
        if kind == 0:
            return (n, m, k, transposed)
        if kind == 1:
            return (m, n, k, self._random.choice(self._layouts))
        if kind == 2:
            longer = self._random.uniform(k / self._step, self._steps)
            return self._fitted(m / self._step, n / self._step, longer, transposed)
        moves = [self._random.randint(-2, 2) for _ in range(3)]
        sides = (side / self._step + move for side, move in zip((m, n, k), moves, strict=True))
        m, n, k = (max(1.0, side) for side in sides)
        return self._fitted(m, n, k, transposed)

    def _finals(self) -> None:
        while self._left() > 0.0:
            finalists = self._ranking()[:FINALISTS]
            self._random.shuffle(finalists)
            for finalist in finalists:
                self._measure(finalist.shape)
