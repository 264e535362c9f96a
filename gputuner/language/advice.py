"""Advice in words: a title, what to do, why, and what to measure where evidence is missing."""

from dataclasses import dataclass

from gputuner.language import numbers
from gputuner.language.filling import fill
from gputuner.language.words import _
from gputuner.model.advice import Advice, Gain, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceWords:
    """The three sentences of one rule."""

    title: str
    action: str
    why: str


ADVICE: dict[str, AdviceWords] = {}

QUESTIONS: dict[str, str] = {}


def advice_title(entry: Advice) -> str:
    """What it is about, in a few words."""
    words = ADVICE.get(entry.id)
    return fill(words.title, entry.params) if words else entry.id


def advice_action(entry: Advice) -> str:
    """What to do, in one line."""
    words = ADVICE.get(entry.id)
    return fill(words.action, entry.params) if words else _bare(entry)


def advice_why(entry: Advice) -> str:
    """The reason, with its figures."""
    words = ADVICE.get(entry.id)
    return fill(words.why, entry.params) if words else _bare(entry)


def question(entry: Question) -> str:
    """What is not known yet."""
    return fill(QUESTIONS[entry.id], entry.params) if entry.id in QUESTIONS else entry.id


def gain(entry: Gain | None) -> str:
    """The expected gain with its interval: ``+23 % (+18 % … +27 %)``."""
    if entry is None:
        return _("not estimated")
    if entry.unit != "fraction":
        return numbers.interval(entry.value, entry.low, entry.high, entry.unit)
    figure = numbers.signed_percent(entry.value)
    if entry.low is None or entry.high is None:
        return figure
    return f"{figure} ({numbers.signed_percent(entry.low)} … {numbers.signed_percent(entry.high)})"


def _bare(entry: Advice) -> str:
    return ", ".join(f"{name} {numbers.value(value)}" for name, value in entry.params.items())
