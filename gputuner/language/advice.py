"""Advice in words: a title, what to do, why, and what to measure where evidence is missing."""

from collections.abc import Iterable, Mapping
from string import Formatter

from gputuner.language import numbers
from gputuner.language.advice_form import AdviceWords
from gputuner.language.advice_words import ADVICE, QUESTIONS
from gputuner.language.contention import mixed
from gputuner.language.filling import fill
from gputuner.language.loading import settings_named
from gputuner.language.names import source, workload
from gputuner.language.power import VARIANTS as POWER
from gputuner.language.steps import PRECISIONS
from gputuner.language.switching import setting as switched
from gputuner.language.wear import changes_named
from gputuner.language.words import CHINESE, N_, _, language
from gputuner.model.advice import Advice, Gain, Question
from gputuner.model.readings import Scalar

SWITCHED = {
    "cooling.enough": ("beyond",),
    "switches.best": ("keep",),
    "switches.memory": ("reserved", "free"),
    "contend.mode": ("mps", "host_serialised"),
    "watch.cores_taken": ("own",),
    "watch.tf32": ("convolutions",),
    "watch.workers": ("waits",),
    "watch.workers_short": ("waits",),
    **POWER,
}
"""Rules with variants, by the params that tell them."""

LEAST_SHOWN = 0.005
"""Shares below half a per cent are told as 0 %."""


def advice_title(entry: Advice) -> str:
    """What it is about, in a few words."""
    words = _words(entry)
    return fill(words.title, _named(entry.params, entry.card)) if words else entry.id


def advice_action(entry: Advice) -> str:
    """What to do, in one line."""
    words = _words(entry)
    return fill(words.action, _named(entry.params, entry.card)) if words else _bare(entry.params)


def advice_why(entry: Advice) -> str:
    """The reason, with its figures."""
    words = _words(entry)
    if words is None:
        return _bare(entry.params)
    params = _named(entry.params, entry.card)
    told = [sentence for sentence in words.why if all(field in params for field in fields(sentence))]
    sentences = [fill(sentence, params) for sentence in told]
    if entry.params.get("scattered") is True:
        sentences.append(_("These figures scattered; measure again when nothing else runs."))
    elif "turns" in entry.params:
        rounds = N_("Compared in turns, {turns} rounds, so that what drifted meanwhile mostly cancels out.")
        sentences.append(fill(rounds, entry.params))
    return ("" if language() == CHINESE else " ").join(sentences)


def question(entry: Question) -> str:
    """What is not known yet."""
    variants = (f"{entry.id}:{name}" for name in ("repeat", "unloaded", "known") if entry.params.get(name) is True)
    key = next((variant for variant in variants if variant in QUESTIONS), entry.id)
    return fill(QUESTIONS[key], _named(entry.params, entry.card)) if key in QUESTIONS else entry.id


def gain(entry: Gain | None) -> str:
    """The expected gain with its interval: ``+23 % (+18 % … +27 %)``; of one that may be none only what it can be."""
    if entry is None:
        return _("not estimated")
    if gain_is_open(entry) and entry.high is not None:
        most = numbers.signed_percent(entry.high)
        if entry.low is not None and entry.low <= -LEAST_SHOWN:
            return _("at most {most}, perhaps a loss").format(most=most)
        return _("at most {most}, perhaps nothing").format(most=most)
    if entry.unit != "fraction":
        return numbers.interval(entry.value, entry.low, entry.high, entry.unit)
    figure = numbers.signed_percent(entry.value)
    if entry.low is None or entry.high is None:
        return _("about {figure} (too few repeats for an interval)").format(figure=figure)
    return f"{figure} ({numbers.signed_percent(entry.low)} … {numbers.signed_percent(entry.high)})"


def gain_is_open(entry: Gain) -> bool:
    """Whether it may be none: its interval holds 0, as far as whole per cents tell."""
    low, high = entry.low, entry.high
    return entry.unit == "fraction" and low is not None and high is not None and low < LEAST_SHOWN <= high


def fields(sentence: str) -> Iterable[str]:
    """Names of the values that a sentence needs."""
    return [name for _text, name, _spec, _conversion in Formatter().parse(sentence) if name]


def _words(entry: Advice) -> AdviceWords | None:
    params = entry.params
    match entry.id:
        case "batch.fastest" if "beyond" in params and "within" in params:
            key = "batch.fastest:beyond"
        case "batch.fastest" if params.get("still_rising") is True:
            key = "batch.fastest:rising"
        case "batch.safe_limit" if params.get("slower") is True:
            key = "batch.safe_limit:slower"
        case "batch.safe_limit" if params.get("verified") is not True:
            key = "batch.safe_limit:predicted"
        case "precision.best" if params.get("keep") is True:
            key = "precision.best:keep"
        case "layout.channels_last" if params.get("use") is False:
            key = "layout.channels_last:leave"
        case "batch.accumulate" if params.get("needed") is False:
            key = "batch.accumulate:saves"
        case "limit.power" if params.get("little") is True:
            key = "limit.power:little"
        case "limit.power" if params.get("at_maximum") is True:
            key = "limit.power:at_maximum"
        case "limit.thermal":
            key = "limit.thermal:hardware" if params.get("hardware") is True else "limit.thermal"
            key += ":fanless" if params.get("fanless") is True else ""
        case "jobs.one_or_two" if params.get("jobs") == 1:
            key = "jobs.one_or_two:one"
        case _:
            flags = [f":{flag}" for flag in SWITCHED.get(entry.id, ()) if params.get(flag) is True]
            key = entry.id + "".join(flags[:1])
    return ADVICE.get(key)


def _named(params: Mapping[str, Scalar], card: str = "") -> dict[str, Scalar]:
    """The values with names of workloads and number formats as people write them."""
    named = dict(params)
    for name in ("precision", "baseline", "instead", "faster"):
        if name in named:
            named[name] = PRECISIONS.get(str(named[name]), str(named[name]))
    named |= settings_named(named) | changes_named(params)
    for prefix in ("", "base_", "next_", "free_"):
        if f"{prefix}precision" in params:
            named[f"{prefix}setting"] = switched(params, prefix)
    told = {named.get("batch")}
    for other, rate in (("reference_batch", "reference_rate"), ("largest_measured", "largest_rate")):
        if named.get(other) in told:
            named.pop(other, None)
            named.pop(rate, None)
        told.add(named.get(other))
    for name in ("workload", "free_workload", "spared_workload"):
        if name in named:
            named[name] = workload(str(named[name]))
    if "mix" in params:
        named |= mixed(params, card)
    for name in ("core_source", "core_other", "memory_source", "memory_other"):
        if name in named:
            named[name] = source(str(named[name]))
    return named


def _bare(params: Mapping[str, Scalar]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {numbers.value(entry)}" for name, entry in params.items())
