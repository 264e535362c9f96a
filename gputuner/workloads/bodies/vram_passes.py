"""The passes of the VRAM test over any memory that can be written and summed by rows. No library.

Every pass writes all blocks before it reads any, so that a place which shares its cells with another holds a foreign
word when it is read, however far apart the two are.
"""

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.bodies.vram_findings import MOST_PER_BLOCK, MOST_ROWS, Seen
from gputuner.workloads.bodies.vram_patterns import ROW_BYTES, TRAFFIC, Pattern, passes

Hold = Callable[[float, Callable[[], bool]], None]
"""Let so many seconds pass, idle or under load; ends early once the second says so."""


class Memory(Protocol):
    """Rows of 2048 words in blocks."""

    blocks: "tuple[range, ...]"
    """The numbers of each block's rows."""

    def prepare(self, pattern: Pattern) -> None:
        """Have the template and the keys of a pattern at hand."""
        ...

    def fill(self, block: int) -> None:
        """Write the prepared pattern to a block."""
        ...

    def check(self, block: int) -> None:
        """Sum the rows of a block, and compare with the prepared pattern."""
        ...

    def settle(self) -> None:
        """Wait until all that was asked for is done: a device's queue runs behind its host."""
        ...

    def found(self) -> "list[int]":
        """Rows whose sum was wrong in the checks since the last call; waits for them."""
        ...

    def row(self, row: int) -> "list[int]":
        """The words of a row, unsigned."""
        ...


class Passes:
    """Cycles of passes over a memory; each pass is a part."""

    def __init__(self, memory: Memory, *, heat: str, hold_s: float, hold: Hold, seed: int) -> None:
        self._memory, self._heat, self._hold_s, self._hold, self._seed = memory, heat, hold_s, hold, seed
        self._rows = sum(len(block) for block in memory.blocks)
        self._before: Pattern | None = None
        self._checked = 0

    def parts(self, pace: Pace) -> "Iterator[Part]":
        """Whole cycles, the first in any case; a pass that is stopped tells how far it came."""
        cycle, cycle_s = 0, 0.0
        while cycle == 0 or pace.left_s() > cycle_s:
            began = time.monotonic()
            for name, patterns in passes(cycle, self._seed):
                yield self._pass(name, patterns, cycle, pace)
                if pace.stopped():
                    return
            cycle, cycle_s = cycle + 1, time.monotonic() - began

    def _pass(self, name: str, patterns: "tuple[Pattern, ...]", cycle: int, pace: Pace) -> Part:
        seen, self._checked = Seen(), 0
        t0_ns, held_s = time.monotonic_ns(), 0.0
        for pattern in patterns:
            self._write(pattern, pace)
            if name == "retention":
                self._memory.settle()
                began = time.monotonic()
                self._hold(self._hold_s, pace.stopped)
                held_s = time.monotonic() - began
            if name == "inversions":
                self._turn(pattern, seen, pace)
            else:
                self._read(pattern, seen, pace)
        t1_ns = time.monotonic_ns()
        times = TRAFFIC[name] // 2
        return Part(
            params={"pass": name, "cycle": cycle, "heat": self._heat},
            iteration_s=(max(1e-9, (t1_ns - t0_ns) / 1e9 - held_s),),
            t0_ns=t0_ns,
            t1_ns=t1_ns,
            work={"bytes": 2.0 * self._checked},
            notes={**seen.notes(), "checked_bytes": self._checked // times, "held_s": round(held_s, 3)},
        )

    def _write(self, pattern: Pattern, pace: Pace) -> None:
        self._memory.prepare(pattern)
        for block in range(len(self._memory.blocks)):
            if pace.stopped():
                return
            self._memory.fill(block)

    def _read(self, pattern: Pattern, seen: Seen, pace: Pace) -> None:
        for block in range(len(self._memory.blocks)):
            if pace.stopped():
                break
            self._memory.check(block)
            self._checked += len(self._memory.blocks[block]) * ROW_BYTES
        self._judge(pattern, seen)
        self._before = pattern

    def _turn(self, pattern: Pattern, seen: Seen, pace: Pace) -> None:
        """Upwards: read, write turned; downwards: read those, write back; and read all."""
        up = list(range(len(self._memory.blocks)))
        for order, present in ((up, pattern), (up[::-1], pattern.turned())):
            for block in order:
                if pace.stopped():
                    return
                self._memory.prepare(present)
                self._memory.check(block)
                self._checked += len(self._memory.blocks[block]) * ROW_BYTES
                self._judge(present, seen)
                self._memory.prepare(present.turned())
                self._memory.fill(block)
            self._before = present
        self._memory.prepare(pattern)
        self._read(pattern, seen, pace)

    def _judge(self, pattern: Pattern, seen: Seen) -> None:
        """Look at the rows whose sums were wrong."""
        wrong = self._memory.found()
        by_block: dict[int, int] = {}
        starts = [block.start for block in self._memory.blocks]
        for place, row in enumerate(wrong):
            block = sum(start <= row for start in starts)
            by_block[block] = by_block.get(block, 0) + 1
            if len(seen.rows) >= MOST_ROWS:
                seen.leave(len(wrong) - place)
                return
            if by_block[block] > MOST_PER_BLOCK:
                seen.leave(1)
                continue
            seen.take(row, self._memory.row(row), self._memory.row(row), pattern, self._before, self._rows)
