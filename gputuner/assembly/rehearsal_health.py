"""The steps of a health test, one for each stage: a stage repeats its passes until its time is used up.

Only a short test is played, for what stands before and after the stages; two hours would be played for a minute.
"""

from collections.abc import Sequence
from dataclasses import replace

from gputuner.experiments.health import Health
from gputuner.experiments.health_stages import KEEP_SHARE, Kind
from gputuner.model.planned import PlannedStep

PLAYED_MINUTES = 2.0
LABELS: dict[Kind, tuple[str, ...]] = {
    "memory_cold": ("health_memory_cold",),
    "memory_hot": ("health_memory_hot",),
    "burn": ("health_burn",),
    "cycles": ("health_burn", "health_rest"),
}


def played(spec: Health) -> Health:
    """What is played in place of ``spec``."""
    return replace(spec, minutes=min(spec.minutes, PLAYED_MINUTES))


def by_stages(spec: Health, steps: Sequence[PlannedStep]) -> tuple[PlannedStep, ...]:
    """The steps of ``spec``.

    Args:
        spec: the test as it was asked for.
        steps: those of ``played(spec)``.
    """
    known = {label for labels in LABELS.values() for label in labels}
    places = [n for n, step in enumerate(steps) if step.label in known]
    if not places:
        return tuple(steps)
    first = {step.label: step for step in reversed(steps)}
    before, after = steps[: places[0]], steps[places[-1] + 1 :]
    left_s = (spec.expected_s() - sum(step.expected_s for step in before)) * (1.0 - KEEP_SHARE)
    whole = sum(stage.share for stage in spec.stages)
    stages = [
        replace(first[label], expected_s=round(left_s * stage.share / whole / len(labels), 1))
        for stage in spec.stages
        for labels in (tuple(name for name in LABELS[stage.kind] if name in first),)
        for label in labels
    ]
    return (*before, *stages, *after)
