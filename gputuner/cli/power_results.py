"""What a power sweep found, in tables and sentences, or as a document."""

from collections.abc import Sequence

from gputuner.cli import document, results
from gputuner.cli.again import advise_command
from gputuner.cli.experiment import Finished, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import power
from gputuner.language.words import _
from gputuner.model.cards import Origin


def tell(output: Output, origin: Origin, name: str, ended: Sequence[Finished], options: Options) -> None:
    """Show, or write, what the sweeps found."""
    if output.json:
        document.write(run_document(origin, name, ended), output.out)
        return
    for each in ended:
        found = each.found
        for title, table in (
            (_("What was visited"), power.table(found.points)),
            (_("What it says"), power.answers_table(found.points)),
        ):
            if table.rows:
                output.heading(title)
                output.show(table)
        for line in power.lines(found.points):
            output.line(line)
        null = power.null_line(found.points)
        if null:
            output.line(null)
        elif found.points or found.exit_code == 0:
            more = advise_command(options, found.run_id)
            results.show_advice(output, found.advice, command=more, model="", tries=None)
            results.show_questions(output, found.questions, options)
        results.show_end(output, found.outcome, origin, each.path)
