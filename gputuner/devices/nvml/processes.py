# pyright: standard
"""The process table of a card: who holds memory, who computes, and what nobody visible owns."""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import call as called
from operator import length_hint
from struct import Struct, pack
from typing import Any

from gputuner.devices.nvml.card import ASK_AGAIN_NS, Asker
from gputuner.devices.nvml.errors import Failed, reason_of
from gputuner.devices.nvml.fast import MEMORY
from gputuner.devices.nvml.people import People
from gputuner.devices.nvml.plausible import ALL_ONES_32, ALL_ONES_64
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, ProcessOnCard


def _versions(name: str) -> tuple[str, ...]:
    return (f"{name}_v3", f"{name}_v2", name)


_KINDS: tuple[tuple[bool, tuple[str, ...]], ...] = (
    (True, _versions("nvmlDeviceGetComputeRunningProcesses")),
    (False, _versions("nvmlDeviceGetGraphicsRunningProcesses")),
)
_LEARN_AGAIN_NS = 60 * 10**9
"""After this time it is tried again to make the questions of ``Nobody`` ready."""
WINDOW_US = 5_000_000
"""Utilisation samples older than this are not what a process does now."""


@dataclass(slots=True)
class _Use:
    compute: bool
    memory_bytes: int | None


class Nobody:
    """The questions whether there is a process at all and how much memory is in use, made ready once.

    A card without processes is the rule on most machines. The binding makes structures for each of these questions.
    """

    _USED = Struct("=32xQ")

    def __init__(self, asker: Asker, names: list[str]) -> None:
        """Ask about the lists of ``names``, which this card has."""
        self._until_ns = asker.t_ns + ASK_AGAIN_NS
        self._info = asker.card.info
        self._memory = bytearray(pack("=I36x", 0x2000028))
        self._counts = (ctypes.c_uint * len(names))()
        view = ctypes.c_char.from_buffer(self._memory)
        self._calls: list[Callable[[], int]] = []
        self._names: list[str] = []
        self._left: Iterator[Callable[[], int]] = iter(())
        at = ctypes.addressof(self._counts)
        for place, name in enumerate(names):
            self._bind(asker, name, ctypes.c_void_p(at + 4 * place), None)
        self._bind(asker, MEMORY[0], ctypes.c_void_p(ctypes.addressof(view)))
        self._view = view
        self._complete = len(self._calls) == len(names) + 1

    def _bind(self, asker: Asker, name: str, *args: Any) -> None:
        function = asker.binding.pointer(name)
        if function is not None:
            self._calls.append(partial(function, asker.handle, *args))
            self._names.append(name)

    def used_bytes(self, asker: Asker) -> int | None:
        """Memory in use if no process is on the card; None if there are some or it must be asked the ordinary way."""
        if not self._complete or asker.t_ns >= self._until_ns or asker.card.info is not self._info:
            return None
        self._left, asker.out = iter(self._calls), self
        refused = any(map(called, self._left))  # a list that does not fit into no room, or a failure
        asker.out = None
        if refused:
            return None
        used = int(self._USED.unpack_from(self._memory)[0])
        return None if any(self._counts) or used == ALL_ONES_64 else used

    @property
    def asking(self) -> str | None:
        """Name of the call that is out; from any thread."""
        place = len(self._calls) - length_hint(self._left) - 1
        return self._names[place] if 0 <= place < len(self._names) else None


