"""How likely an expected gain is to come true: by its word of confidence, and by what came of advice of its kind.

Both are shares of few tries, so each is drawn towards what is believed without them (the mean of a beta posterior whose
prior counts as so many tries): a kind of advice towards its word of confidence, as advice of other kinds bore it out;
the word towards the figure it began with. One try moves little, many speak for themselves.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gputuner.model.advice import TRIES, TRIES_HELD, Advice, Confidence

if TYPE_CHECKING:
    from gputuner.analysis.calibration import Tried

PROBABILITY: dict[Confidence, float] = {
    Confidence.MEASURED: 0.9,
    Confidence.MEASURED_OTHER: 0.6,
    Confidence.PUBLISHED: 0.5,
    Confidence.MODEL: 0.3,
}
"""How likely an expected gain is to come true where no advice was tried yet."""
WORD_COUNTS_AS = 8.0
"""Tries that the first figure of a word counts as."""
KIND_COUNTS_AS = 4.0
"""Tries that the word counts as for one kind of advice."""


def kind_of(name: str) -> str:
    """The rule that an advice's name is of, without the number it has where a rule gave several."""
    return name.partition(":")[0]


def came_true(tried: "Tried") -> bool | None:
    """Whether a try gave what its advice promised, or more; None: it cannot show it.

    A promise that could not fail (``analysis.trying``) is kept by a gain that is no noise, and broken where even the
    upper end of the realised gain lies below the expected one.
    """
    from gputuner.analysis.trying import Verdict, is_scored, is_testable  # numpy: not before it is asked

    if tried.aim == "memory":
        return None if tried.memory_change is None else tried.verdict is Verdict.SAVES
    predicted, found = tried.predicted, tried.found
    if predicted is None or found.high is None:
        return None
    if is_testable(predicted):
        told = is_scored(predicted, found)
        return tried.verdict in (Verdict.AS_PREDICTED, Verdict.MORE) if told else None
    if found.is_faster:
        return True
    return False if found.high < predicted.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Of ``of`` tries ``hits`` gave what was promised."""

    hits: float = 0
    of: float = 0

    def drawn(self, towards: float, counts_as: float) -> float:
        """The share, drawn towards a belief that counts as so many tries."""
        return (self.hits + counts_as * towards) / (self.of + counts_as)

    def bounded(self) -> "Held":
        """As it speaks for its word: with no more than ``KIND_COUNTS_AS`` tries, or one kind would decide for all."""
        share = min(1.0, KIND_COUNTS_AS / self.of) if self.of else 1.0
        return Held(hits=share * self.hits, of=share * self.of)


@dataclass(frozen=True, slots=True)
class Chances:
    """What came of advice that was tried, by word of confidence and kind."""

    kinds: Mapping[tuple[Confidence, str], Held] = field(default_factory=lambda: {})

    def held(self, confidence: Confidence, kind: str) -> Held:
        """Tries of this kind."""
        return self.kinds.get((confidence, kind), Held())

    def of(self, confidence: Confidence, kind: str) -> float:
        """How likely an expected gain is to come true (0 … 1)."""
        others = [held.bounded() for (word, name), held in self.kinds.items() if word is confidence and name != kind]
        told = Held(hits=sum(held.hits for held in others), of=sum(held.of for held in others))
        word = told.drawn(PROBABILITY[confidence], WORD_COUNTS_AS)
        return self.held(confidence, kind).drawn(word, KIND_COUNTS_AS)

    def ranked(self, advice: Advice) -> Advice:
        """The advice with its rank as the record has it, and what the record says of its kind where it says anything.

        The part of the rank that rests on no gain stays as it is.
        """
        kind = kind_of(advice.id)
        better = self.of(advice.confidence, kind) / PROBABILITY[advice.confidence]
        rank = advice.rank + advice.worth * (better - 1.0)
        held = self.held(advice.confidence, kind)
        params = {**advice.params, TRIES_HELD: int(held.hits), TRIES: int(held.of)} if held.of else advice.params
        return replace(advice, rank=rank, worth=advice.worth * better, params=params)


def chances(tries: Iterable["Tried"]) -> Chances:
    """The record of tries, the oldest first; of an advice that was tried several times the last one counts."""
    newest = {(each.session, each.advice, each.card): each for each in tries}
    hits: Counter[tuple[Confidence, str]] = Counter()
    tried: Counter[tuple[Confidence, str]] = Counter()
    for each in newest.values():
        key, held = (each.confidence, kind_of(each.advice)), came_true(each)
        if held is not None:
            tried[key] += 1
            hits[key] += held
    return Chances({key: Held(hits=hits[key], of=count) for key, count in tried.items()})
