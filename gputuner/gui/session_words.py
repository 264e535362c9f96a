# pyright: standard
"""A stored session in few words: of what, when, how it ended, on which cards."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from gputuner.gui.ports import SessionSummary
from gputuner.gui.questions import question_words
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.events import Outcome

VENDOR = ("NVIDIA ", "GeForce ")
"""Left out of a card's name where room is short; what follows tells the cards apart."""
MODDED, MOD = " (modded)", " mod"


def started_words(summary: SessionSummary) -> str:
    """Day and time of its start to the second: two runs of one minute differ."""
    return datetime.fromtimestamp(summary.started_unix_s).strftime("%Y-%m-%d %H:%M:%S")


def started_briefly(summary: SessionSummary) -> str:
    """As ``started_words`` for a narrow column: without this year's number, or without seconds in other years."""
    started = datetime.fromtimestamp(summary.started_unix_s)
    return started.strftime("%m-%d %H:%M:%S" if started.year == datetime.now().year else "%Y-%m-%d %H:%M")


def outcome_words(summary: SessionSummary) -> str:
    """How it ended."""
    if summary.running:
        return _("runs now")
    return sentences.outcome(summary.outcome) if summary.outcome else _("cut off before its end")


def outcome_mark(summary: SessionSummary) -> str:
    """A sign for a run that did not come to its end by itself; empty for one that did or still runs."""
    if summary.running or summary.outcome is Outcome.COMPLETED:
        return ""
    return "■" if summary.outcome is Outcome.CANCELLED else "×"


def experiment_words(name: str) -> str:
    """The name of an experiment for people."""
    words = {
        "tune": _("Tune"),
        "record": _("Record"),
        "bench": _("Benchmarks"),
        "batch": _("Training"),
        "try": _("Advice tried"),
        "switches": _("Switches"),
        "numerics": _("Numerics"),
        "watch": _("Watch"),
        "contend": _("Share"),
        "cooling": _("Cooling"),
        "power": _("Power"),
        "health": _("Health"),
    }
    return (question_words() | words).get(name, name)


def card_words(titles: Iterable[str]) -> str:
    """Cards with their count, without the vendor's names."""
    counted = Counter(map(_short, titles))
    return ", ".join(f"{count} × {title}" if count > 1 else title for title, count in counted.items())


def without_vendor(title: str) -> str:
    """A card's name without its vendor's."""
    for vendor in VENDOR:
        title = title.removeprefix(vendor)
    return title


def _short(title: str) -> str:
    return without_vendor(title).replace(MODDED, MOD)
