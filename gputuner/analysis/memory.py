"""Peak memory against batch: a line, its test, and the batch it predicts to be the last that runs (methods §3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite

import numpy as np

RESIDUAL_LIMIT = 0.03
"""A residual above this fraction of the measured peak: not a line."""
FIXED_MULTIPLE = 1.5
"""Probes whose per-sample memory is below this multiple of the fixed part are biased (autotuner workspaces)."""
STANDS_OUT = 1.0
"""Samples whose memory is below this multiple of the fixed part may be lost in what an allocator holds back."""
NEAR = 4.0
"""From a batch on that is this far from the answer, such a line may still be drawn on."""
SAFE_MARGIN = 0.10
"""Safe = limit minus this share: longer samples, fragmentation over many steps, others on the card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine:
    """m(b) = ``fixed_bytes`` + ``per_sample_bytes``·b for peak allocated memory after the second optimizer step."""

    fixed_bytes: float
    per_sample_bytes: float
    residual: float
    """Largest |measured − line| over measured."""
    probes: int
    largest: int
    """Largest batch of them."""

    @property
    def is_line(self) -> bool:
        """True if memory grows with the batch and no probe lies more than 3 % off."""
        return self.per_sample_bytes > 0 and self.residual <= RESIDUAL_LIMIT

    def tells(self, batch: int) -> bool:
        """Whether it may be drawn on to ``batch``.

        The samples of its largest probe stand out of the fixed part, or that probe is not far from ``batch``. Two
        probes of 1 and 2 samples of 10 KiB, on a processor, gave lines 4 to 400 times too steep.
        """
        stands_out = self.per_sample_bytes * self.largest >= STANDS_OUT * self.fixed_bytes
        return self.per_sample_bytes > 0 and (stands_out or NEAR * self.largest >= batch)

    def at(self, batch: int) -> float:
        """Predicted peak at ``batch``, bytes."""
        return self.fixed_bytes + self.per_sample_bytes * batch

    def limit(self, capacity_bytes: float) -> int:
        """Largest batch whose predicted peak is within ``capacity_bytes`` (0: not even one sample).

        Raises:
            ValueError: memory does not grow with the batch.
        """
        if self.per_sample_bytes <= 0:
            raise ValueError("memory does not grow with the batch")
        return max(0, floor((capacity_bytes - self.fixed_bytes) / self.per_sample_bytes))


def _least_squares(batches: Sequence[int], peaks: Sequence[float]) -> MemoryLine:
    b = np.asarray(batches, dtype=np.float64)
    m = np.asarray(peaks, dtype=np.float64)
    centred = b - b.mean()
    slope = float(centred @ m) / float(centred @ centred)
    fixed = float(m.mean()) - slope * float(b.mean())
    off = np.abs(m - (fixed + slope * b)) / m
    return MemoryLine(
        fixed_bytes=fixed,
        per_sample_bytes=slope,
        residual=float(off.max()),
        probes=len(batches),
        largest=max(batches),
    )


def fit_memory_line(batches: Sequence[int], peaks_bytes: Sequence[float]) -> MemoryLine | None:
    """The least-squares line through peaks of *allocated* memory; None with fewer than two different batches.

    Small probes are biased by autotuner workspaces: where at least two different batches have a per-sample part of
    1.5 times the fixed part or more (both from the two largest batches), only those are used.
    """
    pairs = sorted((b, m) for b, m in zip(batches, peaks_bytes, strict=True) if isfinite(m) and m > 0)
    if len({b for b, _ in pairs}) < 2:
        return None
    second = sorted({b for b, _ in pairs})[-2]
    top = _least_squares(*zip(*[(b, m) for b, m in pairs if b >= second], strict=True))
    large = [(b, m) for b, m in pairs if top.per_sample_bytes * b >= FIXED_MULTIPLE * top.fixed_bytes]
    used = large if len({b for b, _ in large}) >= 2 else pairs
    return _least_squares([b for b, _ in used], [m for _, m in used])


def safe_batch(limit: int, margin: float = SAFE_MARGIN, multiple: int = 1) -> int:
    """The limit minus ``margin`` (a fraction), rounded down to ``multiple``; at least 1 where the limit is."""
    if limit < 1:
        return 0
    return max(1, round_down(floor(limit * (1.0 - margin)), multiple))


def round_down(batch: int, multiple: int) -> int:
    """``batch`` rounded down to a multiple of ``multiple``, or itself where it is smaller."""
    return batch if batch < multiple else batch - batch % multiple
