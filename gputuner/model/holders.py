"""Who uses a card, or only reads it, in another gputuner."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process of gputuner, as far as it has told of itself; an unknown part is None or empty."""

    pid: int | None = None
    command: str = ""
    """Its command line, without the folder of the program."""
    purpose: str = ""
    """Name of the experiment, ``record``, or ``WATCH``."""
    since_unix_s: float | None = None
    """Unix time at which it began with this, in seconds."""


WATCH = "watch"
"""Purpose of a program that only reads its cards."""
