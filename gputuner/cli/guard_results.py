"""What the guard of ``bench --against`` found, for people and for ``--json``; its verdict is one line, the last."""

from collections.abc import Sequence
from dataclasses import replace

from gputuner.analysis.regression import Difference, key_of, telling
from gputuner.cli import comparison, document
from gputuner.cli.guard import Guarded
from gputuner.cli.output import Output
from gputuner.cli.planned import card_line
from gputuner.language import benchmarks, numbers
from gputuner.language.comparisons import change_words, comparison_table, counts_words, summary_line, unlike_lines
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.words import _, listed, ngettext
from gputuner.model.errors import ExitCode


def show(output: Output, guarded: Guarded, *, as_markdown: bool) -> None:
    """The comparison with what became of each suspect, what is missing, and where the limit lies."""
    title = _("Against {session}").format(session=guarded.session)
    blocks = _blocks(guarded)
    if as_markdown:
        output.line("\n".join((f"## {title}\n", *(_markdown(heading, body) for heading, body in blocks))))
        return
    output.heading(title)
    for heading, body in blocks:
        if heading:
            output.heading(heading)
        if isinstance(body, Table):
            output.show(body)
        else:
            for line in body:
                output.line(f"- {line}" if heading else line)


def verdict_line(guarded: Guarded, *, several: bool = False, as_markdown: bool = False) -> str:
    """The verdict with its counts; ``several``: of which card too."""
    told = _("Against {session}: {verdict}").format(session=guarded.session, verdict=_verdict(guarded))
    if several:
        told = f"{card_line(guarded.card)} · {told}"
    return f"**{told}**" if as_markdown else told


def guarded_document(guarded: Guarded) -> document.Json:
    """For ``--json``."""
    again, limits = guarded.again, _limits(guarded)
    ended = again.ended if again else None
    return {
        "session_id": guarded.session,
        "verdict": _VERDICTS.get(guarded.exit_code, "failed"),
        **comparison.comparison_document(guarded.first, guarded.unlike),
        "again": None if again is None else [comparison.difference(each) for each in again.differences],
        "again_session_id": ended.found.run_id if ended and ended.path else None,
        "again_outcome": ended.found.outcome.value if ended else None,
        "worse": [comparison.difference(each) for each in guarded.confirmed],
        "unconfirmed": [comparison.difference(each) for each in guarded.unconfirmed],
        "gone": [
            {
                "benchmark": each.benchmark,
                "reason": each.reason,
                "message": benchmarks.unavailable(each.reason, each.params),
            }
            for each in guarded.gone
        ],
        "missing": list(guarded.missing),
        "limit": {
            "least": min(limits, default=None),
            "most": max(limits, default=None),
            "sessions": guarded.sessions,
            "assumed": not _known(guarded),
        },
    }


_VERDICTS: dict[int, str] = {
    int(ExitCode.DONE): "passed",
    int(ExitCode.CHECK_FAILED): "worse",
    int(ExitCode.BAD_INPUT): "nothing_to_compare",
    int(ExitCode.INTERRUPTED): "interrupted",
}

Block = tuple[str, Table | Sequence[str]]
"""A heading (or none) and what stands under it."""


def _blocks(guarded: Guarded) -> list[Block]:
    found = guarded.first
    blocks: list[Block] = []
    if found:
        shown = telling(found)
        blocks.append(("", (_named(_("before"), guarded.session), _named(_("after"), guarded.name))))
        blocks.append(("", _marked(guarded, shown)))
        further = [each for each in found if each not in shown]
        told = _("Further figures: {counts}; --json has all.").format(counts=counts_words(further))
        lines = [told] if further else []
        blocks.append(("", (*lines, _("At first: {counts}").format(counts=summary_line(found)), _limit(guarded))))
    if guarded.gone:
        told = [_named(each.benchmark, benchmarks.unavailable(each.reason, each.params)) for each in guarded.gone]
        blocks.append((_("Without a figure now"), told))
    if guarded.missing:
        words = _("Measured there but not comparable now: {names}").format(names=listed(guarded.missing))
        blocks.append(("", (words,)))
    if lines := unlike_lines(guarded.unlike):
        blocks.append((_("What differs"), lines))
    return blocks


