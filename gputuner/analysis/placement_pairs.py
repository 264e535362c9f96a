"""How much jobs slow each other down on one card, as far as that was measured."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from gputuner.model.points import Point

METRIC = "co_run_slowdown"
MODE = "processes"
"""The queue starts plain processes; what was measured under MPS or in streams says nothing of them."""
JOINT = "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Measured slowdowns on one card (times as long for a step as alone).

    ``mixes``: the labels of a mix in alphabetical order → per label its worst slowdown in it.
    """

    mixes: Mapping[tuple[str, ...], Mapping[str, float]] = field(default_factory=lambda: {})

    def worst(self, labels: Sequence[str]) -> float | None:
        """The slowdown of whoever suffers most when these run together; None: not measured.

        A mix that was not measured as it stands is taken from its pairs: a job's slowdowns beside each of the others
        multiplied. That is an estimate, as each pair was measured without the third.
        """
        if len(labels) < 2:
            return 1.0
        known = self.mixes.get(tuple(sorted(labels)))
        if known is not None:
            return max(known.values())
        worst = 1.0
        for i, label in enumerate(labels):
            beside = [self._beside(label, other) for j, other in enumerate(labels) if j != i]
            found = [slowdown for slowdown in beside if slowdown is not None]
            if len(found) < len(beside):
                return None
            worst = max(worst, prod(found))
        return worst

    def _beside(self, label: str, other: str) -> float | None:
        return self.mixes.get(tuple(sorted((label, other))), {}).get(label)


NO_PAIRS = Pairs()


def measured_pairs(points: Iterable[Point]) -> Pairs:
    """What points of one card tell; later points replace earlier ones of the same mix.

    A slowdown below 1 (within the noise of the measurement) counts as none.
    """
    mixes: dict[tuple[str, ...], dict[str, float]] = {}
    for point in points:
        params = point.params
        if point.metric != METRIC or params.get("mode", MODE) != MODE or params.get("null"):
            continue
        labels = str(params.get("mix", "")).split(JOINT)
        job, value = params.get("job"), point.value
        if not isinstance(job, int) or not 1 <= job <= len(labels) or len(labels) < 2:
            continue
        own = labels[job - 1]
        mix = mixes.setdefault(tuple(sorted(labels)), {})
        slowdown = max(1.0, float(value))
        twice = Counter(labels)[own] > 1 and job > labels.index(own) + 1
        mix[own] = max(mix.get(own, 1.0), slowdown) if twice else slowdown
    return Pairs(mixes={labels: mix for labels, mix in mixes.items() if set(mix) == set(labels)})
