"""The figures of a contention experiment on a terminal: a few tables instead of a row for each."""

from collections.abc import Sequence

from gputuner.analysis.contention_figures import is_of_mix
from gputuner.cli.output import Output
from gputuner.language.words import _
from gputuner.model.points import Point


def without_mixes(output: Output, points: Sequence[Point]) -> list[Point]:
    """Show the figures of jobs alone and at once where there are some; the others."""
    own = [point for point in points if is_of_mix(point)]
    if own:
        show_points(output, own)
    return [point for point in points if not is_of_mix(point)]


def show_points(output: Output, points: Sequence[Point]) -> None:
    """The figures of a contention experiment."""
    from gputuner.analysis.contention_claim import claims_of
    from gputuner.language import contention, contention_models, contention_tables

    for title, table in (
        (_("Alone"), contention_tables.alone_table(points)),
        (_("At once"), contention_tables.together_table(points)),
        (_("Does it pay? Work per time, one after the other = 1"), contention_tables.gain_table(points)),
        (_("What they lose time at"), contention_tables.cause_table(points)),
        (_("Predicted without the job's own pairs"), contention_tables.predicted_table(points)),
    ):
        if table.rows:
            output.heading(title)
            output.show(table)
    lines = (contention_models.round_lines, contention_models.model_lines, contention_tables.null_lines)
    for line in (line for told in lines for line in told(points)):
        output.line(line)
    for claim in claims_of(points):
        output.line(contention.claim(claim))
