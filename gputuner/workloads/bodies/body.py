"""What a trial needs of a body: something that does one iteration again and again."""

from dataclasses import dataclass
from typing import Protocol

Fact = float | int | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A smaller piece of the same work, timed before the real size is tried.

    ``seconds`` it took, ``work`` it did (as ``Body.work``), ``expected_s`` one real iteration will take by it, and
    ``notes`` that say what size it was.
    """

    seconds: float
    work: dict[str, float]
    expected_s: float
    notes: dict[str, Fact]


class Body(Protocol):
    """A workload set up on a device."""

    work: dict[str, float]
    """Per iteration: ``flop``, ``bytes`` (read + written) or ``samples``."""

    def probe(self, left_s: float) -> Probe | None:
        """Time a smaller piece, where one iteration could exceed ``left_s`` (seconds of budget left); None: no need."""
        ...

    def iterate(self) -> None:
        """Queue one iteration on the device."""
        ...

    def mark(self) -> None:
        """What is counted counts from here (end of the warm-up)."""
        ...

    def relative_error(self) -> float | None:
        """Difference of the last result from a float64 reference; None: not defined for this work.

        Raises:
            WrongResultError: larger than rounding explains.
        """
        ...

    def notes(self) -> dict[str, Fact]:
        """Facts for the reader of the figures."""
        ...
