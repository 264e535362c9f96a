"""What ``contend`` found, in tables and sentences, or as a document."""

from collections.abc import Sequence
from dataclasses import replace
from shlex import join, quote
from typing import TYPE_CHECKING

from gputuner.analysis.contention_claim import Claim, claims_of
from gputuner.analysis.contention_figures import newest
from gputuner.cli import document, results
from gputuner.cli.again import advise_command, try_command
from gputuner.cli.contention_figures import show_points
from gputuner.cli.experiment import Finished, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import Origin

if TYPE_CHECKING:
    from gputuner.experiments.contention import Contend


def tell(output: Output, origin: Origin, spec: "Contend", ended: Sequence[Finished], options: Options) -> None:
    """Show, or write, what the runs found."""
    for each in ended:
        each.found.points[:] = newest(each.found.points)
    if output.json:
        body = run_document(origin, spec.name, ended)
        body["claims"] = [claim_document(each) for run in ended for each in claims_of(run.found.points)]
        document.write(body, output.out)
        return
    for each in ended:
        _show(output, each, options, spec.commands)
        results.show_end(output, each.found.outcome, origin, each.path)


def _show(output: Output, each: Finished, options: Options, commands: Sequence[tuple[str, ...]]) -> None:
    found = each.found
    show_points(output, found.points)
    if not found.points and found.exit_code != 0:
        return

    def tries(name: str, entry: Advice) -> str:
        return try_command(options, found.run_id, name, entry, each.cards)

    more = advise_command(options, found.run_id)
    results.show_advice(output, found.advice, command=more, model="", tries=tries if each.path else None)
    results.show_questions(output, [whole(entry, commands) for entry in found.questions], options)


def whole(entry: Question, commands: Sequence[tuple[str, ...]]) -> Question:
    """The question with the user's commands as they were given: a terminal is his, a session others may read."""
    from gputuner.experiments.contention import told_option

    text = entry.command
    for argv in dict.fromkeys(commands):
        text = text.replace(told_option(argv), f"--command {quote(join(argv))}")
    return replace(entry, command=text)


def claim_document(entry: Claim) -> document.Json:
    """A claim against its figures, as an object of JSON."""
    return {
        "claim": "edsr_three_at_once",
        "mode": entry.mode,
        "value": entry.value,
        "low": entry.low,
        "high": entry.high,
        "holds": entry.holds,
        "evidence": list(entry.evidence),
    }
