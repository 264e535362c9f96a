"""How often cards are read, and when a call counts as hung."""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.model.errors import UsageError

MOST_HZ = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of the tiers and deadlines.

    Raises:
        UsageError: a rate over 10 Hz (it would hold the driver's lock most of the time) or not above zero.
    """

    fast_hz: float = 2.0
    slow_s: float = 5.0
    hang_s: float = 5.0
    """A call that has not come back for so long hangs (real ones took up to 3.5 s)."""
    start_s: float = 60.0
    """Opening the library and finding the cards may take so long (driver loaded anew, eight cards)."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.fast_hz <= MOST_HZ:
            raise UsageError("rate_out_of_range", f"sampling rate must lie between 0 and {MOST_HZ:g} Hz", most=MOST_HZ)
        if min(self.slow_s, self.hang_s, self.start_s) <= 0:
            raise UsageError("rate_out_of_range", "periods must be above zero", most=MOST_HZ)

    @property
    def silence_s(self) -> float:
        """After so long without a sign of life the collector hangs, in seconds (it gives one per fast time)."""
        return self.hang_s + 1 / self.fast_hz

    def arguments(self) -> list[str]:
        """The collector's arguments that say the same."""
        return [f"--fast-hz={self.fast_hz!r}", f"--slow-s={self.slow_s!r}", f"--hang-s={self.hang_s!r}"]


def rates_from(arguments: Sequence[str]) -> Rates:
    """Rates out of ``arguments()``.

    Raises:
        UsageError: an argument that is none of these.
    """
    found: dict[str, float] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        try:
            found[{"--fast-hz": "fast_hz", "--slow-s": "slow_s", "--hang-s": "hang_s"}[name]] = float(value)
        except (KeyError, ValueError) as error:
            raise UsageError("unknown_argument", f"unknown argument {argument!r}", argument=argument) from error
    return Rates(
        fast_hz=found.get("fast_hz", 2.0),
        slow_s=found.get("slow_s", 5.0),
        hang_s=found.get("hang_s", 5.0),
    )
