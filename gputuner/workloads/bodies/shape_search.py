"""Find the shape of a matrix product that a chip computes fastest, with few and noisy timings.

Method. On an H200 the rate of a product m × k by k × n is nearly f(m, n) · g(k): g saturates for long k, while f jumps
with how tiles fill the SMs and how much power they draw; 0.7 % (BF16) to 9 % (TF32) of all (m, n) lie within 1 % of the
best, and nine in ten of these use 98.5 % of their waves of tiles or more (measured over all 262 144 shapes,
docs/measurements/gemm-shapes.md). Neighbours say little of each other, so nothing descends along an axis:

1. a few products tell how long k must be and which layout of B is faster;
2. at that k, many (m, n), once each: three in four fill whole waves, the others lie anywhere (``shape_space``);
3. the better half of them again and again, ever fewer until time is up, so that each halving gets the same time
   (successive halving, Karnin et al., ICML 2013); twice the leaders are joined by their like: sides swapped, other
   lengths of k, the other layout.

A card under a power cap gets slower and faster with what ran before. Every round times each of its shapes once, in
random order, under unbroken load, so that all get the same share of that; each timing counts relative to the pace of
those before it.
"""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gputuner.workloads.bodies.shape_space import Shape, ShapeSpace

PROBED_UNTIL, SPREAD_UNTIL = 0.95, 0.72
"""Shares of the time left at which the first two parts of the search end."""
LONG_K = (1.0, 0.8125, 0.5, 0.25)
"""Lengths of k that are probed, as shares of the largest side."""
PROBES, MARGIN = 4, 0.015
"""How often each length of k is probed, and how much a shorter one must gain: a long k hides the ends of a product."""
LAST = 4
"""So many are timed until the end."""
VISITS, CATCH_UP = (36, 12), 4
"""When so many are left, the best third brings its like, timed so often before it competes."""
LENGTHS = (1.25, 0.9)
"""Other lengths of k of a leader's like, as multiples of its own."""
BURST_LONGEST_S = 0.01
"""In bursts a product should not take longer: one untimed and one timed fit into a burst."""
IN_BURSTS: "dict[str, Any]" = {"last": 3, "finals": 0.3, "visits": (18, 6), "catch_up": 2}
"""A search in bursts: a quarter as many timings, which scatter little, and enough of the best for an interval."""
CHUNK = 24
"""Shapes timed in one go."""
FAR = 0.04
"""Timings further from their shape's median than this are drawn in: the card had rested, or was disturbed."""
PACE_GAIN = 0.06
"""Weight of one timing in the pace."""
NOISE = 0.015
"""Relative scatter of a timing on a power-capped card; a mean of n counts as that much over √n worse than it looks."""


@dataclass(slots=True)
class Candidate:
    """A shape and the rates measured so far, as multiples of the pace of that time."""

    shape: Shape
    rates: "list[float]" = field(default_factory=lambda: [])
    flop_per_s: "list[float]" = field(default_factory=lambda: [])
    """The same as measured."""

    def mean(self) -> float:
        """The mean rate, far timings drawn in."""
        middle = statistics.median(self.rates)
        low, high = middle * (1.0 - FAR), middle * (1.0 + FAR)
        return statistics.fmean(min(high, max(low, rate)) for rate in self.rates)

    def score(self) -> float:
        """The mean rate, less what chance may have added to it."""
        return self.mean() * (1.0 - NOISE / len(self.rates) ** 0.5)


def ranked(candidates: "Sequence[Candidate]") -> "list[Candidate]":
    """Best score first."""
    return sorted(candidates, key=Candidate.score, reverse=True)


