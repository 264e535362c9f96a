"""Why an advice cannot be tried by a training, and what measures it instead."""

from gputuner.advice.questions import command
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo

OF_A_TRAINING = frozenset(
    {
        "batch.fastest",
        "precision.best",
        "layout.channels_last",
        "jobs.one_or_two",
        "jobs.fixed_batch",
        "switches.best",
        "switches.keep",
        "loading.setting",
        "loading.keep",
    }
)
"""Rules whose advice changes a training, where it changes something at all."""
OF_ITS_SIZE = frozenset({"batch.safe_limit", "batch.accumulate"})
"""Rules that tell what fits, not what is faster."""
OF_OWN_CODE = frozenset({"numerics", "loading", "switches"})
"""Families of rules whose advice the owner follows in code or on the host: the same command measures it again."""
KEEPS, SIZE, CARD = "untried_keeps", "untried_size", "untried_card"
MINUTES = 12


def why_not(entry: Advice) -> str:
    """Code of the reason, for an advice that has no change."""
    if entry.id in OF_ITS_SIZE:
        return SIZE
    return KEEPS if entry.id in OF_A_TRAINING else CARD


def instead(entry: Advice, card: CardInfo, again: str) -> str:
    """The command that measures it.

    Args:
        entry: the advice.
        card: that it is about.
        again: what measured it, without minutes and card (``batch bert``).
    """
    if why_not(entry) == CARD and entry.id.partition(".")[0] not in OF_OWN_CODE:
        return command(card, f"tune --minutes {MINUTES}")
    return command(card, f"{again} --minutes {MINUTES}")
