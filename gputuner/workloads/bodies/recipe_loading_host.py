# pyright: standard
"""What the processes of a loader take of the machine: cores they may run on, processor time, memory.

All of it is read from outside (``/proc``), so that a process of the user's own is seen as it is, whatever it does.
Where the system tells nothing of a kind, nothing is said.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gputuner.workloads.bodies.body import Fact

PROC = Path("/proc")
KIB = 1024


@dataclass(frozen=True)
class Used:
    """Of some processes together, since they began: processor time, and time for which they could have run but had to
    wait for a core (seconds; None: the system does not tell)."""

    run_s: float
    waited_s: float


def used(pids: "Iterable[int]", proc: Path = PROC) -> "Used | None":
    """Sums over all threads of ``pids`` (``schedstat``: ns on a core, ns on a run queue)."""
    run_ns, waited_ns, found = 0, 0, False
    for pid in pids:
        for place in sorted(proc.glob(f"{pid}/task/*/schedstat")):
            numbers = _text(place).split()
            if len(numbers) >= 2 and numbers[0].isdigit() and numbers[1].isdigit():
                run_ns, waited_ns, found = run_ns + int(numbers[0]), waited_ns + int(numbers[1]), True
    return Used(run_s=run_ns / 1e9, waited_s=waited_ns / 1e9) if found else None


def between(before: "Used | None", after: "Used | None", seconds: float) -> "dict[str, Fact]":
    """Cores that the processes kept busy, and the share of their wish to run for which they had to wait for one."""
    if before is None or after is None or seconds <= 0:
        return {}
    run_s, waited_s = after.run_s - before.run_s, after.waited_s - before.waited_s
    if run_s < 0 or waited_s < 0:  # a process ended meanwhile
        return {}
    facts: dict[str, Fact] = {"workers_cores_busy": round(run_s / seconds, 3)}
    if run_s + waited_s > 0:
        facts["workers_core_wait_fraction"] = round(waited_s / (run_s + waited_s), 4)
    return facts


def fewest_cores(pids: "Iterable[int]") -> "int | None":
    """Cores that the most confined of ``pids`` may run on; None where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    counts: list[int] = []
    for pid in pids:
        try:
            counts.append(len(os.sched_getaffinity(pid)))
        except OSError:  # it has ended
            continue
    return min(counts, default=None)


def resident_bytes(pid: int, proc: Path = PROC) -> "int | None":
    """Memory of one process: its share of what it has in common with others (PSS), else all that it has resident."""
    for line in _text(proc / str(pid) / "smaps_rollup").splitlines():
        name, _, number = line.partition(":")
        if name == "Pss":
            return int(number.split()[0]) * KIB
    pages = _text(proc / str(pid) / "statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else None


def largest_bytes(pids: "Iterable[int]", proc: Path = PROC) -> "int | None":
    """Memory of the largest of ``pids``."""
    return max((size for pid in pids if (size := resident_bytes(pid, proc)) is not None), default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
