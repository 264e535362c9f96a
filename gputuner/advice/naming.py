"""Names of the advice of one session: the rule, and a number where it gave several."""

from collections import Counter
from collections.abc import Iterable, Sequence

from gputuner.model.advice import Advice


def names(advice: Sequence[Advice]) -> tuple[str, ...]:
    """A name for each, in its order: ``switches.memory``, ``switches.memory:2`` …; cards are counted apart."""
    seen: Counter[tuple[str, str]] = Counter()
    told: list[str] = []
    for entry in advice:
        seen[entry.card, entry.id] += 1
        number = seen[entry.card, entry.id]
        told.append(entry.id if number == 1 else f"{entry.id}:{number}")
    return tuple(told)


def newest(kept: Iterable[Advice], given: Sequence[Advice]) -> list[Advice]:
    """Advice after more was given: of a rule that speaks again of a card, only what it says now; best first."""
    again = {(entry.card, entry.id) for entry in given}
    left = [entry for entry in kept if (entry.card, entry.id) not in again]
    return sorted([*left, *given], key=lambda entry: -entry.rank)
