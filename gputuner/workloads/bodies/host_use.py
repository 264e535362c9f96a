"""How much of the machine's processor time is in use over a stretch of time, all programs counted (Linux)."""

STAT = "/proc/stat"
IDLE, IOWAIT = 3, 4
"""Places of the first line's counters that are no work."""
COUNTED = 8
"""Those after them (guests) are counted in the first already."""


def processor_times(path: str = STAT) -> "tuple[int, int] | None":
    """Clock ticks since the start in use, and in all, over all processors; None: not told here."""
    try:
        with open(path, encoding="ascii") as file:
            name, *fields = file.readline().split()
        counted = [int(field) for field in fields[:COUNTED]]
    except (OSError, ValueError):
        return None
    if name != "cpu" or len(counted) <= IOWAIT:
        return None
    whole = sum(counted)
    return whole - counted[IDLE] - counted[IOWAIT], whole


def share_in_use(before: "tuple[int, int] | None", after: "tuple[int, int] | None") -> "float | None":
    """Share of the processor time between two readings that was in use (0 … 1); None: not known."""
    if before is None or after is None or after[1] <= before[1]:
        return None
    return min(1.0, max(0.0, (after[0] - before[0]) / (after[1] - before[1])))
