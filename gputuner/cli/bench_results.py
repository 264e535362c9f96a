"""What benchmarks found, for people: the table, what held each back, where published figures come from; the list."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.experiment import Finished
from gputuner.cli.output import Output
from gputuner.cli.planned import card_line
from gputuner.language import benchmarks as words
from gputuner.language.tables import Table
from gputuner.language.tables import markdown as as_markdown
from gputuner.language.words import _, listed
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.experiments.benchmarks.benchmark import Benchmark, Machine, Unavailable


def show(output: Output, ended: Finished, *, markdown: bool) -> None:
    """The results of one card."""
    if not ended.found.points:
        return
    if markdown:
        show_markdown(output, ended.cards, ended.found.points)
        return
    output.heading(listed(card_line(card) for card in ended.cards))
    show_points(output, ended.found.points)


def show_markdown(output: Output, cards: Sequence[CardInfo], points: Sequence[Point]) -> None:
    """The same as Markdown."""
    from gputuner.language.bench_table import bench_markdown

    output.line(bench_markdown(points, listed(card_line(card) for card in cards)))


def show_points(output: Output, points: Sequence[Point]) -> None:
    """Table, causes, null check, sources."""
    from gputuner.language.bench_table import (
        bench_table,
        best_line,
        held_back_lines,
        interval_note,
        null_missing,
        null_note,
        null_table,
        sources,
    )

    output.show(bench_table(points))
    for told in (best_line(points), interval_note(points)):
        if told:
            output.line(told)
    if lines := held_back_lines(points):
        output.heading(_("What held it back"))
        for line in lines:
            output.line(f"- {line}")
    null = null_table(points)
    if null.rows:
        output.heading(_("The same again: how far equal measurements lie apart"))
        output.show(null)
        output.line(null_note())
        if told := null_missing(points):
            output.line(told)
    if told := sources(points):
        output.heading(_("Published figures of this very card"))
        for line in told:
            output.line(f"- {line}")


def show_list(
    output: Output, suite: Sequence["Benchmark"], machine: "Machine | None", origin: Origin, *, markdown: bool = False
) -> None:
    """All benchmarks: group, what they measure, unit, and why one cannot run here; unknown facts keep none away."""
    verdicts = [(each, each.unavailable(machine) if machine else None) for each in suite]
    if output.json:
        body = document.head("bench", origin)
        body["devices"] = [document.card(machine.card)] if machine else []
        body["benchmarks"] = [
            {
                "name": each.name,
                "group": each.group,
                "available": why is None,
                "reason": None if why is None else why.code,
                "message": None if why is None else words.unavailable(why.code, why.params),
                "unit": each.unit,
                "about": words.about(each.name, each.group),
                "in_default": bool(each.default_s),
            }
            for each, why in verdicts
        ]
        document.write(body, output.out)
        return
    if machine is not None:
        output.note(card_line(machine.card))
    table = _list_table(verdicts)
    if markdown:
        output.line(as_markdown(table).rstrip())
    else:
        output.show(table)


def _list_table(verdicts: Sequence[tuple["Benchmark", "Unavailable | None"]]) -> Table:
    """One row for each benchmark; name and group as they are typed."""
    rows = tuple(
        (
            each.name,
            each.group,
            words.about(each.name, each.group),
            "" if why is None else words.unavailable(why.code, why.params),
        )
        for each, why in verdicts
    )
    headers = (_("benchmark"), _("group"), _("what it measures"), _("not here, because"))
    return Table(headers=headers, rows=rows, wraps=(2, 3))
