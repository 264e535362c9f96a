"""Whose process it is: a job's, or somebody else's; and what the jobs hold."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gputuner.jobs.marked import MARK
from gputuner.jobs.processes import start_mark
from gputuner.model.jobs import MemoryHolder
from gputuner.model.samples import ProcessOnCard

MOST_PARENTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A job that is placed, as far as its processes must be known."""

    job: int
    ticket: str
    pid: int | None
    """Its supervisor, which leads the session of all its processes but those that made one of their own."""
    command_pid: int | None


class Owners:
    """Finds the job of a process by session, parents and the mark in its environment; remembers what it has found."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[int, float | None], int | None] = {}

    def of(self, process: ProcessOnCard, standing: list[Standing]) -> int | None:
        """The job that a process belongs to, also one that has ended; None: none of ours."""
        key = (process.pid, process.started_s)
        found = self._known.get(key)
        if found is not None:
            return found
        found = (
            _by_session(process.pid, standing) or _by_parents(process.pid, standing) or _by_mark(process.pid, standing)
        )
        if found is not None:
            self._known[key] = found
        if len(self._known) > 10000:
            self._known.clear()
        return found


def _by_session(pid: int, placed: list[Standing]) -> int | None:
    if not hasattr(os, "getsid"):
        return None
    with suppress(OSError):
        session = os.getsid(pid)
        return next((each.job for each in placed if session in (each.pid, each.command_pid)), None)
    return None


def _by_parents(pid: int, placed: list[Standing]) -> int | None:
    numbers = {number: each.job for each in placed for number in (each.pid, each.command_pid) if number is not None}
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for parent in [process, *process.parents()[:MOST_PARENTS]]:
            if parent.pid in numbers:
                return numbers[parent.pid]
    return None


def _by_mark(pid: int, placed: list[Standing]) -> int | None:
    with suppress(OSError):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        for each in placed:
            if f"{MARK}={each.ticket}".encode() in environment:
                return each.job
    return None


def host_bytes(placed: Iterable[Standing]) -> dict[int, int]:
    """Main memory that each job's processes hold, bytes."""
    by_session = {each.pid: each.job for each in placed if each.pid is not None}
    held: dict[int, int] = dict.fromkeys(by_session.values(), 0)
    if not by_session or not hasattr(os, "getsid"):
        return {}
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            job = by_session.get(os.getsid(pid))
            if job is not None and pid not in by_session:
                held[job] += psutil.Process(pid).memory_info().rss
    return held


@dataclass(slots=True)
class IdleTally:
    """Since when each process on a card has computed nothing, as far as it was watched."""

    _active: dict[tuple[str, int, float | None], float] = field(default_factory=lambda: {})

    def holders(
        self, card: str, others: Iterable[ProcessOnCard], computes: bool | None, now: float
    ) -> tuple[MemoryHolder, ...]:
        """The others on a card, largest first; ``now`` in seconds of any clock that only goes forward."""
        found: list[MemoryHolder] = []
        for process in others:
            key = (card, process.pid, process.started_s)
            busy = process.sm_utilisation > 0.0 if process.sm_utilisation is not None else computes
            since = now if busy in (True, None) else self._active.get(key, now)
            self._active[key] = since
            found.append(
                MemoryHolder(
                    pid=process.pid,
                    name=process.name or "?",
                    memory_bytes=process.memory_bytes,
                    idle_s=None if busy in (True, None) else now - since,
                )
            )
        return tuple(sorted(found, key=lambda each: -(each.memory_bytes or 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The processes of a card by whose they are.

    ``held``: bytes by living job (None: not told). ``left``: of jobs that have ended. ``strangers``: not ours.
    """

    held: Mapping[int, int | None]
    left: tuple[ProcessOnCard, ...] = ()
    strangers: tuple[ProcessOnCard, ...] = ()


def sorted_out(owners: Owners, processes: Iterable[ProcessOnCard], placed: list[Standing]) -> Sorted:
    """Sort a card's processes; one of ours that has ended since the table was read is left out."""
    living = {each.job for each in placed}
    held: dict[int, int | None] = {}
    left: list[ProcessOnCard] = []
    strangers: list[ProcessOnCard] = []
    for process in processes:
        job = owners.of(process, placed)
        if job is None:
            strangers.append(process)
        elif start_mark(process.pid) is None:
            continue
        elif job not in living:
            left.append(process)
        else:
            so_far = held.get(job, 0)
            held[job] = None if so_far is None or process.memory_bytes is None else so_far + process.memory_bytes
    return Sorted(held=held, left=tuple(left), strangers=tuple(strangers))
