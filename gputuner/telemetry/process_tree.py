"""The processes of one command: found, followed and counted, without slowing them.

A process belongs to the tree if it is the command's own, or if its parent did when it was seen first: one that later
loses its parent (a daemon, a worker whose launcher has ended) stays in it. One that detaches between two looks is
found by the mark in its environment where there is one, else it is lost from sight.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import psutil

from gputuner.model.followed import FollowedProcess, TreeNow
from gputuner.model.samples import CardProcesses

MOST_KEPT = 200
"""Ended processes whose figures are kept, those that used most processor time (a build may start thousands)."""
THREADS_EVERY = 5
"""Threads are looked at on every fifth look: a process may have hundreds."""


@dataclass(slots=True)
class _Member:
    process: psutil.Process
    name: str
    first_s: float
    last_s: float
    cpu_s: float = 0.0
    with_children_s: float = 0.0
    """Its processor time with that of the children it has waited for."""
    threads: dict[int, float] = field(default_factory=lambda: {})
    memory_bytes: int = 0
    memory_peak_bytes: int = 0
    read_bytes: int | None = None
    written_bytes: int | None = None
    card_bytes: dict[str, int] = field(default_factory=lambda: {})

    def told(self, *, alive: bool) -> FollowedProcess:
        return FollowedProcess(
            pid=self.process.pid,
            name=self.name,
            cpu_s=self.cpu_s,
            busiest_thread_s=max(self.threads.values(), default=0.0),
            seen_s=self.last_s - self.first_s,
            memory_peak_bytes=self.memory_peak_bytes,
            read_bytes=self.read_bytes,
            written_bytes=self.written_bytes,
            card_bytes=dict(self.card_bytes),
            alive=alive,
        )


@dataclass(slots=True)
class _Before:
    t_s: float
    cpu_s: float
    read_bytes: int | None
    written_bytes: int | None


class ProcessTree:
    """Follows the tree under one process. Call ``look`` now and then, from one thread."""

    def __init__(
        self, root: int, mark: tuple[str, str] | None = None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Follow ``root`` and its descendants, and whatever has ``mark`` (a name and a value) in its environment."""
        self._root = root
        self._mark = mark
        self._now_s = now_s
        self._members: dict[int, _Member] = {}
        self._ended: list[FollowedProcess] = []
        self._asked: set[int] = set()
        self._looks = 0
        self._before: _Before | None = None
        self._threads_s: float | None = None
        self._busiest_thread = 0.0
        self._gone = {"read": 0, "written": 0}
        self.count = 0
        """How many processes were seen in all."""

    @property
    def pids(self) -> set[int]:
        """Numbers of the processes that lived at the last look."""
        return set(self._members)

    def look(self) -> TreeNow | None:
        """The tree since the look before; None on the first look, or where nothing of it lives."""
        now_s = self._now_s()
        for process in self._found():
            self._add(process, now_s)
        threads_too = self._looks % THREADS_EVERY == 0
        self._looks += 1
        busiest, since_s = 0.0, self._threads_s
        for member in list(self._members.values()):
            try:
                _read(member, now_s)
                if threads_too:
                    used_s = _thread_s(member)
                    busiest = max(busiest, 0.0 if since_s is None else used_s / max(now_s - since_s, 1e-3))
            except (psutil.Error, OSError):
                self._end(member)
        if threads_too:
            self._busiest_thread, self._threads_s = min(1.0, busiest), now_s
        return self._now(now_s)

    def left(self) -> int:
        """How many processes live now, but for those that Python itself leaves to tidy up and that end in a moment."""
        self.look()
        return sum(not _tidies(member.process) for member in self._members.values())

    def take(self, table: CardProcesses) -> int | None:
        """Note what the driver tells of the tree on a card; bytes that it holds there (None: not told)."""
        held, told = 0, table.reason is None
        for process in table.processes:
            member = self._members.get(process.pid)
            if member is None:
                continue
            held += process.memory_bytes or 0
            told = told and process.memory_bytes is not None
            member.card_bytes[table.card] = max(member.card_bytes.get(table.card, 0), process.memory_bytes or 0)
        return held if told else None

    def processes(self) -> tuple[FollowedProcess, ...]:
        """Every process that is kept, those that used most processor time first."""
        found = [*(member.told(alive=True) for member in self._members.values()), *self._ended]
        return tuple(sorted(found, key=lambda process: -process.cpu_s))

    def _found(self) -> list[psutil.Process]:
        """Processes of the tree that are new: children of the root and of those without a parent in the tree."""
        found: dict[int, psutil.Process] = {}
        for start in [self._root, *self._orphans()]:
            try:
                process = psutil.Process(start)
                found.update({each.pid: each for each in (process, *process.children(recursive=True))})
            except psutil.Error:
                continue
        found.update(self._marked(found))
        return [process for pid, process in found.items() if pid not in self._members]

    def _orphans(self) -> list[int]:
        orphans: list[int] = []
        for pid, member in self._members.items():
            try:
                if pid != self._root and member.process.ppid() not in self._members:
                    orphans.append(pid)
            except psutil.Error:
                continue
        return orphans

    def _marked(self, found: Mapping[int, psutil.Process]) -> dict[int, psutil.Process]:
        """Processes that lost their parent before they were seen; each process of the system is asked once."""
        if self._mark is None:
            return {}
        name, value = self._mark
        present = set(psutil.pids())
        marked: dict[int, psutil.Process] = {}
        for pid in present - self._asked - set(found) - set(self._members):
            try:
                process = psutil.Process(pid)
                if process.environ().get(name) == value:
                    marked[pid] = process
            except (psutil.Error, OSError):
                continue
        self._asked = present
        return marked

    def _add(self, process: psutil.Process, now_s: float) -> None:
        try:
            name = _name(process)
        except (psutil.Error, OSError):
            return
        self.count += 1
        self._members[process.pid] = _Member(process=process, name=name, first_s=now_s, last_s=now_s)

    def _end(self, member: _Member) -> None:
        del self._members[member.process.pid]
        self._gone["read"] += member.read_bytes or 0
        self._gone["written"] += member.written_bytes or 0
        self._ended.append(member.told(alive=False))
        if len(self._ended) > MOST_KEPT:
            self._ended.remove(min(self._ended, key=lambda process: process.cpu_s))

    def _now(self, now_s: float) -> TreeNow | None:
        members = self._members.values()
        cpu_s = sum(member.with_children_s for member in members)
        read = _sum((member.read_bytes for member in members), self._gone["read"])
        written = _sum((member.written_bytes for member in members), self._gone["written"])
        before, self._before = self._before, _Before(now_s, cpu_s, read, written)
        if before is None or not members or now_s <= before.t_s:
            return None
        passed_s = now_s - before.t_s
        return TreeNow(
            processes=len(members),
            cpu_cores=max(0.0, cpu_s - before.cpu_s) / passed_s,
            busiest_thread=self._busiest_thread,
            memory_bytes=sum(member.memory_bytes for member in members),
            read_bytes_per_s=_rate(read, before.read_bytes, passed_s),
            written_bytes_per_s=_rate(written, before.written_bytes, passed_s),
        )


