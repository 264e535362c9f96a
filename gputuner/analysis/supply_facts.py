"""What sizing rests on beside measured watts: facts as ranges, each with its confidence and its source in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HIGH, MEDIUM, LOW = "H", "M", "L"
CONFIDENCES = (HIGH, MEDIUM, LOW)
"""From a sheet or a measurement; agreed by several sources or derived; general knowledge. Strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A range in ``unit``; ``at``: the condition it holds under; ``confidence``: H, M or L."""

    id: str
    low: float
    high: float
    unit: str
    confidence: str
    source: str
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyFacts:
    """All facts by id, and the ratings in which supplies are sold, W, smallest first."""

    facts: Mapping[str, Fact] = field(default_factory=lambda: {})
    sizes_w: tuple[float, ...] = ()

    def __getitem__(self, fact: str) -> Fact:
        """A fact by its id."""
        return self.facts[fact]


def weakest(*confidences: str) -> str:
    """The confidence of what rests on all of these."""
    return max(confidences, key=CONFIDENCES.index)
