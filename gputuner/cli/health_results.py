"""What a health test found, in tables and sentences, or as a document."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.cli import document, result_parts
from gputuner.cli.experiment import Finished, run_document
from gputuner.cli.health import told_verdict
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import health, health_tables
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.analysis.health import Verdict


def tell(
    output: Output, origin: Origin, name: str, ended: Sequence[Finished], options: Options, files: Sequence[Path]
) -> None:
    """Show, or write, what the tests found and where the certificates lie."""
    if output.json:
        body = run_document(origin, name, ended)
        body["verdicts"] = [{"card": each.cards[0].uuid, "verdict": told_verdict(each)} for each in ended]
        body["certificates"] = [str(path) for path in files]
        document.write(body, output.out)
        return
    for each in ended:
        _show(output, each, options, origin)
    for path in files:
        output.line(_("Certificate: {path}").format(path=path))


def _show(output: Output, each: Finished, options: Options, origin: Origin) -> None:
    show_found(output, each.found.points, told_verdict(each))
    result_parts.show_judgement(output, each, options)
    result_parts.show_end(output, each, origin)


def show_found(output: Output, points: Sequence[Point], told: "Verdict") -> None:
    """What was tested and found, and the verdicts; also of a stored test."""
    tables = (
        (_("Video memory"), health_tables.memory_table(points)),
        (_("Products, bit for bit"), health_tables.burn_table(points)),
        (_("Against the sheet"), health_tables.identity_table(points)),
        (_("Stages"), health_tables.stages_table(points)),
    )
    result_parts.show_tables(output, tables)
    for line in health_tables.memory_lines(points):
        output.line(line)
    output.heading(_("Verdict"))
    output.line(_("Health: {verdict}.").format(verdict=health.verdict(told)))
    for point in points:
        if point.metric == "identity_verdict":
            output.line(_("Identity: {verdict}.").format(verdict=health.identity(point)))