TIDYING = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


def _tidies(process: psutil.Process) -> bool:
    """Whether it is a helper of Python's multiprocessing, or has ended."""
    try:
        return any(word in part for part in process.cmdline() for word in TIDYING) or not process.is_running()
    except (psutil.Error, OSError):
        return True


def _read(member: _Member, now_s: float) -> None:
    """Read one process anew.

    Raises:
        psutil.Error: it has ended, or is another's now.
    """
    process = member.process
    if not process.is_running():
        raise psutil.NoSuchProcess(process.pid)
    with process.oneshot():
        times = process.cpu_times()
        member.memory_bytes = process.memory_info().rss
        member.name = _name(process)  # a shell's child takes the program's name only after a moment
        counters = _counters(process)
    member.cpu_s = times.user + times.system
    member.with_children_s = member.cpu_s + times.children_user + times.children_system
    member.memory_peak_bytes = max(member.memory_peak_bytes, member.memory_bytes)
    member.last_s = now_s
    if counters is not None:
        member.read_bytes, member.written_bytes = counters


def _name(process: psutil.Process) -> str:
    """Its name; bytes in it that are no UTF-8 are written out."""
    return process.name().encode("utf-8", "backslashreplace").decode()


def _counters(process: psutil.Process) -> tuple[int, int] | None:
    """Bytes read from and written to storage; None where the system or its rights do not tell."""
    if not hasattr(process, "io_counters"):
        return None
    try:
        counters = process.io_counters()
    except (psutil.Error, OSError, NotImplementedError):
        return None
    return counters.read_bytes, counters.write_bytes


def _thread_s(member: _Member) -> float:
    """Processor time that the busiest thread has used since the last look at threads."""
    now = {thread.id: thread.user_time + thread.system_time for thread in member.process.threads()}
    used = max((time_s - member.threads.get(number, time_s) for number, time_s in now.items()), default=0.0)
    member.threads = now
    return used


def _sum(parts: Iterable[int | None], gone: int) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) + gone if known or gone else None


def _rate(now: int | None, before: int | None, passed_s: float) -> float | None:
    return None if now is None or before is None else max(0, now - before) / passed_s
