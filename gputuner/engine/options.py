"""How a run is to be performed, beyond its spec."""

from dataclasses import dataclass, field

from gputuner.engine.safety import SafetyLimits
from gputuner.engine.watched_follow import Following
from gputuner.model.alerts import AlertRule
from gputuner.model.steps import Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Cards by UUID, whether to share them, the memory budget in bytes, the user's safety limits, and the seed.

    ``memory_cap_given``: the user said it, so that it stands in commands that go on from the run; else it was found
    fitting. ``notes``: what the reader is to know from the start. ``beside``: UUIDs of further cards that an experiment
    may use if they are idle (copies between cards). ``following``: the user's command that a run of ``watch`` follows.
    ``users_mps``: jobs that are to share the card by MPS are clients of the user's own daemon. ``alerts``: the user's
    rules, by which the run's cards are judged while it lasts.
    """

    cards: tuple[str, ...]
    share: bool = False
    memory_cap_bytes: int | None = None
    memory_cap_given: bool = True
    safety: SafetyLimits = field(default_factory=SafetyLimits)
    seed: int = 0
    notes: tuple[Warn, ...] = ()
    beside: tuple[str, ...] = ()
    following: Following | None = None
    users_mps: bool = False
    alerts: tuple[AlertRule, ...] = ()
