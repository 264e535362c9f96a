"""Advice in words: a title, what to do, why, and what to measure where evidence is missing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

from gputuner.language import numbers
from gputuner.language.filling import fill
from gputuner.language.names import workload
from gputuner.language.steps import PRECISIONS
from gputuner.language.words import CHINESE, N_, _, language
from gputuner.model.advice import Advice, Gain, Question
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceWords:
    """The words of one rule; a sentence of ``why`` is left out where a value it needs was not measured."""

    title: str
    action: str
    why: tuple[str, ...]


ADVICE: dict[str, AdviceWords] = {
    "batch.fastest": AdviceWords(
        title=N_("Batch size {batch}"),
        action=N_("Train {workload} with a batch of {batch} in {precision}."),
        why=(
            N_("{batch} gives {rate:samples/s}, within 1.5 % of the best rate measured."),
            N_("{reference_batch} gives {reference_rate:samples/s}."),
            N_("{largest_measured}, the largest measured, gives {largest_rate:samples/s}."),
        ),
    ),
    "batch.fastest:rising": AdviceWords(
        title=N_("Batch size {batch} or more"),
        action=N_("Train {workload} with a batch of {batch} in {precision}, or more where it fits."),
        why=(
            N_("The rate still rose at {batch}, the largest measured: {rate:samples/s}."),
            N_("{reference_batch} gives {reference_rate:samples/s}."),
        ),
    ),
    "batch.safe_limit": AdviceWords(
        title=N_("Largest safe batch: {safe}"),
        action=N_("Keep the batch of {workload} in {precision} at {safe} or below."),
        why=(
            N_("{limit} ran."),
            N_("{fails} did not fit."),
            N_("{safe} leaves a margin of {margin:fraction} for evaluation, longer samples and others on the card."),
            N_("At {safe} the rate is {safe_rate:samples/s}."),
        ),
    ),
    "batch.safe_limit:predicted": AdviceWords(
        title=N_("Largest safe batch: about {safe}"),
        action=N_("Keep the batch of {workload} in {precision} at {safe} or below."),
        why=(
            N_("Peak memory grows in a line with the batch and reaches the card's memory at {limit}; not tried out."),
            N_("{safe} leaves a margin of {margin:fraction}."),
        ),
    ),
    "precision.best": AdviceWords(
        title=N_("Train in {precision}"),
        action=N_("Train {workload} in {precision} instead of {baseline}."),
        why=(
            N_("At batch {batch}: {rate:samples/s} in {precision}, {baseline_rate:samples/s} in {baseline}."),
            N_("Peak memory changes by {memory_change:change}."),
        ),
    ),
    "precision.best:keep": AdviceWords(
        title=N_("Stay with {precision}"),
        action=N_("Keep training {workload} in {precision}; no other number format gains here."),
        why=(N_("At batch {batch}: {rate:samples/s} in {precision}, {baseline_rate:samples/s} in {baseline}."),),
    ),
    "layout.channels_last": AdviceWords(
        title=N_("Channels-last layout"),
        action=N_("Put the model and the inputs of {workload} into the channels-last layout."),
        why=(N_("In {precision} at batch {batch}: {rate:samples/s} with it, {other_rate:samples/s} without."),),
    ),
    "layout.channels_last:leave": AdviceWords(
        title=N_("No channels-last layout"),
        action=N_("Leave {workload} in the ordinary layout; channels-last is slower here."),
        why=(N_("In {precision} at batch {batch}: {rate:samples/s} without it, {other_rate:samples/s} with it."),),
    ),
}

QUESTIONS: dict[str, str] = {
    "nothing_measured": N_("Nothing has been measured on this card yet."),
    "training": N_("How fast this card trains has not been measured."),
    "own_training": N_("All this was measured with {workload}; record while your own training runs."),
    "batch_limit": N_("The largest batch was predicted, not tried out."),
    "sharing": N_("What two trainings at once gain has not been measured."),
    "sharing:repeat": N_("Two trainings at once were measured, but the figures do not hold; measure again."),
    "steady_heat": N_("How hot the card gets in a long run is not known; the load lasted {measured_s:s}."),
}


def advice_title(entry: Advice) -> str:
    """What it is about, in a few words."""
    words = _words(entry)
    return fill(words.title, _named(entry.params)) if words else entry.id


def advice_action(entry: Advice) -> str:
    """What to do, in one line."""
    words = _words(entry)
    return fill(words.action, _named(entry.params)) if words else _bare(entry.params)


def advice_why(entry: Advice) -> str:
    """The reason, with its figures."""
    words = _words(entry)
    if words is None:
        return _bare(entry.params)
    params = _named(entry.params)
    told = [sentence for sentence in words.why if all(field in params for field in fields(sentence))]
    return ("" if language() == CHINESE else " ").join(fill(sentence, params) for sentence in told)


def question(entry: Question) -> str:
    """What is not known yet."""
    repeated = f"{entry.id}:repeat"
    key = repeated if entry.params.get("repeat") is True and repeated in QUESTIONS else entry.id
    return fill(QUESTIONS[key], _named(entry.params)) if key in QUESTIONS else entry.id


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


def fields(sentence: str) -> Iterable[str]:
    """Names of the values that a sentence needs."""
    return [name for _text, name, _spec, _conversion in Formatter().parse(sentence) if name]


def _words(entry: Advice) -> AdviceWords | None:
    params = entry.params
    match entry.id:
        case "batch.fastest" if params.get("still_rising") is True:
            key = "batch.fastest:rising"
        case "batch.safe_limit" if params.get("verified") is not True:
            key = "batch.safe_limit:predicted"
        case "precision.best" if params.get("keep") is True:
            key = "precision.best:keep"
        case "layout.channels_last" if params.get("use") is False:
            key = "layout.channels_last:leave"
        case _:
            key = entry.id
    return ADVICE.get(key)


def _named(params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The values with names of workloads and number formats as people write them."""
    named = dict(params)
    for name in ("precision", "baseline"):
        if name in named:
            named[name] = PRECISIONS.get(str(named[name]), str(named[name]))
    if "workload" in named:
        named["workload"] = workload(str(named["workload"]))
    return named


def _bare(params: Mapping[str, Scalar]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {numbers.value(entry)}" for name, entry in params.items())
