"""How far a step is, as a worker's ``progress`` message or the engine itself says."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Fields of ``StepProgressed`` that the step itself knows; seconds."""

    phase: str
    done_s: float
    left_s: float | None = None
    done: int | None = None
    of: int | None = None


def progress_of(message: Mapping[str, object]) -> Progress:
    """The progress in a worker's message; what it lacks or garbles counts as not known."""
    return Progress(
        phase=str(message.get("phase", "")),
        done_s=_seconds(message.get("done_s")) or 0.0,
        left_s=_seconds(message.get("left_s")),
        done=_count(message.get("done")),
        of=_count(message.get("of")),
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
