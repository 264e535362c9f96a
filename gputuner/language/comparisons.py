"""Two sessions side by side in words: figures, what a difference means, and what differs between the machines."""

from collections.abc import Mapping, Sequence

from gputuner.analysis.headlines import benchmark_of
from gputuner.analysis.likeness import Unlike, Weight
from gputuner.analysis.regression import Difference, Verdict
from gputuner.language.bench_table import titled
from gputuner.language.names import metric, reading_name
from gputuner.language.numbers import number, value
from gputuner.language.steps import point_value
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.terms import FLAGS
from gputuner.language.terms import flag as flag_words
from gputuner.language.words import N_, _, listed
from gputuner.model.points import Flag
from gputuner.model.readings import Scalar

VERDICTS: dict[Verdict, str] = {
    Verdict.WORSE: N_("worse"),
    Verdict.BETTER: N_("better"),
    Verdict.SAME: N_("no difference"),
    Verdict.VOID: N_("void"),
    Verdict.UNCERTAIN: N_("uncertain"),
}
_UNLIKE: dict[str, str] = {
    "card": N_("card"),
    "origin": N_("origin"),
    "torch": N_("torch"),
    "cuda": N_("CUDA of torch"),
    "cudnn": N_("cuDNN"),
    "python": N_("Python"),
}


def verdict(entry: Verdict) -> str:
    """What a difference means."""
    return _(VERDICTS[entry])


def verdict_words(of: Difference) -> str:
    """The verdict, with the flag that makes a comparison void, or what leaves it open."""
    if of.verdict is Verdict.UNCERTAIN and of.p is None:
        return _("{verdict}: {why}").format(verdict=verdict(of.verdict), why=_("no interval"))
    if of.verdict is not Verdict.VOID:
        return verdict(of.verdict)
    known = next((each for each in Flag if each.value == of.void), None)
    why = flag_words(known) if known in FLAGS and known is not None else _(_UNLIKE.get(of.void, of.void))
    return _("{verdict}: {why}").format(verdict=verdict(of.verdict), why=why)


def change_words(change: float) -> str:
    """A relative change with its sign, two digits after the point below 10 %: ``+1.25 %``."""
    return f"{100.0 * change:+.2f} %" if abs(change) < 0.1 else f"{100.0 * change:+.0f} %"


def changed_words(of: Difference) -> str:
    """The change with its 95 % interval where it has one: ``+1.25 % (+0.8 … +1.7 %)``."""
    if of.low is None or of.high is None:
        return change_words(of.change)
    digits = 1 if abs(of.change) < 0.1 else 0
    low, high = (f"{100.0 * end:+.{digits}f}" for end in (of.low, of.high))
    return f"{change_words(of.change)} ({low} … {high} %)"


def comparison_table(differences: Sequence[Difference], before: str, after: str) -> Table:
    """One row for each figure that both have; ``before`` and ``after`` name the sessions."""
    rows = [
        (
            benchmark_of(each.before) if "benchmark" in each.before.extra else metric(each.before.metric),
            of,
            point_value(each.before),
            point_value(each.after),
            changed_words(each),
            verdict_words(each),
        )
        for each, (_before, of) in zip(differences, titled([each.before for each in differences]), strict=True)
    ]
    headers = (_("figure"), _("of"), before, after, _("change (+ better)"), _("verdict"))
    return Table(headers=headers, rows=tuple(rows), right=(2, 3, 4), wraps=(0, 1, 2, 3, 5))


def unlike_lines(found: Sequence[Unlike]) -> list[str]:
    """What differs between the machines, and what it means for the comparison."""
    return [_line(each) for each in found]


def _line(each: Unlike) -> str:
    name = _(_UNLIKE[each.name]) if each.name in _UNLIKE else reading_name(each.name)
    told = _("{name}: {before} → {after}").format(name=name, before=_known(each.before), after=_known(each.after))
    if each.weight is Weight.VOIDS:
        return _("{what}; these are different things, so nothing became better or worse").format(what=told)
    return told


def _known(entry: Scalar | None) -> str:
    return number(entry) if isinstance(entry, float) else value(entry)


def summary_line(differences: Sequence[Difference]) -> str:
    """How many are worse, better, equal, void."""
    count = {entry: sum(each.verdict is entry for each in differences) for entry in Verdict}
    parts = [
        _("{n} worse").format(n=count[Verdict.WORSE]),
        _("{n} better").format(n=count[Verdict.BETTER]),
        _("{n} without a difference").format(n=count[Verdict.SAME]),
    ]
    return " · ".join((*parts, *_undecided(count)))


def interval_words() -> str:
    """What the two kinds of intervals of a comparison are good for."""
    return _(
        "The interval of a figure holds within its run; that of a change includes what runs of an unchanged card "
        "differ by, and the verdict rests on it."
    )


def counts_words(differences: Sequence[Difference]) -> str:
    """How many have which verdict, those that none has left out."""
    count = {entry: sum(each.verdict is entry for each in differences) for entry in Verdict}
    parts = (
        _("{n} worse").format(n=count[Verdict.WORSE]) if count[Verdict.WORSE] else "",
        _("{n} better").format(n=count[Verdict.BETTER]) if count[Verdict.BETTER] else "",
        _("{n} without a difference").format(n=count[Verdict.SAME]) if count[Verdict.SAME] else "",
        *_undecided(count),
    )
    return listed(parts)


def _undecided(count: Mapping[Verdict, int]) -> list[str]:
    parts: list[str] = []
    if count[Verdict.UNCERTAIN]:
        parts.append(_("{n} uncertain").format(n=count[Verdict.UNCERTAIN]))
    if count[Verdict.VOID]:
        parts.append(_("{n} void").format(n=count[Verdict.VOID]))
    return parts


def comparison_markdown(differences: Sequence[Difference], found: Sequence[Unlike], before: str, after: str) -> str:
    """All of it as one Markdown text."""
    parts = [markdown(comparison_table(differences, before, after)), f"{summary_line(differences)}\n"]
    if any(each.low is not None for each in differences):
        parts.append(f"{interval_words()}\n")
    if lines := unlike_lines(found):
        heading = _("What differs")
        parts += [f"### {heading}\n", bullets(lines)]
    return "\n".join(parts)
