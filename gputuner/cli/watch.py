"""``watch``: run the user's own command under observation, then tell where its time went.

The command's output stays its own: what we have to say goes to stderr, and with ``--json`` the command's output does.
Its exit code is ours. Whatever fails in the watching is said, and the command goes on.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli import crash
from gputuner.cli.alerts_view import line, telling
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.cli.running import Found
from gputuner.cli.streams import last_words
from gputuner.cli.watch_signals import Relay
from gputuner.language import sentences
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError, StoreError, UsageError
from gputuner.model.events import AlertCleared, AlertRaised, CommandEnded, CommandSampled, Event, Warned

if TYPE_CHECKING:
    from gputuner.engine.watched_begun import Begun

ABOUT = N_("Run your own command under observation, then tell where its time went and what would help.")
COMMAND = N_("What to run, after --: a program and its own options.")
NO_HOOKS = N_("Do not look inside its Python; watch its processes and the cards alone.")
NICE = 5
"""Our own threads and the collector give way to the command."""
LINE_EVERY_S = 30.0
BUG = "bug"


def watch(
    *command: Annotated[str, Parameter(name="COMMAND", help=COMMAND, allow_leading_hyphen=True)],
    no_inject: Annotated[bool, Parameter(name="--no-inject", negative="", help=NO_HOOKS)] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Run a command under observation; returns its exit code.

    Args:
        command: what to run.
        no_inject: without hooks in its Python.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: no command, one without ``--`` before it, or cards that are not real.
        CommandError: the command cannot be started.
    """
    options.check(experiment=False)
    _check(command, options, dashes=context.dashes, behind=context.behind)
    output = Output.of(options, context.out if options.json else context.err, context.err)
    seen, begun = _Seen(output=output, data_dir=options.data_dir), None
    try:
        with Relay() as relay, context.setup(options) as setup:
            cards = None if options.gpu is None else setup.select(options.gpu, for_experiment=False)
            relay.end_if_asked()
            begun = setup.launch(command, hooks=not no_inject, to_stderr=options.json, around=relay.as_before())
            relay.to(begun.send)
            _begin(output, begun, hooks=not no_inject)
            seen.follow(setup, begun, cards)
            begun.wait()
            begun.forget()
        seen.tell(setup.origin, begun.wait())
    except Exception as error:
        if begun is None:
            raise
        seen.fail(error)
    return begun.wait()


def _begin(output: Output, begun: "Begun", *, hooks: bool) -> None:
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    output.note(_("gputuner watches {command} (process {pid}).").format(command=begun.told, pid=begun.pid))
    if hooks and not begun.hooks:
        output.warn(_("No folder could be made for what its Python tells; it is watched from outside alone."))


def _check(command: tuple[str, ...], options: Options, *, dashes: bool, behind: int | None) -> None:
    if options.simulate or options.replay is not None:
        option = "--simulate" if options.simulate else "--replay"
        raise UsageError("watch_real_only", f"{option}: a command runs on real cards", option=option)
    if behind is not None and len(command) > behind:
        raise UsageError("watch_before_dashes", f"{command[0]} before --", what=command[0])
    if not command:
        raise UsageError("watch_no_command", "no command was given")
    if not dashes:
        raise UsageError("watch_no_dashes", "the command must stand after --", command=" ".join(command))


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What the watching of one command yields."""

    output: Output
    data_dir: Path | None
    cards: tuple[CardInfo, ...] = ()
    found: Found | None = None
    path: Path | None = None
    ended: CommandEnded | None = None
    trouble: tuple[str, str] | None = None
    """Code and sentence of what ended the watching."""
    _line_ns: int | None = None

    def follow(self, setup: Setup, begun: "Begun", cards: tuple[CardInfo, ...] | None) -> None:
        """Follow the command until it ends, or until that fails."""
        try:
            self.cards = setup.select(None, for_experiment=False) if cards is None else cards
            self._iterate(setup, begun)
        except Exception as error:
            self.fail(error)
        if self.trouble is not None and begun.running:
            self.output.warn(_("It is not watched any more; the command itself goes on."))

    def fail(self, error: Exception) -> None:
        """Tell what ended the watching."""
        if isinstance(error, GputunerError):
            self._trouble(error.code, sentences.error(error))
        else:
            self._trouble(BUG, sentences.bug(str(crash.keep_traceback(error, self.data_dir))))

    def tell(self, origin: Origin, exit_code: int) -> None:
        """The page, or the document."""
        from gputuner.cli.watch_page import Result, show

        found = self.found
        result = Result(
            origin=origin,
            cards=tuple(found.started.cards) if found is not None and found.started else self.cards,
            found=found,
            path=self.path,
            ended=self.ended,
            trouble=self.trouble,
        )
        with last_words(self.output.out):
            show(self.output, result, exit_code)

    def _trouble(self, code: str, sentence: str) -> None:
        self.trouble = code, sentence
        self.output.warn(sentence)

    def _iterate(self, setup: Setup, begun: "Begun") -> None:
        try:
            run = setup.watch(begun, self.cards)
        except StoreError as error:
            self.fail(error)
            run = setup.watch(begun, self.cards, kept=False)
        self.found, self.path = Found(run_id=run.run_id), run.session_path
        with telling(setup, self.output) as told:
            try:
                for event in run:
                    self.found.take(event)
                    self._show(event)
                    told.show(event)
            except BaseException:
                run.cancel()
                raise
        last = self.found.finished
        if last is not None and last.error_code == BUG:
            self._trouble(BUG, sentences.bug(str(crash.keep_text(last.error_text, self.data_dir))))
        elif last is not None and last.error_code is not None:
            text = sentences.error(last.error_code, last.error_params, last.error_text)
            self._trouble(last.error_code, text)

    def _show(self, event: Event) -> None:
        match event:
            case CommandEnded():
                self.ended = event
            case Warned():
                self.output.warn(_("Note: {text}").format(text=sentences.warning(event.code, event.params)))
            case AlertRaised() | AlertCleared():
                self.output.warn(line(event, self.cards))
            case CommandSampled():
                if self._line_ns is None or event.t_ns - self._line_ns >= LINE_EVERY_S * 1e9:
                    self._line_ns = event.t_ns
                    self._detail(event)
            case _:
                pass

    def _detail(self, event: CommandSampled) -> None:
        from gputuner.language.watch import now_line

        self.output.detail(now_line(event))
