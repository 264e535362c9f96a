"""``advise --try``: apply an advice to the training it was given for, and keep the promised and the realised gain."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.advice.naming import names
from gputuner.cli import document, results
from gputuner.cli.context import Context
from gputuner.cli.experiment import Finished, run, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import dry_run
from gputuner.cli.ports import Setup, Stored
from gputuner.cli.streams import last_words
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.advice import Advice
from gputuner.model.cards import CPU_CARD, CardInfo, Origin
from gputuner.model.errors import UsageError
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.experiments.trying import Try

MINUTES = 2.0
QUESTIONS = {"batch": "", "switches": " --switches", "loading": " --loader", "numerics": " --numerics"}
"""Experiments that the command ``batch`` starts, with the option that asks for them."""
BUILT_IN = "resnet50"
"""The training of a session whose spec names none (``tune``)."""


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

    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        stored = chosen(setup, session)
        try:
            entry = _found(stored, advice_id, advice_of(stored)[0])
            _check_origin(stored, setup)
            card = _card(setup, options, stored, entry)
            spec = _spec(options, stored, advice_id, entry, recipe)
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


def _found(stored: Stored, advice_id: str, advice: Sequence[Advice]) -> Advice:
    """The advice of that rule, with what it changes.

    Raises:
        UsageError: there is none, or it changes nothing that a training could try.
    """
    from gputuner.advice.untried import instead, why_not

    run_id = stored.summary().run_id
    named = dict(zip(names(advice), advice, strict=True))
    entry = named.get(advice_id)
    if entry is None:
        known = ", ".join(name for name, each in named.items() if each.change is not None)
        raise UsageError("advice_unknown", f"no advice {advice_id}", advice=advice_id, session=run_id, known=known)
    if entry.change is None:
        card = next((each for each in stored.summary().cards if each.uuid == entry.card), stored.summary().cards[0])
        command = instead(entry, card, _again(stored))
        title = sentences.advice_title(entry)
        raise UsageError(why_not(entry), "it cannot be tried", title=title, command=command, session=run_id)
    return entry


def _again(stored: Stored) -> str:
    """The command that made a session, without options of its card and time."""
    spec, name = stored.started.spec, stored.summary().experiment
    if name not in QUESTIONS:
        return "tune"
    which = f"--recipe {spec['recipe']}" if spec.get("recipe") else str(spec.get("workload", BUILT_IN))
    return f"batch {which}{QUESTIONS[name]}"


def _check_origin(stored: Stored, setup: Setup) -> None:
    """Refuse to try on a real card what was measured on a model, and the other way round.

    Raises:
        UsageError: they do not go together.
    """
    summary = stored.summary()
    if summary.origin is Origin.REPLAYED:
        raise UsageError("try_replayed", "a recording cannot be put under load", session=summary.run_id)
    if summary.origin is setup.origin:
        return
    if summary.origin is Origin.SIMULATED:
        match = summary.cards[0].catalog
        card = match.catalog_id if match and match.catalog_id else summary.cards[0].name
        raise UsageError("try_simulated", "made on a simulated card", session=summary.run_id, card=card)
    raise UsageError("try_measured", "made on a real card", session=summary.run_id)


def _card(setup: Setup, options: Options, stored: Stored, entry: Advice) -> CardInfo:
    """The card that the advice is about; another one only where it is named.

    Raises:
        UsageError: the session's card is not here.
    """
    from gputuner.experiments.trying_conditions import card_of

    if options.gpu is not None:
        return setup.select(options.gpu, for_experiment=True)[0]
    own = next((each for each in stored.summary().cards if each.uuid == entry.card), stored.summary().cards[0])
    if entry.card == CPU_CARD:
        before, now = card_of(CPU_CARD, stored.started.fingerprint.host), card_of(CPU_CARD, setup.host())
        if before == now:
            return setup.select(CPU_CARD, for_experiment=True)[0]
    elif any(each.uuid == entry.card for each in setup.cards()):
        return setup.select(entry.card, for_experiment=True)[0]
    here = ", ".join(each.title for each in setup.cards()) or _("none")
    raise UsageError("try_card_missing", "another card", session=stored.summary().run_id, card=own.title, here=here)


def _spec(options: Options, stored: Stored, name: str, entry: Advice, recipe: str) -> "Try":
    """The experiment.

    Raises:
        UsageError: the recipe is not here, or the advice changes what no trial can.
    """
    from gputuner.experiments.trying import Try
    from gputuner.experiments.trying_conditions import conditions_of, recipe_digest

    change, told = entry.change, stored.started.spec
    assert change is not None
    own = recipe or str(told.get("recipe") or "")
    _check_recipe(own)
    card = next((each for each in stored.summary().cards if each.uuid == entry.card), stored.summary().cards[0])
    return Try(
        session=stored.summary().run_id,
        advice=name,
        workload=change.workload,
        recipe=own,
        folder=str(Path.cwd()),
        images=told.get("images") is True,
        base=change.base,
        advised=change.advised,
        aim=change.aim,
        predicted=entry.gain if entry.gain is not None and entry.gain.unit == "fraction" else None,
        confidence=entry.confidence,
        measured_on=conditions_of(card, stored.started.fingerprint, stored.torch()),
        recipe_sha256=recipe_digest(tuple(stored.points()), change.workload),
        minutes=MINUTES if options.minutes is None else options.minutes,
    )


def _check_recipe(recipe: str) -> None:
    """Refuse a recipe's file that is not where it is looked for; a module is found by the worker alone.

    Raises:
        UsageError: there is no such file.
    """
    source = recipe.rpartition(":")[0]
    if source.endswith(".py") and not Path(source).expanduser().is_file():
        raise UsageError("try_recipe_missing", f"no file {source}", path=source)


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
