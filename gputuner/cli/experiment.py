"""What every command that runs an experiment does: choose cards, run on each in turn, show what was found."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gputuner.cli import crash, document, results
from gputuner.cli.again import advise_command, try_command
from gputuner.cli.alerts_view import alert_document, telling
from gputuner.cli.context import Context
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import card_line, dry_run
from gputuner.cli.ports import Run, Setup
from gputuner.cli.progress import Progress
from gputuner.cli.running import Found, Interrupted, follow
from gputuner.cli.streams import last_words
from gputuner.experiments.protocol import Experiment
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode, GputunerError, StoreError
from gputuner.model.events import Outcome, RunFinished

BUG = "bug"
ADVISING = ("tune", "batch", "switches", "loading", "numerics")
"""Experiments that end with advice."""
CANCELLED = "cancelled"
EMPTY = "cancelled_empty"
KEPT = "cancelled_kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One run that has ended, on which cards, and where its session lies."""

    cards: Sequence[CardInfo]
    found: Found
    path: Path | None
    check_code: int = 0
    """What a check of its figures ends with; 0: passed, or there was none."""

    @property
    def exit_code(self) -> int:
        """What the command line ends with; the check's comes first."""
        return self.check_code or self.found.exit_code

    @property
    def outcome(self) -> Outcome:
        """How it ended, its check included."""
        return Outcome.CANCELLED if self.check_code == ExitCode.INTERRUPTED else self.found.outcome


def measure(context: Context, options: Options, spec: Experiment) -> int:
    """Run ``spec`` on each chosen card in turn, one session each; returns the exit code.

    Raises:
        GputunerError: it cannot start on the only card.
    """
    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        if options.dry_run:
            return dry_run(output, setup, spec, cards, options)
        ended, code = in_turn(output, cards, lambda card: run(output, setup, spec, (card,), options))
        with last_words(output.out):
            _tell(output, setup.origin, spec.name, ended, options)
        return code


def in_turn(
    output: Output, cards: Sequence[CardInfo], start: Callable[[CardInfo], Finished]
) -> tuple[list[Finished], int]:
    """One run on each card; a card that cannot start is told and passed over. The runs and the exit code.

    Raises:
        GputunerError: the only card cannot start, or the user will wait for no more.
    """
    ended: list[Finished] = []
    code = ExitCode.DONE.value
    for card in cards:
        try:
            ended.append(start(card))
        except GputunerError as error:
            if len(cards) == 1 or isinstance(error, Interrupted):
                raise
            output.warn(f"{card_line(card)}: {sentences.error(error)}")
            code = code or int(error.exit_code)
            continue
        code = code or ended[-1].exit_code
        if ended[-1].outcome is Outcome.CANCELLED:
            break
    return ended, code


