"""The stages of a health test: what is done in which order, and for which share of the time."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["memory_cold", "burn", "memory_hot", "cycles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, for ``share`` of the run's time; memory keeps words for ``hold_s`` in each retention pass."""

    kind: Kind
    share: float
    hold_s: float = 2.0


USUAL: tuple[Stage, ...] = (
    Stage(kind="memory_cold", share=0.3),
    Stage(kind="burn", share=0.3),
    Stage(kind="memory_hot", share=0.3),
)
"""Memory cold, computing until all is warm, memory hot."""
USUAL_MINUTES = 10.0
BURN_IN_MINUTES = 120.0
SIMULATED_BURN_IN_MINUTES = 12.0
"""A model of a card has no fault that shows seldom: the same stages in a tenth of their time."""
BURN_IN: tuple[Stage, ...] = (
    Stage(kind="memory_cold", share=0.12, hold_s=10.0),
    Stage(kind="burn", share=0.30),
    Stage(kind="memory_hot", share=0.20, hold_s=30.0),
    Stage(kind="cycles", share=0.16),
    Stage(kind="memory_hot", share=0.12, hold_s=10.0),
    Stage(kind="memory_cold", share=0.08, hold_s=30.0),
)
"""The two-hour protocol: besides, load and rest by turns (solder moves with temperature), and the memory again."""
KEEP_SHARE = 0.02
"""Of the time, for the last look at the counters."""
