"""Where the time of a training on the processor went, from its processor times and page faults.

1. Waiting for data. 2. Of the rest: not running at all: queued behind others for as long as the system counts it, and
what is left waiting for something not seen.
3. Of what ran: taking and moving new memory (the system's time for page faults, and the traffic of those pages); Python
and dispatch, at most so much per operation; arithmetic is what is left.
"""

from gputuner.analysis.watching_judging import Judged, operation_s, signs_of
from gputuner.model.watched import Observed, TreeUse, WatchCause

DISPATCH_S = 50e-6
"""Processor time of Python, dispatch and autograd per recorded operation, forward, backward and optimizer together.

35 to 66 µs were seen (``docs/measurements/watch.md``); an operation that takes less in all is nothing else.
"""
PAGE_BYTES = 4096
CORE_BYTES_PER_S = 10e9
"""What one core moves to and from DRAM in a second, in order of magnitude."""
TOUCHES = 2
"""A new page is written once and read once, at least."""
SYSTEM_SHARE = 0.15
"""Share of the processor time in the system from which on page faults are more than passing."""
FAULTED_BYTES_PER_S = 100e6
"""The same of the memory taken anew."""
SWAPPED_PER_S = 20.0
"""Pages a second read back from disk from which on memory is too small."""
SHORT_S = 1.0
"""What ran more shortly is not judged."""
CLEAR = 0.25
"""A cause whose share of the running time lies between this and one minus this is told with doubt."""


def judged_by_host(each: Observed | None, use: TreeUse, drawn_s: float = 0.0) -> Judged:
    """Shares by cause of one process; None: only what its processes' times tell, which is little, and ``drawn_s``
    that it waited for data without training on it.
    """
    if each is None:
        return _unhooked(use, drawn_s)
    covered_s = each.covered_s or each.training_s
    data = min(1.0, each.waited_s / each.training_s)
    waited_s = data * covered_s
    running = _running(each, covered_s - waited_s)
    shares = {WatchCause.DATA: data} if data > 0 else {}
    doubted: set[WatchCause] = set()
    still = 0.0
    if running is None:
        return Judged(shares=shares, signs=_signs(each, use, covered_s, None, data))
    still = (1.0 - data) * (1.0 - running)
    if still > 0:
        queued = min(still, (each.queued_s or 0.0) / covered_s)
        if queued > 0:
            shares[WatchCause.SHARED] = queued
        shares[WatchCause.IDLE] = still - queued
        if each.queued_s is None:
            doubted.add(WatchCause.IDLE)
    ran_s = (covered_s - waited_s) * running
    memory = min(1.0, _memory_s(each, covered_s) / ran_s) if ran_s > 0 else 0.0
    per_operation_s = operation_s(each, each.thread_s, each.covered_steps)
    launch = (1.0 - memory) * min(1.0, DISPATCH_S / per_operation_s) if per_operation_s else 0.0
    whole = (1.0 - data) * running
    split = {
        WatchCause.MEMORY_BANDWIDTH: whole * memory,
        WatchCause.HOST_LAUNCH: whole * launch,
        WatchCause.COMPUTE: whole * (1.0 - memory - launch),
    }
    for cause, share in split.items():
        shares[cause] = share
        if whole > 0 and CLEAR < share / whole < 1.0 - CLEAR:
            doubted.add(cause)
    doubted.add(WatchCause.COMPUTE)  # traffic within memory already taken is not seen
    swapping = (each.major_faults or 0) / covered_s >= SWAPPED_PER_S
    return Judged(
        shares=shares,
        signs=_signs(each, use, covered_s, per_operation_s, data),
        doubted=frozenset(doubted),
        forced=WatchCause.MEMORY_CAPACITY if swapping else None,
    )


def _running(each: Observed, outside_s: float) -> float | None:
    """Share of the time outside waiting for data in which at least one core worked for it; None: not known."""
    if each.cpu_s is None or outside_s <= 0:
        return None
    worked_s = max(each.thread_s or 0.0, each.cpu_s - each.loading_cpu_s)
    return min(1.0, worked_s / outside_s)


def _memory_s(each: Observed, covered_s: float) -> float:
    """Seconds for taking new pages and moving what they hold."""
    faulted = (each.minor_faults or 0) * PAGE_BYTES
    system_s, cpu_s = each.system_s or 0.0, each.cpu_s or 0.0
    if cpu_s <= 0 or system_s < SYSTEM_SHARE * cpu_s or faulted < FAULTED_BYTES_PER_S * covered_s:
        return 0.0
    cores = max(1.0, cpu_s / covered_s)
    return (system_s + TOUCHES * faulted / CORE_BYTES_PER_S) / cores


def _unhooked(use: TreeUse, drawn_s: float) -> Judged:
    """Without hooks a busy processor says nothing of what it is busy with; an idle one that something is waited for."""
    if use.cpu_s is None or use.duration_s < SHORT_S:
        return Judged(shares={})
    cores = use.cpu_s / use.duration_s
    data = min(1.0, drawn_s / use.duration_s)
    shares = {WatchCause.DATA: data} if data > 0 else {}
    idle = 1.0 - cores - data  # who loads within the program uses a core meanwhile, or none
    if cores < 0.5 and idle > 0:
        shares[WatchCause.IDLE] = idle
    waiting = ("waiting", data or None, "fraction")
    return Judged(
        shares=shares,
        signs=signs_of(waiting, ("cores_busy", cores, ""), ("cores", use.cores, "")),
        doubted=frozenset({WatchCause.IDLE}),
    )


def _signs(each: Observed, use: TreeUse, covered_s: float, per_operation_s: float | None, data: float):
    faulted = (each.minor_faults or 0) * PAGE_BYTES / max(1, each.covered_steps)
    peak, limit = use.rss_peak_bytes or each.rss_peak_bytes, use.memory_limit_bytes
    return signs_of(
        ("waiting", data, "fraction"),
        ("first_batch", each.waited_first_s / each.training_s if each.waited_first_s else None, "fraction"),
        ("operations_per_step", each.operations_per_step, ""),
        ("host_s_per_operation", per_operation_s, "s"),
        ("cores_busy", each.cpu_s / covered_s if each.cpu_s is not None else None, ""),
        ("cores", use.cores, ""),
        ("queued", each.queued_s / covered_s if each.queued_s else None, "fraction"),
        ("system_time", each.system_s / each.cpu_s if each.system_s is not None and each.cpu_s else None, "fraction"),
        ("faulted_bytes_per_step", faulted if faulted else None, "bytes"),
        ("major_faults", float(each.major_faults) if each.major_faults else None, ""),
        ("peak_of_limit", peak / limit if peak is not None and limit else None, "fraction"),
    )
