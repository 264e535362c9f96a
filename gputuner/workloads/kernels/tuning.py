"""Which kernel of an operation, spread how, is the fastest on this card: a few are tried in set-up."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gputuner.workloads.kernels.runtime import Grid
from gputuner.workloads.kernels.stream_source import TILES, Variant

MOST_BLOCKS = 2**31 - 1
SPREADS = ((256, 0), (512, 0), (1024, 0), (256, 8), (512, 4), (1024, 2), (512, 2), (1024, 1))
"""Threads of a block, and blocks on each SM that stride through the arrays (0: one block for each tile)."""
FINALISTS, LEAST_ROUNDS, MOST_ROUNDS = 12, 3, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A kernel and how it is spread."""

    variant: Variant
    threads: int
    per_sm: int

    def grid(self, size: int, passes: int, sm_count: int) -> Grid:
        """For arrays of ``size`` bytes each, gone through ``passes`` times."""
        tile = 16 * self.threads * self.variant.unroll
        turns = -(-size // tile) * (passes if self.variant.order == TILES else 1)
        return Grid(blocks=max(1, min(turns, self.per_sm * sm_count or MOST_BLOCKS)), threads=self.threads)

    def label(self) -> str:
        """For the notes: hint, order, unrolling, threads, blocks on each SM (``once``: a block for each tile)."""
        spread = f"{self.per_sm}/SM" if self.per_sm else "once"
        return f"{self.variant.hint} {self.variant.order} x{self.variant.unroll} {self.threads} {spread}"


def ways(variants: Sequence[Variant]) -> tuple[Way, ...]:
    """All that can be tried."""
    return tuple(Way(variant=v, threads=threads, per_sm=per_sm) for v in variants for threads, per_sm in SPREADS)


def fastest(
    tried: Sequence[Way],
    seconds: Callable[[Way], float],
    budget_s: float,
    closely: Callable[[Way], float] | None = None,
) -> Way:
    """The one with the lowest median time.

    Args:
        tried: at least one.
        seconds: runs one once and says how long it took.
        budget_s: after this long no further one is looked at; the finals take about as long again at most.
        closely: the same for the finals, where another way is better there.
    """
    start = time.monotonic()
    first: list[tuple[float, int]] = []
    for number, way in enumerate(tried):
        first.append((seconds(way), number))
        if time.monotonic() - start > budget_s:
            break
    finalists = [tried[number] for _, number in sorted(first)[:FINALISTS]]
    rounds: list[list[float]] = []
    while len(rounds) < LEAST_ROUNDS or (len(rounds) < MOST_ROUNDS and time.monotonic() - start < 2 * budget_s):
        rounds.append([(closely or seconds)(way) for way in finalists])
    medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
    return finalists[medians.index(min(medians))]
