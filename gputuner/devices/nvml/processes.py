# pyright: standard
"""The process table of a card: who holds memory, who computes, and what nobody visible owns."""

from dataclasses import dataclass
from typing import Any

from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import Failed, reason_of
from gputuner.devices.nvml.fast import MEMORY
from gputuner.devices.nvml.people import People
from gputuner.devices.nvml.plausible import ALL_ONES_32, ALL_ONES_64
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, ProcessOnCard

_KINDS: tuple[tuple[bool, str], ...] = (
    (True, "nvmlDeviceGetComputeRunningProcesses"),
    (False, "nvmlDeviceGetGraphicsRunningProcesses"),
)
WINDOW_US = 5_000_000
"""Utilisation samples older than this are not what a process does now."""


@dataclass(slots=True)
class _Use:
    compute: bool
    memory_bytes: int | None


class ProcessTable:
    """Reads the processes of one card; remembers the newest utilisation sample, which the driver asks for."""

    def __init__(self) -> None:
        """Begin with no utilisation sample seen."""
        self._people = People()
        self._last_seen_us = 0

    def read(self, asker: Asker, t_ns: int, unix_us: int) -> CardProcesses:
        """The table at ``t_ns``; ``unix_us`` is the calendar time in µs, by which the driver stamps utilisation.

        Raises:
            DeviceLost: the card is gone.
        """
        uses: dict[int, _Use] = {}
        refused: Failed | None = None
        for compute, name in _KINDS:
            answer = asker.first((f"{name}_v3", f"{name}_v2", name))
            if type(answer) is Failed:
                refused = answer if compute else refused
                continue
            for entry in answer:
                self._add(asker, uses, entry, compute)
        if refused is not None and not uses:
            return CardProcesses(card=asker.card.info.uuid, t_ns=t_ns, processes=(), reason=reason_of(refused.code))
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
