"""What a power sweep found, in tables and sentences, or as a document."""

from collections.abc import Sequence

from gputuner.cli import document, result_parts
from gputuner.cli.experiment import Finished, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import power
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def tell(output: Output, origin: Origin, name: str, ended: Sequence[Finished], options: Options) -> None:
    """Show, or write, what the sweeps found."""
    if output.json:
        document.write(run_document(origin, name, ended), output.out)
        return
    for each in ended:
        show_found(output, each.found.points)
        if not power.null_line(each.found.points):
            result_parts.show_judgement(output, each, options)
        result_parts.show_supply(output, each, options)
        result_parts.show_end(output, each, origin)


def show_found(output: Output, points: Sequence[Point]) -> None:
    """What was visited and what it says; also of a stored sweep."""
    tables = (
        (_("What was visited"), power.table(points)),
        (_("What it says"), power.answers_table(points)),
    )
    result_parts.show_tables(output, tables)
    for line in power.lines(points):
        output.line(line)
    null = power.null_line(points)
    if null:
        output.line(null)
