"""The page at the end of a watched command: where the time went, what was left, what would help, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gputuner.analysis.watching import where_time_went
from gputuner.analysis.watching_judging import advisable, enough
from gputuner.cli import document, results
from gputuner.cli.output import Output
from gputuner.cli.running import Found
from gputuner.language import numbers, watch
from gputuner.language.words import _
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.codec import to_builtins
from gputuner.model.events import CommandEnded, Outcome
from gputuner.model.watched import Observed, TimeSpent

TRAININGS = 4
"""Kinds of trainings whose facts are shown; --json has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the watching of a command has found; ``trouble``: code and sentence of what ended it before the command."""

    origin: Origin
    cards: tuple[CardInfo, ...]
    found: Found | None
    path: Path | None
    ended: CommandEnded | None
    trouble: tuple[str, str] | None


def show(output: Output, result: Result, exit_code: int) -> None:
    """The page, or the document of ``--json``."""
    if output.json:
        document.write(as_document(result, exit_code), output.out)
        return
    if result.ended is not None:
        show_ended(output, result.ended)
    found = result.found
    if result.ended is not None and found is not None:
        whole = found.finished is not None and found.finished.error_code is None
        show_judged(output, result.ended, found.advice, found.questions, whole=whole)
    results.show_end(output, Outcome.COMPLETED, result.origin, result.path)  # what went wrong has been told


def show_ended(output: Output, ended: CommandEnded) -> None:
    """Where the time of a command went, its facts, its processes, and what watching cost."""
    spent = where_time_went(ended.observed, ended.use)
    if failed := ended.exit_code not in (None, 0):
        output.line(watch.ending(ended.exit_code, ended.signal))
    output.heading(_("Where the time went"))
    output.line(watch.bound_by(spent))
    if covered := watch.covered(spent, ended):
        output.line(covered)
    if spent.parts:
        output.show(watch.parts_table(spent))
    for entry in spent.signs:
        output.line(f"  {watch.sign(entry)}")
    output.line(_("Known {by}.").format(by=watch.known_by(spent)))
    if not any(entry.steps for entry in ended.observed):
        output.line(_no_hooks(ended))
    _show_trainings(output, ended.observed)
    output.heading(_("The command"))
    output.pairs(_pairs(ended, spent))
    if not failed:
        output.line(watch.ending(ended.exit_code, ended.signal))


def show_judged(
    output: Output, ended: CommandEnded, advice: Sequence[Advice], questions: Sequence[Question], *, whole: bool = True
) -> None:
    """What would help, and what to measure; ``whole`` False: the watching ended before advice was made."""
    if not whole and not advice:
        output.line(_("No advice could be made, since the watching did not come to its end."))
    elif not advice and any(map(enough, ended.observed)) and not any(map(advisable, ended.observed)):
        output.line(_("No advice: too little of its training was seen."))
    elif advice or any(map(enough, ended.observed)):
        results.show_advice(output, advice, model="")
    results.show_questions(output, questions)


def _show_trainings(output: Output, observed: Sequence[Observed]) -> None:
    """Trainings with the same settings (the ranks of one) together."""
    for entry in observed:
        if entry.off:
            text = _("The hooks in {who} have switched themselves off: {why}")
            output.line(text.format(who=watch.who(entry), why=entry.off))
    alike: dict[object, list[Observed]] = {}
    for entry in observed:
        if entry.steps:
            alike.setdefault((entry.program, watch.settings_of(entry)), []).append(entry)
    for group in list(alike.values())[:TRAININGS]:
        first = group[0]
        name = watch.who(first) if len(group) == 1 else first.program or watch.who(first)
        output.heading(_("What was seen of {who}").format(who=name))
        output.pairs(watch.facts(first) if len(group) == 1 else watch.settings_of(first))
        if len(group) > 1:
            output.show(watch.trainings_table(sorted(group, key=lambda entry: (entry.rank or 0, entry.pid))))
    if len(alike) > TRAININGS:
        output.line(_("{n} more; --json has all.").format(n=len(alike) - TRAININGS))


def _no_hooks(ended: CommandEnded) -> str:
    if not ended.hooks:
        return _("Its Python was not looked into (--no-inject).")
    if any(entry.unstepped_s > 0 for entry in ended.observed):
        return _("No training step of torch was seen in it, only batches that it drew from a loader.")
    return _(
        "No training step of torch was seen in it: it made none, or its Python could not be looked into. "
        "It was judged from outside alone."
    )


def _pairs(ended: CommandEnded, spent: TimeSpent) -> list[tuple[str, str]]:
    use = ended.use
    cores = None if use.cpu_s is None or use.duration_s <= 0 else use.cpu_s / use.duration_s
    rows = [
        (_("took"), numbers.value(use.duration_s, "s")),
        (_("processes"), watch.processes(ended)),
        (_("processor"), "" if cores is None else _("{n} cores busy on average").format(n=numbers.number(cores, 2))),
        (_("memory of the host"), numbers.value(use.rss_peak_bytes, "bytes") if use.rss_peak_bytes else ""),
        (_("headroom"), watch.headroom(spent)),
    ]
    rows += [(_("card"), text) for text in watch.card_lines(ended)]
    if ended.left_running:
        rows.append((_("still running"), watch.left_running(ended.left_running)))
    rows.append((_("watching took"), watch.cost(ended)))
    return [(name, text) for name, text in rows if text]


def as_document(result: Result, exit_code: int) -> document.Json:
    """The document of ``--json``."""
    found, ended = result.found, result.ended
    outcome = Outcome.FAILED if result.trouble is not None else Outcome.COMPLETED
    kept = found is not None and result.path is not None
    body = document.head(
        "watch",
        result.origin,
        outcome=outcome,
        session_id=found.run_id if kept and found is not None else None,
        session_path=result.path,
    )
    body["command_exit"] = exit_code
    body["devices"] = [document.card(card) for card in result.cards]
    body |= document.found(
        found.points if found else (), found.advice if found else (), found.questions if found else (),
        found.warnings if found else (),
    )  # fmt: skip
    body |= ended_document(ended)
    if result.trouble is not None:
        code, sentence = result.trouble
        body["error"] = {"code": code, "message": sentence, "exit_code": exit_code}
    return body


def ended_document(ended: CommandEnded | None) -> document.Json:
    """What was seen of the command, as keys of a document; null where watching ended before it."""
    if ended is None:
        return {"command": None, "where_time_went": None, "observed": [], "processes": []}
    spent = where_time_went(ended.observed, ended.use)
    return {
        "command": {
            "exit_code": ended.exit_code,
            "signal": ended.signal,
            "duration_s": ended.duration_s,
            "left_running": ended.left_running,
            "watching_cpu_s": ended.own_cpu_s,
            "use": to_builtins(ended.use),
        },
        "where_time_went": {**to_builtins(spent), "sentence": watch.bound_by(spent)},
        "observed": [to_builtins(entry) for entry in ended.observed],
        "processes": [to_builtins(entry) for entry in ended.processes],
    }
