# pyright: standard
"""One process' watch over its own training: takes what the hooks see, sums it, writes it down now and then.

States: on → off, for good, at the first failure of ours (a last line says why). A forked child begins anew and writes
nothing before its first step or batch, so that a loader's workers never look like trainings.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from . import settings
from .batches import Measure
from .blame import ours
from .card import Card
from .folding import DRAWN, OPENED, Folding
from .record import Record, told
from .tally import FIRST_PERIOD_S, Period, Tally

try:
    import resource
except ImportError:  # Windows
    resource = None

FACTS_EVERY = 20
"""Lines between two looks at the settings."""
LOOK_FIRST = 16
"""Batches that are all looked into …"""
LOOK_MASK = 7
"""… and then one in eight, which stands for those up to the next."""
UNSTEPPED = 4
"""Periods after which a line is due though no optimizer stepped."""
OF_THREAD = ("thread_s", "queued_s")
"""Figures of the thread that writes: told only where it wrote the line before as well."""
SUM_EVERY_S = 1.0
"""Longest time until notes are summed, however rare lines have become."""
MOST_LOADERS = 6
"""Different loader settings that are told."""


class Watch:
    """The notes of this process and where their sums are written. All public methods but ``fail`` may raise."""

    def __init__(self, torch, folder: str) -> None:
        self.on = True
        self._torch = torch
        self._folder = folder
        self._measure = Measure(torch)
        self.number = getattr(torch._C._autograd, "_get_sequence_nr", _no_number)
        self.autocast: str | None = None
        self._begin()

    def _begin(self) -> None:
        self.notes = []
        self.due_s = time.perf_counter()  # when the notes are to be summed …
        self.late_s = self.due_s + UNSTEPPED * FIRST_PERIOD_S  # … if no optimizer steps
        self._line_s = self.due_s  # when the next line is due
        self.card = Card(self._torch)
        self._lock = threading.Lock()
        self._record = Record(self._folder)
        self._period = Period()
        self._tally = Tally(self.due_s)
        self._folding = Folding()
        self._loaders = []
        self._opened = {}  # id of an iterator: which of the loaders
        self._fed = {}  # which of the loaders: batches looked at that were trained on
        self._optimizer = None
        self._facts = {}
        self._lines = 0
        self._over = False
        self.asked = 0
        self.size = None
        self._usage = usage()

    def forked(self) -> None:
        """This process is a fork: nothing of the parent's sums is its own."""
        try:
            self._begin()
        except Exception:
            self.on = False

    def fail(self, error: Exception) -> bool:
        """Switch off for good and say why; False if the error is none of ours but came through a signal handler."""
        if not ours(error):
            return False
        self.on = False
        try:
            self._record.write({"k": "off", "pid": os.getpid(), "why": told(error)})
        except Exception:
            return True
        return True

    def stepped(self, optimizer, now_s: float) -> None:
        """An optimizer has stepped, and notes are to be summed."""
        if self._optimizer is None:
            self._optimizer = settings.of_optimizer(self._torch, optimizer)
        self.flush(now_s)

    def look(self, iterator, batch) -> None:
        """What the batch holds, and which loader it came from; stands for those up to the next look."""
        if self._torch.is_grad_enabled():
            self.size = self._measure.first_size(batch)
            which = self._opened.get(id(iterator))
            self._fed[which] = self._fed.get(which, 0) + 1

    def hidden(self, waited_s: float) -> float:
        """The part of a wait behind which the card still worked (s); half of it where the card ended meanwhile."""
        return waited_s if self.card.busy() else waited_s / 2

    def opened(self, loader, iterator, now_s: float, waited_s: float) -> None:
        """An epoch has begun: the loader's workers are up."""
        self.notes.append((DRAWN, now_s, threading.get_ident(), waited_s, 0.0, None, OPENED, None))
        seen = settings.of_loader(loader)
        if seen not in self._loaders and len(self._loaders) < MOST_LOADERS:
            self._loaders.append(seen)
            self._facts = {}
        if seen in self._loaders:
            while len(self._opened) >= MOST_LOADERS:
                self._opened.pop(next(iter(self._opened)))
            self._opened[id(iterator)] = self._loaders.index(seen)

    def end(self) -> None:
        """The program ends; once."""
        if self.leave() and not self._over:
            self._over = True
            self.card.forget()
            self._record.write({"k": "end", "t": round(time.time(), 3)})

    def leave(self) -> bool:
        """The program may be about to end or to become another: write down what was noted; whether there is any."""
        if not self.on or self._over or not (self._record.begun or self.notes):
            return False
        self._facts = {}
        self.flush(time.perf_counter(), ending=True)
        return True

    def flush(self, now_s: float, *, ending: bool = False) -> None:
        """Sum up, and write a line if one is due. Whoever comes while another thread does so, need not."""
        if not self._lock.acquire(False):
            return
        try:
            notes, self.notes = self.notes, []
            self._folding.fold(notes, self._tally)
            if now_s >= self._line_s or ending:
                self._write(now_s)
            after_s = min(self._line_s, now_s + SUM_EVERY_S)
            self.due_s = now_s if self._optimizer is None else after_s  # the first that steps is looked at in any case
            self.late_s = after_s + UNSTEPPED * FIRST_PERIOD_S
            self._tally.own_s += time.perf_counter() - now_s
        finally:
            self._lock.release()

    def _write(self, now_s: float) -> None:
        if not self._record.begun:
            self._record.write({**settings.hello(self._torch), "t": round(time.time(), 3)})
        if self._lines % FACTS_EVERY in (0, 1) or not self._facts:
            self._tell_facts()
        line = {"k": "window", "t": round(time.time(), 3), **self._tally.line(now_s), **self.card.memory()}
        spent = usage()
        for name, value in spent.items():
            before = self._usage.get(name)
            if name == "rss_peak":
                line[name] = value
            elif before is not None and (name not in OF_THREAD or self._usage.get("thread") == spent.get("thread")):
                line[name] = round(value - before, 6)
        line.pop("thread", None)
        self._record.write(line)
        self._usage, self._tally = spent, Tally(now_s)
        self._lines += 1
        self._period.passed()
        self._line_s = now_s + self._period.seconds

    def _tell_facts(self) -> None:
        facts = {
            **settings.of_torch(self._torch, self.card),
            **(self._optimizer or {}),
            "autocast": self.autocast,
            "loaders": [self._loaders[which] for which in sorted(range(len(self._loaders)), key=self._least_fed)],
        }
        if facts != self._facts:
            self._record.write({"k": "facts", **facts})
            self._facts = facts

    def _least_fed(self, which: int) -> int:
        return -self._fed.get(which, 0)


def _no_number() -> int:
    return 0


def usage() -> dict[str, float]:
    """Processor time (s), page faults and peak memory (bytes) of this process and this thread so far."""
    told: dict[str, float] = {
        "cpu_s": time.process_time(),
        "thread_s": time.thread_time(),
        "thread": threading.get_ident(),
    }
    queued_s = _queued_s()
    if queued_s is not None:
        told["queued_s"] = queued_s
    if resource is not None:
        mine = resource.getrusage(resource.RUSAGE_SELF)
        told["system_s"] = mine.ru_stime
        told["minor"] = mine.ru_minflt
        told["major"] = mine.ru_majflt
        told["rss_peak"] = mine.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return told


def _queued_s() -> float | None:
    """How long this thread was ready to run and had no core so far (s); None where the system does not say."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None
