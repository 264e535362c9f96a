"""``advise --record``: how often each word of confidence came true, over all stored tries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.context import Context
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.language import sentences
from gputuner.language.words import _, ngettext
from gputuner.model.cards import Origin
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.advice.tried import StoredTry


def tries_of(setup: Setup, run_id: str) -> dict[str, Point]:
    """What came of the advice of a session that was tried, by rule."""
    from gputuner.advice.tried import last_of, stored_tries

    return last_of([each.point for each in stored_tries(setup.sessions)], run_id)


def show_record(context: Context, options: Options) -> int:
    """The record of confidence; returns the exit code."""
    from gputuner.advice.tried import stored_tries

    output = context.output(options)
    with context.setup(options) as setup:
        told = stored_tries(setup.sessions)
        if output.json:
            document.write(_document(told), output.out)
        else:
            _show(output, told)
    return 0


def _show(output: Output, told: Sequence["StoredTry"]) -> None:
    if not told:
        output.line(_("No advice has been tried yet, so nothing is known of how often the words come true."))
        output.line(_("`gputuner --cli advise` shows advice, each with the command that tries it."))
        return
    for origin in Origin:
        own = [each.point for each in told if each.origin is origin]
        if own:
            _show_of(output, origin, own)


def _show_of(output: Output, origin: Origin, points: Sequence[Point]) -> None:
    from gputuner.advice.tried import counts, tried_of
    from gputuner.analysis.calibration import calibrate
    from gputuner.language import tried as words

    counted = [tried_of(point) for point in points if counts(point)]
    tallies = calibrate(counted)
    title = _("How often the words came true")
    output.heading(title if origin is Origin.MEASURED else f"{title} ({sentences.origin(origin)})")
    if origin is not Origin.MEASURED:
        output.line(_("A model was tried on a model: this says nothing of real cards."))
    headers = (_("the advice rested on"), _("tried"), _("as predicted"), _("gained"), _("off by"), _("tends to"))
    rows = [
        (
            sentences.confidence(tally.confidence),
            str(tally.tries),
            words.share(tally.agreed),
            words.share(tally.gained),
            words.points(tally.error),
            words.tendency(tally.bias),
        )
        for tally in tallies
    ]
    if rows:
        output.table(headers, rows, right=(1,), wraps=(0, 2, 3, 5))
        output.line(_("Shares with 95 % intervals (Wilson); off by: median |realised − predicted| gain."))
        output.line(_("As predicted: of the promises that could fail and were tried precisely enough to show it."))
    left_out = sum(not counts(point) for point in points)
    if left_out:
        told = ngettext(
            "{n} try is not counted: it was made on another card, or its recipe had changed.",
            "{n} tries are not counted: they were made on another card, or their recipe had changed.",
            left_out,
        )
        output.line(told.format(n=left_out))


def _document(told: Sequence["StoredTry"]) -> document.Json:
    from gputuner.advice.tried import counts, tried_of
    from gputuner.analysis.calibration import calibrate
    from gputuner.cli.trying import tried_document
    from gputuner.model.codec import to_builtins

    body = document.head("advise.record", None)
    body["records"] = [
        {
            "origin": origin.value,
            "simulated": origin is Origin.SIMULATED,
            "not_counted": sum(not counts(point) for point in own),
            "confidences": [
                to_builtins(tally) for tally in calibrate([tried_of(point) for point in own if counts(point)])
            ],
        }
        for origin in Origin
        if (own := [each.point for each in told if each.origin is origin])
    ]
    body["tries"] = [{"origin": each.origin.value, **tried_document(each.point)} for each in told]
    return body
