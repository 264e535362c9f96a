"""``advise``: the advice of a stored session, with its evidence."""

from collections.abc import Sequence

from gputuner.advice.sources import naming_sources
from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.cli import document, results
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup, Stored
from gputuner.cli.progress import point_line
from gputuner.cli.sessions import Which, newest, session_document
from gputuner.language import sentences
from gputuner.language.words import N_, _
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import Origin

ABOUT = N_("Advice from what is known, with its evidence.")


def advise(
    session: Which = None,
    /,
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show the advice of a session.

    Args:
        session: which; None: the newest.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        if session is None and options.replay is not None:
            session = str(options.replay)
        stored = newest(setup, session or _with_figures(setup))
        try:
            disputed = setup.sessions.disagreements(stored.summary().path)
            if output.json:
                document.write(session_document("advise", stored, disputed, advice_of(stored)), output.out)
            else:
                _show(output, stored, disputed)
        finally:
            stored.close()
    return 0


def _with_figures(setup: Setup) -> str | None:
    """The newest session that measured something; None: there is none."""
    summaries = (entry.summary for entry in setup.sessions.entries() if entry.summary is not None)
    return next((summary.run_id for summary in summaries if summary.point_count), None)


def advice_of(stored: Stored) -> tuple[Sequence[Advice], Sequence[Question]]:
    """Its advice; of a run that ended before it gave any (cancelled, killed), what its figures say."""
    from gputuner.advice.evidence import Evidence
    from gputuner.advice.rules import advise as judge

    advice, questions = stored.advice()
    points = tuple(stored.points())
    if advice or questions or not points:
        return advice, questions
    told = [judge(Evidence(card=card, points=points)) for card in stored.summary().cards]
    return [a for found, _asked in told for a in found], [q for _found, asked in told for q in asked]


def _show(output: Output, stored: Stored, disputed: Sequence[QualityNote]) -> None:
    summary = stored.summary()
    output.line(_("From session {session}").format(session=summary.run_id))
    if summary.origin is not Origin.MEASURED:
        results.show_origin(output, summary.origin)
    output.line(_("Telemetry from {source}").format(source=sentences.source(summary.source)))
    for note in disputed:
        output.line(_("Note: {text}").format(text=sentences.warning(note.code, note.params)))
    points = stored.points()
    advice, questions = advice_of(stored)
    for card in summary.cards:
        results.show_limit(output, points, card)
    results.show_advice(output, naming_sources(advice, disputed))
    used = {reference for entry in advice for reference in entry.evidence}
    evidence = [point for point in points if point.id in used]
    if evidence:
        output.heading(_("Evidence"))
        for point in evidence:
            output.line(f"- {point_line(point)}")
    results.show_questions(output, questions)
