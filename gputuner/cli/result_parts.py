"""What the results of several experiments have in common: titled tables, and how each card's part ends."""

from collections.abc import Sequence

from gputuner.cli import results
from gputuner.cli.again import advise_command, question_command
from gputuner.cli.experiment import Finished
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language.supply import what_next
from gputuner.language.tables import Table
from gputuner.model.cards import Origin


def show_tables(output: Output, tables: Sequence[tuple[str, Table]]) -> None:
    """Tables under their titles; those without a row are left out."""
    for title, table in tables:
        if table.rows:
            output.heading(title)
            output.show(table)


def show_judgement(output: Output, each: Finished, options: Options) -> None:
    """Advice and questions, unless the run failed before it measured anything."""
    found = each.found
    if found.points or found.exit_code == 0:
        more = advise_command(options, found.run_id)
        results.show_advice(output, found.advice, command=more, model="", tries=None, options=options)
        results.show_questions(output, found.questions, options)


def show_supply(output: Output, each: Finished, options: Options) -> None:
    """What to ask next once the card's watts were measured."""
    from gputuner.advice.questions import command

    if each.found.points and not each.cards[0].is_cpu:
        asked = question_command(options, command(each.cards[0], "supply"))
        output.line()
        output.line(what_next(asked))


def show_end(output: Output, each: Finished, origin: Origin) -> None:
    """The run's outcome and its session."""
    results.show_end(output, each.found.outcome, origin, each.path)
