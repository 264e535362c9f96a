"""What ``doctor`` finds on a machine. Words and remedies are made by ``language`` from ``code`` and ``params``."""

from dataclasses import dataclass, field
from enum import StrEnum

from gputuner.model.readings import Scalar


class Level(StrEnum):
    """How much a finding matters, least first."""

    FINE = "fine"
    NOTE = "note"
    """Costs speed or comfort."""
    BLOCKING = "blocking"
    """Something cannot be done until it is put right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at, and how it stands."""

    code: str
    level: Level
    params: dict[str, Scalar] = field(default_factory=lambda: {})
