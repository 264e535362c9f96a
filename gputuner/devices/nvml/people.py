# pyright: standard
"""Who a process on a card is, from the host (psutil), remembered while it lives."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Name, user and command of a process as far as they may be seen."""

    name: str | None = None
    user: str | None = None
    command: str | None = None
    started_s: float | None = None


class People:
    """Looks processes up once per pid and start time."""

    def __init__(self) -> None:
        """Begin knowing nobody."""
        self._known: dict[int, Person] = {}

    def find(self, pid: int) -> Person:
        """The process ``pid``; empty if it cannot be seen (ended, another container)."""
        try:
            process = psutil.Process(pid)
            started = process.create_time()
        except (psutil.Error, OSError, ValueError, OverflowError):
            self._known.pop(pid, None)
            return Person()
        known = self._known.get(pid)
        if known is None or known.started_s != started:
            known = self._known[pid] = _look(process, started)
        return known

    def keep(self, pids: set[int]) -> None:
        """Forget everyone else."""
        self._known = {pid: person for pid, person in self._known.items() if pid in pids}


def _look(process: psutil.Process, started: float) -> Person:
    def ask(question: str) -> str | None:
        try:
            answer = getattr(process, question)()
        except (psutil.Error, OSError, KeyError):
            return None
        return " ".join(answer) if isinstance(answer, list) else str(answer)

    return Person(name=ask("name"), user=ask("username"), command=ask("cmdline") or None, started_s=started)