def watch(context: Context, options: Options, spec: Experiment) -> int:
    """Run ``spec``, which only watches, on all chosen cards at once; returns the exit code.

    Raises:
        GputunerError: it cannot start.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        cards = setup.select(options.gpu, for_experiment=False)
        ended = run(output, setup, spec, cards, options)
        with last_words(output.out):
            _tell(output, setup.origin, spec.name, [ended], options)
        return ended.found.exit_code


def run(output: Output, setup: Setup, spec: Experiment, cards: Sequence[CardInfo], options: Options) -> Finished:
    """Run ``spec`` on ``cards`` to its end, with progress and what went wrong on stderr.

    Raises:
        GputunerError: it cannot start.
    """
    for card in cards:
        output.note(card_line(card))
    under_way = setup.start(spec, cards, share=options.share)
    found = Found(run_id=under_way.run_id)
    try:
        with Progress(output) as progress, telling(setup, output) as told:
            follow(under_way, (progress, told), found)
    except KeyboardInterrupt:
        raise _interrupted(setup, spec, under_way, found) from None
    finished, session = found.finished, under_way.session_path
    if finished is not None and finished.settings_restored is False:
        output.warn(_("The card's settings could not all be put back"))
    if finished is not None and finished.error_code is not None:
        if finished.error_code == CANCELLED and spec.needs_worker and not found.points:
            found.finished = finished = replace(finished, error_code=EMPTY)
            session = _dropped(setup, session)
        if finished.error_code == BUG:
            path = crash.keep_text(finished.error_text, setup.data_dir)
            output.warn(sentences.bug(str(path)))
        else:
            output.warn(_why(finished))
    return Finished(cards=cards, found=found, path=session)


def _interrupted(setup: Setup, spec: Experiment, under_way: Run, found: Found) -> Interrupted:
    """The end of a run that nobody waits for: its session, which is deleted if there is no figure in it."""
    path = under_way.session_path
    with suppress(KeyboardInterrupt):  # once more: what stands is told at once
        for event in under_way:
            found.take(event)
        if spec.needs_worker and not found.points:
            path = _dropped(setup, path)
    if path is None:
        return Interrupted(EMPTY, "interrupted")
    return Interrupted(KEPT, "interrupted", path=path, session_id=found.run_id)


def _dropped(setup: Setup, path: Path | None) -> Path | None:
    """Delete a session without a figure; its path where that cannot be."""
    if path is not None:
        try:
            setup.sessions.delete(path)
        except StoreError:
            return path
    return None


def _why(finished: RunFinished) -> str:
    return sentences.error(finished.error_code or "", finished.error_params, finished.error_text)


def _tell(output: Output, origin: Origin, name: str, ended: Sequence[Finished], options: Options) -> None:
    if output.json:
        document.write(run_document(origin, name, ended), output.out)
        return
    for each in ended:
        found = each.found
        if name in ADVISING and (found.points or found.exit_code == 0):
            results.show_figures(output, found.points)
            results.show_limit(output, found.points, each.cards[0])
            more, model = advise_command(options, found.run_id), results.model_of(found.points)

            def tries(
                name: str, entry: Advice, run_id: str = found.run_id, cards: Sequence[CardInfo] = each.cards
            ) -> str:
                return try_command(options, run_id, name, entry, cards)

            results.show_advice(
                output, found.advice, most=results.BEST, command=more, model=model, tries=tries if each.path else None
            )
            results.show_questions(output, found.questions, options)
        results.show_end(output, found.outcome, origin, each.path)


def run_document(origin: Origin, name: str, ended: Sequence[Finished]) -> document.Json:
    """What one or several runs found, as the document of their command."""
    first = ended[0] if ended else None
    body = document.head(
        name,
        origin,
        outcome=_outcome(ended),
        session_id=first.found.run_id if first and first.path else None,
        session_path=first.path if first else None,
    )
    body["devices"] = [document.card(card) for each in ended for card in _cards(each)]
    body |= document.found(
        [point for each in ended for point in each.found.points],
        [entry for each in ended for entry in each.found.advice],
        [entry for each in ended for entry in each.found.questions],
        [entry for each in ended for entry in each.found.warnings],
    )
    if alerts := [alert_document(event, each.cards) for each in ended for event in each.found.alerts]:
        body["alerts"] = alerts
    if len(ended) > 1:
        body["sessions"] = [
            {"session_id": each.found.run_id, "session_path": str(each.path), "outcome": each.outcome.value}
            for each in ended
        ]
    errors = [(each, last) for each in ended if (last := each.found.finished) and last.error_code]
    if errors:
        failed, last = errors[0]
        body["error"] = {"code": last.error_code, "message": _why(last), "exit_code": failed.exit_code}
    return body


def _cards(each: Finished) -> Sequence[CardInfo]:
    """The cards as the run found them, else as they were chosen."""
    return each.found.started.cards if each.found.started else each.cards


def _outcome(ended: Sequence[Finished]) -> Outcome:
    """The worst of several: the first that did not complete."""
    if not ended:
        return Outcome.FAILED
    return next((each.outcome for each in ended if each.outcome is not Outcome.COMPLETED), Outcome.COMPLETED)
