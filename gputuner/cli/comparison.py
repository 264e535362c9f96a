"""Two sessions figure by figure, for people and for ``--json``."""

from collections.abc import Sequence

from gputuner.analysis.likeness import Unlike
from gputuner.analysis.regression import Difference, telling, worse
from gputuner.cli import document
from gputuner.cli.output import Output
from gputuner.language.bench_table import of_words
from gputuner.language.comparisons import (
    change_words,
    comparison_table,
    counts_words,
    interval_words,
    summary_line,
    unlike_lines,
)
from gputuner.language.names import metric
from gputuner.language.steps import point_value
from gputuner.language.words import _, listed


def show_comparison(
    output: Output, found: Sequence[Difference], differs: Sequence[Unlike], before: str, after: str
) -> None:
    """The table, how many are worse and better, and what differs."""
    if not found:
        output.line(_("The two sessions have no figure in common."))
    else:
        shown = telling(found)
        output.pairs([(_("before"), before), (_("after"), after)])
        output.show(comparison_table(shown, _("before"), _("after")))
        if len(shown) < len(found):
            further = [each for each in found if each not in shown]
            output.line(_("Further figures: {counts}; --json has all.").format(counts=counts_words(further)))
        output.line(summary_line(found))
        if any(each.low is not None for each in shown):
            output.line(interval_words())
    if lines := unlike_lines(differs):
        output.heading(_("What differs"))
        for line in lines:
            output.line(f"- {line}")


def comparison_document(found: Sequence[Difference], differs: Sequence[Unlike]) -> document.Json:
    """A comparison as a part of a document."""
    return {
        "comparisons": [difference(each) for each in found],
        "worse_at_first": [difference(each) for each in worse(found)],
        "differs": [
            {"name": each.name, "before": each.before, "after": each.after, "weight": each.weight.value}
            for each in differs
        ],
    }


def difference(each: Difference) -> document.Json:
    """One figure of two sessions."""
    return {
        "metric": each.before.metric,
        "workload": each.before.workload,
        "params": dict(each.after.params),
        "unit": each.before.unit,
        "before": document.point(each.before),
        "after": document.point(each.after),
        "change": each.change,
        "change_ci95": None if each.low is None or each.high is None else [each.low, each.high],
        "limit": each.limit,
        "p": each.p,
        "verdict": each.verdict.value,
        "void": each.void or None,
    }


def in_words(each: Difference) -> str:
    """One figure of two sessions in one line."""
    of = listed((metric(each.before.metric), of_words(each.before)))
    return _("{of}: {before} → {after} ({change})").format(
        of=of, before=point_value(each.before), after=point_value(each.after), change=change_words(each.change)
    )
