"""How many loader processes this machine can run: cores that the process may use, host memory, shared memory.

Each process holds its batches in shared memory (``/dev/shm``, in containers often 64 MiB) until they are consumed: a
file that does not fit there ends it with a bus error, which says nothing of memory. So it is computed beforehand.
"""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
WORKER_BYTES = 200 << 20
"""A loader process's own memory beside its batches: an interpreter with torch whose pages become its own by and by."""
MEMORY_SHARE = 0.7
"""Of the memory that is available at most so much is used."""
HOST_MEMORY, SHARED_MEMORY, CORES = "host_memory", "shared_memory", "cores"
"""Reasons against a number of workers."""
BOUNDLESS = 1 << 60
"""Version 1 of cgroups writes a number near 2^63 where there is no limit."""


@dataclass(frozen=True)
class Room:
    """What is there; None: not known, and then no bound."""

    cores: int
    memory_bytes: "int | None"
    shared_bytes: "int | None"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _folders(root: Path, mount: str, controller: str) -> "list[Path]":
    """Folders of the own control group and of those above it, the mount's root last."""
    own = ""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names == controller or controller in names.split(","):
            own = path.strip("/")
    parts = [part for part in own.split("/") if part and part != ".."]
    return [root / mount / "/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]


def quota_cores(root: Path = ROOT) -> "float | None":
    """Processor time that control groups grant, in cores; None: no limit."""
    limits: list[float] = []
    for folder in _folders(root, "sys/fs/cgroup", ""):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            limits.append(int(quota) / int(period))
    for mount in ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"):
        for folder in _folders(root, mount, "cpu"):
            quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
            if quota.isdigit() and period.isdigit() and int(period):
                limits.append(int(quota) / int(period))
    return min(limits, default=None)


def usable_cores(root: Path = ROOT) -> int:
    """Cores that this process may use by affinity and quota, at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = quota_cores(root)
    return max(1, cores if quota is None else min(cores, int(quota)))


def memory_left_bytes(root: Path = ROOT) -> "int | None":
    """Host memory that is available, within the control groups' limits."""
    bounds: list[int] = []
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, number = line.partition(":")
        if name == "MemAvailable":
            bounds.append(int(number.split()[0]) * 1024)
    groups = [(folder, "memory.max", "memory.current") for folder in _folders(root, "sys/fs/cgroup", "")]
    groups += [
        (folder, "memory.limit_in_bytes", "memory.usage_in_bytes")
        for folder in _folders(root, "sys/fs/cgroup/memory", "memory")
    ]
    for folder, most, used in groups:
        limit, usage = _text(folder / most), _text(folder / used)
        if limit.isdigit() and usage.isdigit() and int(limit) < BOUNDLESS:
            bounds.append(max(0, int(limit) - int(usage)))
    return min(bounds, default=None)


def shared_left_bytes(root: Path = ROOT) -> "int | None":
    """Free shared memory; None where there is no such folder."""
    try:
        facts = os.statvfs(root / "dev/shm")
    except (AttributeError, OSError):
        return None
    return facts.f_bavail * facts.f_frsize


def room() -> Room:
    """What this process may use now."""
    return Room(cores=usable_cores(), memory_bytes=memory_left_bytes(), shared_bytes=shared_left_bytes())


def refusal(
    there: Room,
    workers: int,
    prefetch: int,
    batch_bytes: int,
    *,
    worker_bytes: int = WORKER_BYTES,
    beyond_cores: bool = False,
) -> "tuple[str, dict[str, int]] | None":
    """Why ``workers`` processes with ``prefetch`` batches each cannot run, and the figures; None: they can.

    Args:
        there: what the machine has.
        workers: processes.
        prefetch: batches that each has ready.
        batch_bytes: of a batch.
        worker_bytes: a process's own memory beside its batches.
        beyond_cores: more processes than cores may be tried.
    """
    if workers == 0:
        return None
    if workers > there.cores and not beyond_cores:
        return CORES, {"cores": there.cores}
    needs = workers * prefetch * batch_bytes
    if there.shared_bytes is not None and needs > there.shared_bytes:
        return SHARED_MEMORY, {"needs_bytes": needs, "free_bytes": there.shared_bytes}
    needs += workers * worker_bytes
    if there.memory_bytes is not None and needs > MEMORY_SHARE * there.memory_bytes:
        return HOST_MEMORY, {"needs_bytes": needs, "free_bytes": there.memory_bytes}
    return None


def candidates(cores: int, most: int) -> "list[int]":
    """Numbers of workers to try: none, powers of two, and all cores, at most ``most``."""
    top = min(cores, most)
    return sorted({0, top, *(1 << power for power in range(top.bit_length()) if 1 << power <= top)})
