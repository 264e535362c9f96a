"""How a run is to be performed, beyond its spec."""

from dataclasses import dataclass, field

from gputuner.engine.safety import SafetyLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Cards by UUID, whether to share them, the memory budget in bytes, the user's safety limits, and the seed."""

    cards: tuple[str, ...]
    share: bool = False
    memory_cap_bytes: int | None = None
    safety: SafetyLimits = field(default_factory=SafetyLimits)
    seed: int = 0