class ShapeSearch:
    """One search. ``rates_of`` times shapes one after the other, in FLOP/s; ``left``: share of the time left.

    ``last``: so many are timed until the end; ``finals``: share of the time that is theirs alone. ``visits``,
    ``catch_up``: as ``VISITS`` and ``CATCH_UP``, fewer where timings are few and scatter little.
    """

    def __init__(
        self,
        rates_of: "Callable[[Sequence[Shape]], Sequence[float]]",
        left: "Callable[[], float]",
        *,
        largest_flop: float,
        top: int = 16384,
        step: int = 256,
        layouts: "tuple[bool, ...]" = (False, True),
        sm_count: "int | None" = None,
        seed: int = 0,
        last: int = LAST,
        finals: float = 0.0,
        visits: "Sequence[int]" = VISITS,
        catch_up: int = CATCH_UP,
    ) -> None:
        self._rates_of = rates_of
        self._left = left
        self._space = ShapeSpace(top=top, step=step, largest_flop=largest_flop, sm_count=sm_count)
        self._layouts = layouts
        self._random = random.Random(seed)
        self._known: dict[Shape, Candidate] = {}
        self._pace = 0.0
        self._last, self._finals = last, finals
        self._visits, self._catch_up = list(visits), catch_up

    def run(self) -> "list[Candidate]":
        """All that were measured: those that were timed until the end first, best first; then the others."""
        k, layout = self._probe()
        self._spread(k, layout)
        finalists = self._narrow()
        last = {candidate.shape for candidate in finalists}
        return finalists + ranked([c for c in self._known.values() if c.shape not in last])

    def _measure(self, shapes: "Sequence[Shape]", until: float) -> bool:
        """Time each shape once, in random order; False: ``until`` came before the last."""
        order = list(shapes)
        self._random.shuffle(order)
        for start in range(0, len(order), CHUNK):
            chunk = order[start : start + CHUNK]
            for shape, rate in zip(chunk, self._rates_of(chunk), strict=True):
                self._take(shape, rate)
            if self._left() <= until:
                return start + CHUNK >= len(order)
        return True

    def _take(self, shape: Shape, rate: float) -> None:
        candidate = self._known.setdefault(shape, Candidate(shape))
        self._pace = self._pace or rate
        expected = candidate.mean() if candidate.rates else 1.0
        candidate.flop_per_s.append(rate)
        candidate.rates.append(rate / self._pace)
        change = max(-FAR, min(FAR, rate / (self._pace * expected) - 1.0))
        self._pace *= 1.0 + PACE_GAIN * change

    def _probe(self) -> "tuple[float, bool]":
        """A length of k that is long enough, and the faster layout, for middling sides."""
        side = 0.5 * self._space.top
        wanted = [(share * self._space.top, layout) for share in LONG_K for layout in self._layouts]
        shapes = list(dict.fromkeys(self._space.fitted(side, side, k, layout) for k, layout in wanted))
        for _ in range(PROBES):
            if not self._measure(shapes, PROBED_UNTIL) or self._left() <= PROBED_UNTIL:
                break
        found = ranked([self._known[shape] for shape in shapes])
        layout = found[0].shape[3]
        enough = (1.0 - MARGIN) * found[0].mean()
        return max(float(c.shape[2]) for c in found if c.shape[3] == layout and c.mean() >= enough), layout

    def _spread(self, k: float, layout: bool) -> None:
        """Many shapes at that k, once each."""
        sides = self._space.sides(self._random)
        while self._left() > SPREAD_UNTIL and len(self._known) < self._space.results:
            proposed = dict.fromkeys(self._space.fitted(*next(sides), k, layout) for _ in range(CHUNK))
            new = [shape for shape in proposed if shape not in self._known]
            if not new:
                return
            self._measure(new, 0.0)

    def _narrow(self) -> "list[Candidate]":
        """Fewer and fewer of the leaders, timed again and again until time is up; best first."""
        survivors = ranked(list(self._known.values()))
        last, start = self._last, max(self._left() - self._finals, 1e-9)
        most = max(last, len(survivors) // 2)
        visits = [*self._visits]
        while (left := self._left()) > 0.0:
            kept = max(last, round(last * (most / last) ** (max(0.0, left - self._finals) / start)))
            survivors = survivors[:kept]
            if visits and kept <= visits[0]:
                survivors = survivors + self._like(survivors[: visits.pop(0) // 3])
            self._measure([candidate.shape for candidate in survivors], 0.0)
            survivors = ranked(survivors)
        return survivors[: self._last]

    def _like(self, leaders: "Sequence[Candidate]") -> "list[Candidate]":
        """Sides swapped, other lengths and the other layout of the leaders, as far as new; timed a few times."""
        shapes: list[Shape] = []
        for candidate in leaders:
            m, n, k, transposed = candidate.shape
            shapes.append((n, m, k, transposed))
            shapes += [(m, n, k, layout) for layout in self._layouts if layout != transposed]
            shapes += [self._space.fitted(m, n, min(self._space.top, share * k), transposed) for share in LENGTHS]
        new = [shape for shape in dict.fromkeys(shapes) if shape not in self._known]
        for _ in range(self._catch_up):
            self._measure(new, 0.0)
        return [self._known[shape] for shape in new if shape in self._known]
