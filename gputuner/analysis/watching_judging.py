"""What one process' figures say of its time, before processes are put together; and the memory that is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gputuner.model.watched import Observed, Sign, TreeUse, WatchCause

RETRIES_PER_STEP = 0.01
"""From one emptied cache in a hundred steps on full memory holds the training back: each waits for the card."""
LEAST_RETRIES = 2
QUEUED = 0.1
"""Share of the time without a core from which on others are to blame that it stood still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Shares of the time (0–1) by cause, and the figures they rest on.

    ``doubted``: causes that others could stand behind. ``forced``: the cause whatever the shares.
    """

    shares: Mapping[WatchCause, float]
    signs: tuple[Sign, ...] = ()
    doubted: frozenset[WatchCause] = field(default_factory=lambda: frozenset[WatchCause]())
    forced: WatchCause | None = None


def signs_of(*told: tuple[str, float | None, str]) -> tuple[Sign, ...]:
    """The signs whose value is known."""
    return tuple(Sign(name=name, value=value, unit=unit) for name, value, unit in told if value is not None)


def operation_s(each: Observed, seconds: float | None, steps: int) -> float | None:
    """Seconds per operation that autograd recorded in ``steps``; None where a compiler merged them, or not known."""
    if each.compiled or not each.operations_per_step or seconds is None or steps <= 0:
        return None
    return seconds / (steps * each.operations_per_step)


def queued_share(each: Observed | None) -> float:
    """Share of the time in which the thread that steps was ready and had no core; 0 where passing or not known."""
    if each is None or each.queued_s is None or each.covered_s <= 0:
        return 0.0
    queued = min(1.0, each.queued_s / each.covered_s)
    return queued if queued >= QUEUED else 0.0


def retried(each: Observed) -> bool:
    """Whether the allocator gives its blocks back again and again."""
    retries = each.retries or 0
    return retries >= LEAST_RETRIES and retries >= RETRIES_PER_STEP * each.steps


def memory_limit(each: Observed) -> int | None:
    """Bytes of the card that the program may take."""
    if each.memory_total_bytes is None:
        return None
    return int(each.memory_total_bytes * (each.memory_fraction if each.memory_fraction is not None else 1.0))


def headroom_left(trained: Sequence[Observed], use: TreeUse) -> tuple[int | None, int | None]:
    """Bytes left at the peak, and of how many: the least over processes and cards; on ``cpu`` the host's."""
    found: list[tuple[int, int]] = []
    for each in trained:
        limit = memory_limit(each) if each.device == "cuda" else None
        if limit is not None and each.reserved_peak_bytes is not None:
            found.append((max(0, limit - each.reserved_peak_bytes), limit))
    for card in use.cards:
        if card.memory_total_bytes is not None and card.memory_used_peak_bytes is not None:
            left = max(0, int(card.memory_total_bytes - card.memory_used_peak_bytes))
            found.append((left, int(card.memory_total_bytes)))
    if not found and not use.cards and use.memory_limit_bytes is not None:
        peaks = [each.rss_peak_bytes for each in trained if each.rss_peak_bytes is not None]
        peak = use.rss_peak_bytes if use.rss_peak_bytes is not None else sum(peaks) if peaks else None
        if peak is not None:
            found.append((max(0, use.memory_limit_bytes - peak), use.memory_limit_bytes))
    return min(found) if found else (None, None)
