"""How much of the processor time that this process may have is in use over a stretch of time (Linux).

Of the machine only the processors that the process may run on count (``sched_getaffinity``), whoever uses them: on one
half of a machine that is full there is no room, however idle the other half is. A quota of a control group (version 2,
``cpu.max``: containers and batch systems) is a limit beside that, and what counts against it is what the group uses.
"""

import os
import time
from typing import NamedTuple

STAT = "/proc/stat"
CGROUP_OF, CGROUPS = "/proc/self/cgroup", "/sys/fs/cgroup"
IDLE, IOWAIT = 3, 4
"""Places of a line's counters that are no work."""
COUNTED = 8
"""Those after them (guests) are counted in the first already."""


class Quota(NamedTuple):
    """The tightest quota of the control groups that the process is in."""

    cores: float
    folder: str


class Times(NamedTuple):
    """One reading: clock ticks in use and in all over the allowed processors, and what a quota's group has used."""

    used: int
    whole: int
    group_s: "float | None" = None
    quota_cores: "float | None" = None
    at_s: float = 0.0


def allowed() -> "frozenset[int] | None":
    """Numbers of the processors that this process may run on; None: not told here."""
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        return None


def allowed_cores() -> float:
    """Processors that this process may keep busy: those it may run on, or its quota if that is less."""
    known = allowed()
    count = float(len(known) if known else os.cpu_count() or 1)
    quota = quota_of()
    return count if quota is None else min(count, quota.cores)


def quota_of(of: str = CGROUP_OF, root: str = CGROUPS) -> "Quota | None":
    """The tightest quota from the process's own group up to the root that is seen; None: none."""
    line = next((line for line in _lines(of) if line.startswith("0::")), None)
    if line is None:
        return None
    parts = [part for part in line[3:].split("/") if part not in ("", "..")]
    found: list[Quota] = []
    for depth in range(len(parts), -1, -1):
        folder = os.path.join(root, *parts[:depth])
        told = (_lines(os.path.join(folder, "cpu.max")) or [""])[0].split()
        if len(told) == 2 and told[0].isdigit() and told[1].isdigit() and int(told[1]) > 0:
            found.append(Quota(int(told[0]) / int(told[1]), folder))
    return min(found, default=None)


def processor_times(
    path: str = STAT, only: "frozenset[int] | None" = None, quota: "Quota | None" = None
) -> "Times | None":
    """A reading; None: not told here. Without ``only`` and ``quota`` those of this process."""
    only = allowed() if only is None else only
    quota = quota_of() if quota is None and path == STAT else quota
    try:
        counted = [_counted(line) for line in _lines(path) if _is_of(line, only)]
    except ValueError:
        return None
    if not counted:
        return None
    whole = sum(sum(each) for each in counted)
    used = whole - sum(each[IDLE] + each[IOWAIT] for each in counted)
    group_s = _used_s(quota.folder) if quota is not None else None
    return Times(used, whole, group_s, quota.cores if quota is not None else None, time.monotonic())


def share_in_use(before: "Times | None", after: "Times | None") -> "float | None":
    """Share (0 … 1) of the time between two readings that was in use, of the processors or of the quota, the larger.

    None: not known.
    """
    if before is None or after is None or after.whole <= before.whole:
        return None
    shares = [(after.used - before.used) / (after.whole - before.whole)]
    passed_s = after.at_s - before.at_s
    if before.group_s is not None and after.group_s is not None and after.quota_cores and passed_s > 0:
        shares.append((after.group_s - before.group_s) / (after.quota_cores * passed_s))
    return min(1.0, max(0.0, *shares))


def _is_of(line: str, only: "frozenset[int] | None") -> bool:
    """Whether a line counts an allowed processor (without a list of them: all at once)."""
    name = line.split(" ", 1)[0]
    if only is None:
        return name == "cpu"
    return name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in only


def _counted(line: str) -> "list[int]":
    """The counters of a line.

    Raises:
        ValueError: they are none, or too few.
    """
    fields = [int(field) for field in line.split()[1 : COUNTED + 1]]
    if len(fields) <= IOWAIT:
        raise ValueError("too few counters")
    return fields


def _used_s(folder: str) -> "float | None":
    """Processor seconds that a control group has used."""
    for line in _lines(os.path.join(folder, "cpu.stat")):
        name, _, value = line.partition(" ")
        if name == "usage_usec" and value.strip().isdigit():
            return int(value) / 1e6
    return None


def _lines(path: str) -> "list[str]":
    """The lines of a small file; none where it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
