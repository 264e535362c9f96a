"""``advise``: the advice of a stored session, with its evidence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter

from gputuner.advice.sources import naming_sources
from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.cli import document, health_wear, results
from gputuner.cli.again import try_command
from gputuner.cli.context import Injected
from gputuner.cli.options import GIB, Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup, Stored
from gputuner.cli.progress import point_line
from gputuner.cli.sessions import Which, newest, session_document
from gputuner.language import sentences
from gputuner.language.words import N_, _
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import Origin
from gputuner.model.errors import UsageError

ABOUT = N_("Advice from what is known, with its evidence; try it, and see how often its words came true.")


TRY = N_("Try this advice on the training it was given for: as before and as advised, A B B A (two minutes).")
RECORD = N_("How often each word of confidence came true, over all advice that was tried.")
RECIPE = N_("With --try: where your recipe lies now, if the current folder is not the one of then.")


def advise(
    session: Which = None,
    /,
    *,
    advice_id: Annotated[str, Parameter(name="--try", metavar="ID", help=TRY)] = "",
    record: Annotated[bool, Parameter(name="--record", negative="", help=RECORD)] = False,
    recipe: Annotated[str, Parameter(name="--recipe", help=RECIPE)] = "",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show the advice of a session, try one, or show what came of those that were tried.

    Args:
        session: which; None: the newest.
        advice_id: the advice to try, by its rule.
        record: show the record of all tries.
        recipe: where the recipe of the training to try lies.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: these exclude each other, or the advice cannot be tried.
    """
    from gputuner.cli import tries, trying

    if record and (advice_id or session is not None):
        raise UsageError("options_exclude", "--record is about all", first="--record", second=session or "--try")
    if recipe and not advice_id:
        raise UsageError("try_recipe_alone", "--recipe goes with --try")
    if record:
        return tries.show_record(context, options)
    if advice_id:
        return trying.try_advice(context, options, session, advice_id, recipe)
    output = context.output(options)
    with context.setup(options) as setup:
        if session is None and options.replay is not None:
            session = str(options.replay)
        stored = chosen(setup, session)
        try:
            disputed = setup.sessions.disagreements(stored.summary().path)
            if output.json:
                document.write(session_document("advise", stored, disputed, advice_of(stored)), output.out)
            else:
                _show(output, setup, options, stored, disputed)
        finally:
            stored.close()
    return 0


def chosen(setup: Setup, session: str | None) -> Stored:
    """The session that was named, else the newest that measured something and is no try of another's advice."""
    return newest(setup, session or _with_figures(setup))


def _with_figures(setup: Setup) -> str | None:
    """The newest session that measured something; None: there is none."""
    from gputuner.advice.tried import TRY as TRIED

    summaries = (entry.summary for entry in setup.sessions.entries() if entry.summary is not None)
    return next((s.run_id for s in summaries if s.point_count and s.experiment != TRIED), None)


def advice_of(stored: Stored) -> tuple[Sequence[Advice], Sequence[Question]]:
    """Its advice; of a run that ended before it gave any (cancelled, killed), what its figures say."""
    from gputuner.advice.tried import TRY as TRIED

    advice, questions = stored.advice()
    points = tuple(stored.points())
    if not points or stored.summary().experiment == TRIED:
        return advice, questions
    if advice or questions:
        return _with_changes(stored, advice), questions
    return _judged(stored)


def _judged(stored: Stored) -> tuple[Sequence[Advice], Sequence[Question]]:
    from gputuner.advice.evidence import Evidence
    from gputuner.advice.rules import advise as judge

    points, told_batch = tuple(stored.points()), stored.started.spec.get("effective_batch")
    effective = (told_batch or None) if isinstance(told_batch, int) else None
    told = [judge(Evidence(card=card, points=points, effective_batch=effective)) for card in stored.summary().cards]
    cap_bytes = stored.started.given_cap_bytes
    keep = "" if cap_bytes is None else f" --memory-cap {cap_bytes / GIB:g}"
    questions = [replace(question, command=question.command + keep) for _found, asked in told for question in asked]
    return [a for found, _asked in told for a in found], questions


def _with_changes(stored: Stored, advice: Sequence[Advice]) -> Sequence[Advice]:
    """Advice that was stored before it told what it changes, with that taken from the same figures."""
    if any(entry.change is not None for entry in advice):
        return advice
    changes = {(entry.card, entry.id): entry.change for entry in _judged(stored)[0]}
    return [replace(entry, change=changes.get((entry.card, entry.id))) for entry in advice]


def _show(output: Output, setup: Setup, options: Options, stored: Stored, disputed: Sequence[QualityNote]) -> None:
    from gputuner.advice.tried import gain_point
    from gputuner.cli.tries import tries_of
    from gputuner.cli.trying import show_tried

    summary = stored.summary()
    output.line(_("From session {session}").format(session=summary.run_id))
    if summary.origin is not Origin.MEASURED:
        results.show_origin(output, summary.origin)
    output.line(_("Telemetry from {source}").format(source=sentences.source(summary.source)))
    for note in disputed:
        output.line(_("Note: {text}").format(text=sentences.warning(note.code, note.params)))
    points = stored.points()
    of_a_try = gain_point(points)
    if of_a_try is not None:
        show_tried(output, of_a_try)
        return
    advice, questions = advice_of(stored)
    cap_bytes = stored.started.given_cap_bytes
    for card in summary.cards:
        results.show_limit(output, points, card)
    results.show_advice(
        output,
        naming_sources(advice, disputed),
        model=results.model_of(points),
        tries=lambda name, entry: try_command(options, summary.run_id, name, entry, summary.cards, cap_bytes),
        tried=tries_of(setup, summary.run_id),
        options=options,
    )
    used = {reference for entry in advice for reference in entry.evidence}
    evidence = [point for point in points if point.id in used]
    if evidence:
        output.heading(_("Evidence"))
        for point in evidence:
            output.line(f"- {point_line(point)}")
    results.show_questions(output, questions, options)
    health_wear.tell_drift(output, setup, summary.cards)
