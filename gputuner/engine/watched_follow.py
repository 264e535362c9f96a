"""Follow the user's command to its end: its processes, its cards, and what the hooks inside it tell.

Nothing here touches the command but by reading; whatever fails here ends the watching, never the command.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gputuner.analysis.watching_records import window_of
from gputuner.engine.inbox import CommandGone
from gputuner.engine.loop import Loop
from gputuner.engine.stage import Stage
from gputuner.engine.watched import WatchedCommand
from gputuner.engine.watched_records import RecordTail, read_records
from gputuner.model.cards import CardInfo
from gputuner.model.events import CommandEnded, CommandSampled, CommandStarted, Warned
from gputuner.model.followed import TrainingNow
from gputuner.model.samples import XidSeen
from gputuner.model.steps import Followed
from gputuner.model.watched import Observed, TreeUse
from gputuner.telemetry.card_use import CardTally
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.process_tree import ProcessTree
from gputuner.workloads.observed.environment import FOLDER

LOOK_S, LATER_S, LATER_FROM_S = 2.0, 5.0, 600.0
"""Time between two looks at the processes, at first and once the command has run for long."""
READ_EVERY = 3
"""The records are read on every third look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What a run follows.

    ``told``: the command as it may be told. ``records``: the folder that the hooks write to; None: there are none.
    ``collector_s``: processor time that the telemetry has used so far.
    """

    command: WatchedCommand
    told: str
    records: Path | None = None
    collector_s: Callable[[], float] = lambda: 0.0


class Follower:
    """Follows one command; the loop hands it every tick while ``follow`` waits."""

    def __init__(
        self, following: Following, loop: Loop, stage: Stage, cards: Sequence[CardInfo], tell: Callable[..., None]
    ) -> None:
        """``tell(EventClass, **fields)`` stores and passes on."""
        self._following = following
        self._command = following.command
        self._loop = loop
        self._stage = stage
        self._tell = tell
        records = following.records
        self._tree = ProcessTree(self._command.pid, None if records is None else (FOLDER, str(records)))
        self._tallies = {card.uuid: CardTally(card) for card in cards if not card.is_cpu}
        self._tail = RecordTail(records)
        self._xids: set[tuple[str, int]] = set()
        self._memory_peak = 0
        self._looks = 0
        self._own_before_s = self._own_cpu_s()

    def take(self, tick: Tick) -> None:
        """Count a tick of the cards."""
        for sample in tick.samples:
            if sample.card in self._tallies:
                self._tallies[sample.card].take(sample)
        for xid in tick.xids:
            self._take_xid(xid)
        for table in tick.processes:
            if table.card in self._tallies:
                self._tallies[table.card].take_table(table, self._tree.pids, self._tree.take(table))

    def _take_xid(self, seen: XidSeen) -> None:
        """Tell an error that the driver reports, each kind once for a card."""
        tally = self._tallies.get(seen.card)
        if tally is not None and (seen.card, seen.xid) not in self._xids:
            self._xids.add((seen.card, seen.xid))
            self._tell(Warned, code="watch_xid", params={"card": tally.title, "xid": seen.xid})

    def follow(self) -> Followed:
        """Wait for the command's end and tell what is seen meanwhile.

        Raises:
            Interrupted: the watching must end before the command does.
        """
        command = self._command
        hooks = self._following.records is not None
        self._tell(CommandStarted, command=self._following.told, pid=command.pid, hooks=hooks)
        command.on_end(lambda: self._stage.inbox.put(CommandGone()))
        self._look()
        tables = (self._stage.processes(uuid) for uuid in self._tallies)
        self.take(Tick(t_ns=self._loop.now_ns(), processes=tuple(table for table in tables if table is not None)))
        while command.exit_code is None:
            now_ns = self._loop.now_ns()
            look_s = LOOK_S if now_ns - command.started_ns < LATER_FROM_S * 1e9 else LATER_S
            self._loop.pause(now_ns + int(look_s * 1e9))
            self._look()
        return self._end()

    def _look(self) -> None:
        now = self._tree.look()
        if now is None:
            return
        self._memory_peak = max(self._memory_peak, now.memory_bytes)
        trainings: tuple[TrainingNow, ...] | None = None
        if self._looks % READ_EVERY == 0:
            trainings = self._tail.look()
        self._looks += 1
        held = tuple(tally.held for tally in self._tallies.values() if tally.held is not None and tally.used)
        self._tell(CommandSampled, tree=now, cards=held, trainings=trainings)

    def _end(self) -> Followed:
        command = self._command
        own_cpu_s = self._own_cpu_s() - self._own_before_s  # what comes now costs the command nothing
        observed = read_records(self._following.records)
        use = self._use(observed)
        self._tell(
            CommandEnded,
            exit_code=command.exit_code,
            signal=command.signal,
            duration_s=use.duration_s,
            hooks=self._following.records is not None,
            use=use,
            observed=observed,
            processes=self._tree.processes(),
            left_running=self._tree.left(),
            own_cpu_s=own_cpu_s,
        )
        return Followed(observed=observed, use=use)

    def _use(self, observed: Sequence[Observed]) -> TreeUse:
        """The command's use of the machine; of its cards between the first and the last step of its trainings."""
        command = self._command
        end_ns = command.ended_ns or self._loop.now_ns()
        t0_ns, t1_ns = _window(observed, command.started_ns, end_ns)
        processes = self._tree.processes()
        used = command.used
        return TreeUse(
            duration_s=(end_ns - command.started_ns) / 1e9,
            cpu_s=used.cpu_s if used is not None else sum(process.cpu_s for process in processes),
            cores=self._cores(),
            rss_peak_bytes=max(self._memory_peak, *(process.memory_peak_bytes for process in processes), 0) or None,
            memory_limit_bytes=self._memory_limit(),
            swapped_bytes=None,
            cards=tuple(tally.use(t0_ns, t1_ns) for tally in self._own_cards(observed)),
            io_read_bytes=_total(process.read_bytes for process in processes),
            io_written_bytes=_total(process.written_bytes for process in processes),
            processes=self._tree.count,
        )

    def _own_cards(self, observed: Sequence[Observed]) -> list[CardTally]:
        """The cards that the command used: as the driver tells, as its trainings tell, else those that it filled.

        In a container the driver may name no process at all, or name them by numbers that are not ours.
        """
        told = {uuid.lower() for each in observed for uuid in each.uuids}
        tallies = list(self._tallies.values())
        own = [tally for tally in tallies if tally.used or tally.uuid.lower() in told]
        return own or [tally for tally in tallies if tally.filled]

    def _cores(self) -> float | None:
        """Cores that the command may use: affinity, and the container's quota where there is one."""
        cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        quota = self._stage.host().readings.get("cgroup_quota_cores")
        limit = quota.value if quota is not None else None
        return min(cores, float(limit)) if isinstance(limit, (int, float)) and limit > 0 else cores

    def _memory_limit(self) -> int | None:
        memory = self._stage.host().readings.get("memory_total_bytes")
        return int(memory.value) if memory is not None and isinstance(memory.value, (int, float)) else None

    def _own_cpu_s(self) -> float:
        return time.process_time() + self._following.collector_s()


def _window(observed: Sequence[Observed], started_ns: int, ended_ns: int) -> tuple[int, int]:
    """From the first to the last step (ns on the run's clock), or the whole time where there was none."""
    window = window_of(observed)
    if window is None:
        return started_ns, ended_ns
    unix_ns = time.time_ns() - time.monotonic_ns()
    first, last = (int(each * 1e9) - unix_ns for each in window)
    inside = max(started_ns, first), min(ended_ns, last)
    return inside if inside[1] > inside[0] else (started_ns, ended_ns)


def _total(parts: Iterable[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