def _named(name: str, told: str) -> str:
    return _("{name}: {told}").format(name=name, told=told)


def _markdown(heading: str, body: Table | Sequence[str]) -> str:
    above = f"### {heading}\n\n" if heading else ""
    if isinstance(body, Table):
        return above + markdown(body)
    return above + (bullets(body) if heading else "\n".join(f"{line}  " for line in body) + "\n")


def _marked(guarded: Guarded, shown: Sequence[Difference]) -> Table:
    """The table; the verdict of a suspect says what became of it."""
    table = comparison_table(shown, _("before"), _("after"))
    rows = [(*row[:-1], _mark(guarded, each) or row[-1]) for row, each in zip(table.rows, shown, strict=True)]
    return replace(table, rows=tuple(rows))


def _mark(guarded: Guarded, each: Difference) -> str:
    key = key_of(each.before)
    for found, words in (
        (guarded.confirmed, _("worse, and again: {change}")),
        (guarded.cleared, _("worse at first, then {change}")),
    ):
        second = next((one for one in found if key_of(one.before) == key), None)
        if second is not None:
            return words.format(change=change_words(second.change))
    return _("looks worse, not confirmed") if any(key_of(one.before) == key for one in guarded.unconfirmed) else ""


def _limits(guarded: Guarded) -> list[float]:
    """From which change on a figure counts as worse."""
    return [each.limit for each in guarded.first if each.p is not None]


def _known(guarded: Guarded) -> bool:
    return any(each.spread.known for each in guarded.first)


def _limit(guarded: Guarded) -> str:
    """From which change on a figure is called worse, and where that is known from."""
    limits = _limits(guarded)
    if not limits:
        return ""
    least, most = (numbers.value(share, "fraction") for share in (min(limits), max(limits)))
    span = least if least == most else _("{least} to {most}, by figure").format(least=least, most=most)
    basis = (
        ngettext(
            "from how far {n} session up to that one lies apart",
            "from how far {n} sessions up to that one lie apart",
            guarded.sessions,
        )
        if _known(guarded)
        else ngettext(
            "assumed, as only {n} session up to that one tells",
            "assumed, as only {n} sessions up to that one tell",
            guarded.sessions,
        )
    )
    told = _("Worse is a change of more than {span}: {basis}.")
    return told.format(span=span, basis=basis.format(n=guarded.sessions))


def _verdict(guarded: Guarded) -> str:
    if guarded.interrupted:
        return _("interrupted before what looks worse was measured again.")
    wrong = [
        _counted(ngettext("{n} figure worse, confirmed", "{n} figures worse, confirmed", len(guarded.confirmed)),
                 len(guarded.confirmed)),
        _counted(
            ngettext(
                "{n} figure looks worse and could not be confirmed",
                "{n} figures look worse and could not be confirmed",
                len(guarded.unconfirmed),
            ),
            len(guarded.unconfirmed),
        ),
        _counted(
            ngettext("{n} benchmark without a figure now", "{n} benchmarks without a figure now", len(guarded.gone)),
            len(guarded.gone),
        ),
    ]  # fmt: skip
    if any(wrong):
        return _("{what}.").format(what=_("; ").join(part for part in wrong if part))
    if not guarded.decided:
        return _("nothing can be compared.")
    passed = ngettext("passed, {n} figure is not worse", "passed, none of {n} figures is worse", guarded.decided)
    parts = [
        passed.format(n=guarded.decided),
        _counted(
            ngettext("{n} looked worse at first only", "{n} looked worse at first only", len(guarded.cleared)),
            len(guarded.cleared),
        ),
    ]
    return _("{what}.").format(what=_("; ").join(part for part in parts if part))


def _counted(words: str, n: int) -> str:
    return words.format(n=n) if n else ""
