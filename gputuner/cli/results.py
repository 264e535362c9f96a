"""What a run found, in plain words: what limits you, the best advices, the figures, where the session lies."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gputuner.advice.naming import names
from gputuner.analysis.headlines import NUMERICAL
from gputuner.cli import numerics_results
from gputuner.cli.again import question_command, snippet_lines
from gputuner.cli.contention_figures import without_mixes
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import sentences
from gputuner.language.optimizers import optimizers
from gputuner.language.words import N_, _, listed
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import Outcome
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar

BEST = 3
ABOUT_TRAINING = ("train_throughput", "loader_demand", "train_loss")
"""Figures that are of one training."""
WATCHED = "watch_"
"""Begin of the metrics of a watched command."""
_SUSTAINED = "sustained"
_LITTLE = 0.01
_POWER_LITTLE = N_(
    "The power limit was touched {share:fraction} of the time under sustained load but cost only {lost:fraction} of "
    "the clock."
)
_POWER_LOST = N_(
    "The power limit held the clock back {share:fraction} of the time under sustained load: it ran {lost:fraction} "
    "below its maximum."
)
_SELDOM_DIFFER = ("image", "n", "load_s")

_LIMITS: dict[Limiter, str] = {
    Limiter.POWER: N_("The power limit held the clock back {share:fraction} of the time under sustained load."),
    Limiter.THERMAL_SOFTWARE: N_("Heat held the clock back {share:fraction} of the time under sustained load."),
    Limiter.THERMAL_HARDWARE: N_(
        "Heat forced the card to slow down {share:fraction} of the time under sustained load; its cooling needs care."
    ),
    Limiter.POWER_BRAKE: N_(
        "The power brake slowed the card {share:fraction} of the time under sustained load; check the power supply."
    ),
    Limiter.HARDWARE: N_(
        "The card's hardware slowed it down {share:fraction} of the time under sustained load and does not tell why: "
        "heat, power or its cables."
    ),
    Limiter.USER_CAP: N_("A clock set by a user held the card back {share:fraction} of the time under sustained load."),
    Limiter.SYNC_BOOST: N_("Sync boost held the clock back {share:fraction} of the time under sustained load."),
    Limiter.NONE: N_("Nothing held the clock back under sustained load."),
}

_ELSEWHERE = N_(
    "Nothing held the clock back in the longest load; in another one it was held back {share:fraction} of the time "
    "({limiter})."
)


def show_figures(output: Output, points: Sequence[Point]) -> None:
    """A table of all figures by metric; settings that all figures of a metric share stand beside its name.

    Those of a numerical check are curves, verdicts and lists, those of jobs at once mixes: each has tables of its own.
    """
    numerical = [point for point in points if point.metric in NUMERICAL]
    if numerical:
        numerics_results.show(output, numerical)
    points = without_mixes(output, [point for point in points if point.metric not in NUMERICAL])
    if not points:
        return
    origins = {point.origin for point in points} - {Origin.MEASURED}
    title = _("Figures ({origin})") if origins else _("Figures")
    output.heading(title.format(origin=listed(sentences.origin(origin) for origin in sorted(origins))))
    rows: list[tuple[str, ...]] = []
    for metric in dict.fromkeys(point.metric for point in points):
        group = [point for point in points if point.metric == metric]
        common = _common(group)
        title = listed((sentences.metric(metric), sentences.settings(common, group[0].card)))
        for i, point in enumerate(group):
            own = {name: entry for name, entry in point.params.items() if name not in common}
            flags = listed(sentences.flag(flag) for flag in point.flags)
            rows.append(("" if i else title, sentences.settings(own, point.card), sentences.point_value(point), flags))
    output.table((_("figure"), _("of"), _("value"), _("remarks")), rows, right=(2,), wraps=(0, 1, 2, 3))
    if stepped := optimizers(points):
        output.line(_("Optimizer: {name}").format(name=stepped))


def _common(points: Sequence[Point]) -> dict[str, Scalar]:
    """What need not be said in every row."""
    first = points[0].params
    return {
        name: entry
        for name, entry in first.items()
        if name in _SELDOM_DIFFER and all(point.params.get(name) == entry for point in points)
    }


def show_limit(output: Output, points: Sequence[Point], card: CardInfo) -> None:
    """What limits the card under sustained load."""
    sentence = limit_sentence(points, card)
    if sentence:
        output.heading(_("What limits you"))
        output.line(sentence)
        if not any("load_s" in point.params or "load_s" in point.extra for point in points):
            output.line(_("That was in loads of a few seconds; a longer run tells more."))
        mig = card.readings.get("mig_enabled")
        if mig is not None and mig.value is True:
            output.line(_("MIG is on, so how busy the card was is not told; there is no utilisation to judge by."))


def limit_sentence(points: Sequence[Point], card: CardInfo) -> str:
    """One sentence on what held a card back; empty where nothing was measured, and of the processor, which is no card
    that tells limits of its clock.
    """
    from gputuner.advice.evidence import Evidence
    from gputuner.advice.limits import LITTLE_LOST, TRUSTED_S, clock_lost
    from gputuner.analysis.limits import THERMAL, what_limits
    from gputuner.language.filling import fill

    own = [point for point in points if point.card == card.uuid]
    sustained = [point for point in own if point.params.get("phase") == _SUSTAINED]
    windows = [point.conditions for point in sustained or own if point.conditions is not None]
    if not windows or card.is_cpu:
        return ""
    longest = max(windows, key=lambda window: window.duration_s)
    if not longest.limited_s:
        return _("This card does not tell what holds its clock back.")
    held = what_limits((longest,))
    if held.limiter not in _LIMITS or held.share < _LITTLE:
        told = [point.conditions for point in own if point.conditions is not None]
        return _elsewhere([each for each in told if each != longest and each.duration_s >= TRUSTED_S])
    if held.limiter in THERMAL and Evidence(card=card, points=tuple(own)).temperature_stuck:
        return _("The core temperature of this card does not move and cannot be believed; nothing is said about heat.")
    lost = clock_lost(longest, card) if held.limiter is Limiter.POWER else None
    if lost is None:
        return fill(_LIMITS[held.limiter], {"share": held.share})
    return fill(_POWER_LITTLE if lost < LITTLE_LOST else _POWER_LOST, {"share": held.share, "lost": lost})


def _elsewhere(others: Sequence[Conditions]) -> str:
    """Nothing held the longest load back; of the others the one that was held back most, if any was."""
    from gputuner.analysis.limits import what_limits
    from gputuner.language.filling import fill
    from gputuner.language.terms import limiter

    found = [held for held in (what_limits((each,)) for each in others) if held.limiter in _LIMITS]
    worst = max(found, key=lambda held: held.share, default=None)
    if worst is None or worst.share < _LITTLE:
        return _(_LIMITS[Limiter.NONE])
    told: dict[str, Scalar | None] = {"share": worst.share, "limiter": limiter(worst.limiter)}
    return fill(_ELSEWHERE, told)


def show_advice(
    output: Output,
    advice: Sequence[Advice],
    *,
    most: int | None = None,
    command: str = "",
    model: str = "",
    tries: Callable[[str, Advice], str] | None = None,
    tried: Mapping[str, Point] | None = None,
    options: Options | None = None,
) -> None:
    """The best advices with gain, reason and text to paste; ``command`` shows those beyond ``most``.

    ``model``: the built-in training that it is about; empty: the user's own, or none. ``tries``: the command that tries
    one (empty: none can). ``tried``: what came of those that were, by name. ``options``: those of this command, which
    one to paste needs too.
    """
    if not advice:
        output.heading(_("Advice"))
        output.line(_("No advice: nothing that was measured so far calls for a change."))
        return
    shown = advice[:most]
    output.heading(_("The best advice") if len(shown) < len(advice) else _("Advice"))
    for number, (name, entry) in enumerate(zip(names(shown), shown, strict=True), 1):
        _show_one(output, number, entry, options)
        command_of = tries(name, entry) if tries else ""
        if command_of:
            output.line("   " + _("Try it: {command}").format(command=command_of))
        if tried and name in tried:
            output.line("   " + _("Tried. {told}").format(told=tried_line(tried[name])))
    if len(shown) < len(advice):
        output.line(_("{n} more: {command}").format(n=len(advice) - len(shown), command=command))
    if model:
        output.line(_("All this is about {model} until your own model is measured.").format(model=model))


def tried_line(point: Point) -> str:
    """What came of a try, in one line."""
    from gputuner.advice.tried import tried_of
    from gputuner.language.tried import tried

    return tried(tried_of(point))


def model_of(points: Sequence[Point]) -> str:
    """Name of the built-in training that figures are about; empty: the user's own, or none at all."""
    if any(point.metric.startswith(WATCHED) for point in points):
        return ""
    if any(":" in point.workload for point in points):
        return ""
    names = dict.fromkeys(point.workload for point in points if point.metric in ABOUT_TRAINING)
    return listed(sentences.workload(name) for name in names)


