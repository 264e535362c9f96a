# pyright: standard
"""The questions of the page Training: which there are, their words, and what stands where nothing was measured yet."""

from collections.abc import Iterable

from gputuner.language.words import _

TRAINING = "training"
"""The page, and the first of its questions."""
ORDER = (TRAINING, "switches", "numerics", "loading", "watch")
"""From what is asked most to what is asked last; watching a command is no measurement, and stands apart."""


def in_order(names: Iterable[str]) -> list[str]:
    """Those of the questions that there are."""
    known = set(names)
    return [name for name in ORDER if name in known]


def question_words() -> dict[str, str]:
    """Names of the questions."""
    return {
        TRAINING: _("Batch size"),
        "switches": _("Formats and switches"),
        "numerics": _("Numerical check"),
        "loading": _("Data loading"),
        "watch": _("Watch a command"),
    }


def question_hints() -> dict[str, str]:
    """What each of them asks."""
    return {
        TRAINING: _("What fits, what is safe for the whole run, what is fastest, and what needs the least energy?"),
        "switches": _("Which number format, and which switches of torch, make this training fastest?"),
        "numerics": _("Does the loss stay within what FP32 itself varies by?"),
        "loading": _("How many workers does the data loader need so that the training never waits?"),
        "watch": _("Where does the time of your own command go?"),
    }
