"""What one process' figures say of its time, before processes are put together; and the memory that is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gputuner.model.watched import Observed, Sign, TreeUse, WatchCause

RETRIES_PER_STEP = 0.01
"""From one emptied cache in a hundred steps on full memory holds the training back: each waits for the card."""
LEAST_RETRIES = 2
LEAST_TRAINING_S, LEAST_STEPS = 1.0, 2
"""Less than this of a training says nothing of what holds it back."""
ADVISED_FROM_S = 3.0
"""Of a training of a moment nothing is worth a change."""
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


def enough(each: Observed) -> bool:
    """Whether enough was seen of a training to judge it."""
    return each.training_s >= LEAST_TRAINING_S and each.timed_steps >= LEAST_STEPS


def advisable(each: Observed) -> bool:
    """Whether enough was seen of it to advise a change."""
    return enough(each) and each.training_s >= ADVISED_FROM_S


def idle_share(each: Observed | None) -> float:
    """Share of the time in which nothing of the program ran that could: it waited for something not seen; 0: unknown.

    Time without a core (also in passing) and waiting for data are none of it.
    """
    if each is None or each.cpu_s is None or each.covered_s <= 0 or each.training_s <= 0:
        return 0.0
    worked_s = max(each.thread_s or 0.0, each.cpu_s - each.loading_cpu_s)
    known = (worked_s + (each.queued_s or 0.0)) / each.covered_s + min(1.0, each.waited_s / each.training_s)
    return max(0.0, 1.0 - known)


def peak_taken(each: Observed) -> int | None:
    """Bytes that the training held at its peak; what the allocator merely keeps for later is not needed."""
    return each.allocated_peak_bytes if each.allocated_peak_bytes is not None else each.reserved_peak_bytes


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
    """Bytes left at the peak, and of how many: the least over processes and cards; on ``cpu`` the host's.

    What an allocator holds without using it counts as left.
    """
    found: list[tuple[int, int]] = []
    for each in trained:
        limit = memory_limit(each) if each.device == "cuda" else None
        taken = peak_taken(each)
        if limit is not None and taken is not None:
            found.append((max(0, limit - taken), limit))
    for card in use.cards:
        if card.memory_total_bytes is not None and card.memory_used_peak_bytes is not None:
            spare = sum(_kept(each) for each in trained if card.uuid in each.uuids)
            left = max(0, int(card.memory_total_bytes - card.memory_used_peak_bytes + spare))
            found.append((min(left, int(card.memory_total_bytes)), int(card.memory_total_bytes)))
    if not found and not use.cards and use.memory_limit_bytes is not None:
        peaks = [each.rss_peak_bytes for each in trained if each.rss_peak_bytes is not None]
        peak = use.rss_peak_bytes if use.rss_peak_bytes is not None else sum(peaks) if peaks else None
        if peak is not None:
            found.append((max(0, use.memory_limit_bytes - peak), use.memory_limit_bytes))
    return min(found) if found else (None, None)


def _kept(each: Observed) -> int:
    """Bytes that the allocator keeps without using them."""
    if each.reserved_peak_bytes is None or each.allocated_peak_bytes is None:
        return 0
    return max(0, each.reserved_peak_bytes - each.allocated_peak_bytes)