def _show_one(output: Output, number: int, entry: Advice, options: Options | None) -> None:
    output.line(f"{number}. {sentences.advice_title(entry)}")
    output.line(f"   {sentences.advice_action(entry)}")
    if entry.gain is not None:
        output.line("   " + _("Expected gain: {gain}").format(gain=sentences.gain(entry.gain)))
    output.line("   " + _("Why: {why}").format(why=sentences.advice_why(entry)))
    words = (sentences.confidence(entry.confidence, entry.origin), sentences.of_its_kind(entry.params))
    output.line("   " + _("Rests on: {confidence}").format(confidence=" · ".join(word for word in words if word)))
    if entry.risk:
        output.line("   " + _("Take care: this changes the training itself, or the card."))
    for text in snippet_lines(options, entry.snippet):
        output.line(f"     | {text}")


def show_questions(output: Output, questions: Sequence[Question], options: Options | None = None) -> None:
    """What to measure next, with those of ``options`` that the next run needs too."""
    if not questions:
        return
    output.heading(_("Not known yet"))
    for entry in questions:
        output.line(f"- {sentences.question(entry)}")
        command = entry.command if options is None else question_command(options, entry.command)
        output.line(f"     {command}")


def show_end(output: Output, outcome: Outcome, origin: Origin | None, session: Path | None) -> None:
    """How the run ended, where its session lies, how to look at it."""
    output.line()
    if outcome is not Outcome.COMPLETED and not (outcome is Outcome.CANCELLED and session is None):
        output.line(_("The run: {outcome}.").format(outcome=sentences.outcome(outcome)))
    if origin is not None and origin is not Origin.MEASURED:
        show_origin(output, origin)
    if session is not None:
        output.line(_("Session: {path}").format(path=session))
        output.line(_("Open it in the window: gputuner {path}").format(path=session))


def show_origin(output: Output, origin: Origin) -> None:
    """That the figures are not from a real card."""
    output.line(_("All figures are {origin}, not measured on a real card.").format(origin=sentences.origin(origin)))
