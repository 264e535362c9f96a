"""What this room needs of a CUDA runtime: compile, allocate, launch, time. ``cuda_runtime.py`` is the real one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Argument = int | float
"""Of a kernel: an ``int`` is passed as 64 bits (pointers too), a ``float`` as a 64-bit float."""


class Kernel(Protocol):
    """A kernel that can be launched."""


class Mark(Protocol):
    """A moment on the card's own clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """How a kernel is spread: ``blocks`` of ``threads`` each."""

    blocks: int
    threads: int


class Runtime(Protocol):
    """One card. All work goes to one stream, in order.

    Raises:
        MemoryError: an allocation does not fit.
        RuntimeError: the card or driver answered with an error; its name is in the text.
    """

    def start(self) -> None:
        """Make the context."""
        ...

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, Kernel]:
        """The kernels ``names`` (``extern "C"``) of CUDA C++ ``source``, compiled for this card."""
        ...

    def allocate(self, size: int) -> int:
        """Address of ``size`` fresh bytes."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def launch(self, kernel: Kernel, grid: Grid, *arguments: Argument) -> None:
        """Queue a kernel."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Copy to the card and wait."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Copy from the card, behind all that is queued, and wait."""
        ...

    def clear(self, address: int, size: int) -> None:
        """Queue filling with zeros."""
        ...

    def mark(self) -> Mark:
        """Queue a mark."""
        ...

    def wait(self, mark: Mark) -> None:
        """Sleep until a mark has passed."""
        ...

    def seconds(self, start: Mark, end: Mark) -> float:
        """Between two marks that have passed."""
        ...

    def synchronise(self) -> None:
        """Wait until everything queued has run."""
        ...

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the card."""
        ...