class ProcessTable:
    """Reads the processes of one card; remembers the newest utilisation sample, which the driver asks for."""

    def __init__(self) -> None:
        """Begin with no utilisation sample seen."""
        self._people = People()
        self._last_seen_us = 0
        self._nobody: Nobody | None = None
        self._learn_ns = 0

    def read(self, asker: Asker, t_ns: int, unix_us: int) -> CardProcesses:
        """The table at ``t_ns``; ``unix_us`` is the calendar time in µs, by which the driver stamps utilisation.

        Raises:
            DeviceLost: the card is gone.
        """
        nobody, self._nobody = self._nobody, None
        used = nobody.used_bytes(asker) if nobody is not None else None
        if used is not None:
            self._nobody = nobody
            return CardProcesses(card=asker.card.info.uuid, t_ns=t_ns, processes=(), unowned_bytes=used)
        uses: dict[int, _Use] = {}
        refused: Failed | None = None
        told: list[str] = []
        for compute, names in _KINDS:
            answer = asker.first(names)
            if type(answer) is Failed:
                refused = answer if compute else refused
                continue
            told.append(next(name for name in names if asker.refused.get((name,), (None, 0))[1] <= t_ns))
            for entry in answer:
                self._add(asker, uses, entry, compute)
        if refused is not None and not uses:
            return CardProcesses(card=asker.card.info.uuid, t_ns=t_ns, processes=(), reason=reason_of(refused.code))
        if refused is None and not uses and t_ns >= self._learn_ns:
            self._nobody = Nobody(asker, told)
            self._learn_ns = t_ns + _LEARN_AGAIN_NS
        busy = self._utilisation(asker, unix_us) if uses else {}
        self._people.keep(set(uses))
        silent = Reason.NOT_WITH_MIG if asker.card.mig_enabled else Reason.DRIVER_MODEL
        rows: list[ProcessOnCard] = []
        for pid, use in uses.items():
            person = self._people.find(pid)
            rows.append(
                ProcessOnCard(
                    pid=pid,
                    name=person.name,
                    user=person.user,
                    command=person.command,
                    memory_bytes=use.memory_bytes,
                    memory_reason=silent if use.memory_bytes is None else None,
                    compute=use.compute,
                    started_s=person.started_s,
                    sm_utilisation=busy.get(pid),
                )
            )
        return CardProcesses(
            card=asker.card.info.uuid, t_ns=t_ns, processes=tuple(rows), unowned_bytes=_unowned(asker, uses)
        )

    def _add(self, asker: Asker, uses: dict[int, _Use], entry: Any, compute: bool) -> None:
        """Take one entry: a process may be in both lists, and once per MIG instance."""
        pid = int(entry.pid)
        if pid in (0, ALL_ONES_32):  # the sign of a structure that binding and driver read differently
            asker.rejected += 1
            return
        raw = entry.usedGpuMemory
        memory = None if raw is None or int(raw) in (ALL_ONES_32, ALL_ONES_64) else int(raw)
        use = uses.get(pid)
        if use is None:
            uses[pid] = _Use(compute, memory)
        elif use.compute == compute and asker.card.mig_enabled and memory is not None and use.memory_bytes is not None:
            use.memory_bytes += memory
        else:
            use.compute = use.compute or compute
            use.memory_bytes = use.memory_bytes if memory is None else max(memory, use.memory_bytes or 0)

    def _utilisation(self, asker: Asker, unix_us: int) -> dict[int, float]:
        """Share of the SMs' time by pid, newest sample of each, without garbage and stale ones.

        The shares are of overlapping periods: their sum is not the card's load.
        """
        answer = asker.ask_about("nvmlDeviceGetProcessUtilization", self._last_seen_us)
        if type(answer) is Failed:
            return {}
        newest: dict[int, tuple[int, float]] = {}
        for sample in answer:
            pid, stamp, share = int(sample.pid), int(sample.timeStamp), int(sample.smUtil)
            if pid in (0, ALL_ONES_32) or stamp == 0 or share > 100:
                asker.rejected += 1
                continue
            self._last_seen_us = max(self._last_seen_us, stamp)
            if unix_us - stamp <= WINDOW_US and stamp >= newest.get(pid, (0, 0.0))[0]:
                newest[pid] = (stamp, share / 100)
        return {pid: share for pid, (_, share) in newest.items()}


def _unowned(asker: Asker, uses: dict[int, _Use]) -> int | None:
    """Memory in use that no visible process owns, in bytes; None if a process's memory is unknown."""
    if any(use.memory_bytes is None for use in uses.values()):
        return None
    memory = asker.first(MEMORY)
    if type(memory) is Failed:
        return None
    return max(0, int(memory.used) - sum(use.memory_bytes or 0 for use in uses.values()))
