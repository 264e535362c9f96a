"""``advise --try``: apply an advice to the training it was given for, and keep the promised and the realised gain."""

from collections.abc import Mapping

from gputuner.cli import document, results
from gputuner.cli.context import Context
from gputuner.cli.experiment import Finished, run, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import dry_run
from gputuner.cli.ports import Setup
from gputuner.cli.streams import last_words
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.advice import Advice
from gputuner.model.cards import CPU_CARD, CardInfo, Origin
from gputuner.model.events import RunStarted
from gputuner.model.points import Point


def try_advice(context: Context, options: Options, session: str | None, advice_id: str, recipe: str) -> int:
    """Try one advice; returns the exit code.

    Args:
        context: streams and the way to the program.
        options: the common options.
        session: that gave it; None: the newest with figures.
        advice_id: its name: the rule, with a number where it gave several.
        recipe: where the recipe lies now; empty: where the session says, from the current folder.

    Raises:
        UsageError: there is no such advice, or it cannot be tried, or not here.
        GputunerError: it cannot start.
    """
    from gputuner.cli.advise import advice_of, chosen
    from gputuner.experiments import trying_asked as asked

    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        stored = chosen(setup, session)
        try:
            started = stored.started
            entry = asked.found(advice_of(stored)[0], advice_id, started, sentences.advice_title)
            asked.check_origin(started, setup.origin)
            card = _card(setup, options, started, entry)
            spec = asked.try_of(stored, advice_id, entry, recipe=recipe, minutes=options.minutes)
        finally:
            stored.close()
        if options.dry_run:
            if spec.recipe:
                output.note(_("Your training is not run: the steps are those that ResNet-50 would take."))
            return dry_run(output, setup, spec, (card,), options)
        output.note(sentences.advice_action(entry))
        ended = run(output, setup, spec, (card,), options)
        with last_words(output.out):
            _tell(output, setup.origin, ended)
        return ended.exit_code


def _card(setup: Setup, options: Options, started: RunStarted, entry: Advice) -> CardInfo:
    """The card that the advice is about; another one only where it is named.

    Raises:
        UsageError: the session's card is not here.
    """
    from gputuner.experiments import trying_asked

    if options.gpu is not None:
        return setup.select(options.gpu, for_experiment=True)[0]
    known = () if entry.card == CPU_CARD else setup.cards()
    if trying_asked.is_here(started, entry, known, setup.host()):
        return setup.select(entry.card, for_experiment=True)[0]
    here = ", ".join(each.title for each in setup.cards()) or _("none")
    raise trying_asked.missing(started, entry, here)


def _tell(output: Output, origin: Origin, ended: Finished) -> None:
    from gputuner.advice.tried import gain_point

    found = gain_point(ended.found.points)
    if output.json:
        body = run_document(origin, "advise.try", [ended])
        body["tried"] = None if found is None else tried_document(found)
        document.write(body, output.out)
        return
    if found is not None:
        show_tried(output, found)
    results.show_end(output, ended.found.outcome, origin, ended.path)


def show_tried(output: Output, point: Point) -> None:
    """The realised gain against the predicted one, and what that says."""
    from gputuner.advice.tried import tried_of
    from gputuner.analysis.trying import Verdict
    from gputuner.language import tried as words

    told = tried_of(point)
    output.heading(_("What {advice} of session {session} gained").format(advice=told.advice, session=told.session))
    output.line(words.tried(told))
    output.line(words.verdict(told.verdict))
    if memory := words.memory(point.extra.get("memory_change")):
        output.line(memory)
    if told.verdict is not Verdict.UNCLEAR:
        output.line(
            _("From {n} trials, which differ by {between} between themselves.").format(
                n=told.found.trials, between=words.scatter(told.found.between)
            )
        )


def tried_document(point: Point) -> Mapping[str, object]:
    """A try as an object of JSON."""
    from gputuner.advice.tried import counts, tried_of

    told = tried_of(point)
    predicted, found = told.predicted, told.found
    return {
        "session": told.session,
        "advice": told.advice,
        "card": told.card,
        "confidence": told.confidence.value,
        "predicted": None
        if predicted is None
        else {"value": predicted.value, "low": predicted.low, "high": predicted.high},
        "realised": {"value": found.value, "low": found.low, "high": found.high},
        "trials": found.trials,
        "verdict": told.verdict.value,
        "memory_change": point.extra.get("memory_change"),
        "same_card": point.extra.get("same_card"),
        "same_recipe": point.extra.get("recipe_same"),
        "counts": counts(point),
    }
