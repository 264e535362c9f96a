"""A dry run: what a start would do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gputuner.model.events import Warned
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step: its label and parameters (words: ``language.step``), and its expected seconds."""

    label: str
    params: Mapping[str, Scalar] = field(default_factory=lambda: {})
    expected_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The steps of one card, and what the run would say it leaves out."""

    steps: tuple[PlannedStep, ...]
    warned: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The steps and how long they take in all, in seconds."""

    steps: tuple[PlannedStep, ...]
    expected_s: float
