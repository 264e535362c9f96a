"""``power``: what a lower power limit costs and saves; says what it will set, asks, and puts it back."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gputuner.cli import power_results
from gputuner.cli.context import Injected
from gputuner.cli.experiment import Finished, in_turn, run
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import dry_run
from gputuner.cli.streams import last_words
from gputuner.language import control as words
from gputuner.language import sentences
from gputuner.language.power import before
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.control import Setting, SettingState
from gputuner.model.errors import ExitCode, GputunerError, UsageError

if TYPE_CHECKING:
    from gputuner.cli.ports import Setup
    from gputuner.experiments.power import Power

ABOUT = N_("Power sweep: which power limit costs little speed, and what it saves.")
LOAD = N_("The load: a training NAME[:key=value,...], or a recipe FILE.py:function[:key=value,...].")
MINUTES = 9.0
FIGURES = ("power_rate", "null_difference")
YES = N_("y yes")


def power(
    load: Annotated[str, Parameter(name="LOAD", help=LOAD)] = "resnet50:batch=64",
    /,
    *,
    loss: Annotated[
        float, Parameter(name="--loss", metavar="PERCENT", help=N_("So much of the best rate may be lost."))
    ] = 3.0,
    clocks: Annotated[
        bool, Parameter(name="--clocks", negative="", help=N_("Lock the highest clock instead of limiting the power."))
    ] = False,
    price: Annotated[
        float | None, Parameter(name="--price", metavar="PER_KWH", help=N_("Price of a kWh, in any currency."))
    ] = None,
    hours: Annotated[
        float | None, Parameter(name="--hours", metavar="PER_YEAR", help=N_("Hours a year that the card works."))
    ] = None,
    up_to: Annotated[
        float | None,
        Parameter(
            name="--up-to",
            metavar="WATTS",
            help=N_("Also limits above the one that stands, up to this; not above what the card takes."),
        ),
    ] = None,
    passive: Annotated[
        bool,
        Parameter(
            name="--passive", negative="", help=N_("Change nothing: only what the card and stored sessions show.")
        ),
    ] = False,
    null: Annotated[
        bool,
        Parameter(
            name="--null",
            negative="",
            help=N_("Change nothing, visit the same setting again and again: how often is a difference seen?"),
        ),
    ] = False,
    yes: Annotated[
        bool, Parameter(name="--yes", negative="", help=N_("Do not ask before settings are changed."))
    ] = False,
    how: Annotated[
        Literal["auto", "sudo", "pkexec"],
        Parameter(name="--with", help=N_("Rights of the helper that sets: auto, sudo or pkexec.")),
    ] = "auto",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Visit power limits twice in random order, and answer: fastest, lowest that loses little, least energy.

    Args:
        load: what the card works on.
        loss: per cent of the best rate that may be lost.
        clocks: lock clocks instead.
        price: of a kWh.
        hours: a year at work.
        up_to: highest limit, W.
        passive: change nothing.
        null: equal visits.
        yes: without asking.
        how: rights of the helper.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: the load is malformed, there is no card, or nobody can be asked.
    """
    from gputuner.experiments.power import Power

    options.check(experiment=True)
    spec = Power(
        load=load,
        loss=loss,
        clocks=clocks,
        passive=passive,
        null=null,
        price=price,
        hours=hours,
        up_to_w=up_to,
        minutes=MINUTES if options.minutes is None else options.minutes,
        folder=str(Path.cwd()),
        rights=how,
    )
    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        if any(card.is_cpu for card in cards):
            raise UsageError("power_needs_card", "a power sweep needs a card")
        asking = _Asking(output=output, setup=setup, yes=yes)
        if options.dry_run:
            for card in cards:
                asking.say(spec, card)
            return dry_run(output, setup, spec, cards, options)
        specs = {card.uuid: asking.allowed(spec, card) for card in cards}
        if None in specs.values():
            output.line(_("Nothing was changed."))
            return 0
        ended, code = in_turn(output, cards, lambda card: _one(output, setup, specs[card.uuid] or spec, card, options))
        with last_words(output.out):
            power_results.tell(output, setup.origin, spec.name, ended, options)
        return code


def _one(output: Output, setup: "Setup", spec: "Power", card: CardInfo, options: Options) -> Finished:
    """One card's run; of a load that does not fit, and without permission or anything to say, it has that exit code."""
    found = run(output, setup, spec, (card,), options)
    known = any(point.metric in FIGURES for point in found.found.points)
    if known or found.exit_code:
        return found
    if any(warning.code == "does_not_fit" for warning in found.found.warnings):
        return replace(found, check_code=int(ExitCode.DOES_NOT_FIT))
    if not spec.passive:
        return found
    output.warn(sentences.error("power_nothing"))
    return replace(found, check_code=int(ExitCode.NO_PERMISSION))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Says what will be set and put back, and asks."""

    output: Output
    setup: "Setup"
    yes: bool

    def say(self, spec: "Power", card: CardInfo, state: SettingState | None = None) -> None:
        """What will be set, and to what it is put back."""
        from gputuner.experiments.power_dial import dial_of

        dial = dial_of(card, clocks=spec.clocks, up_to_w=spec.up_to_w)
        if spec.passive or spec.null or dial is None:
            return
        found = () if spec.clocks else (dial.found or 0.0,)
        if state is not None and state.now is not None:
            found = state.now
        self.output.warn(
            before(
                words.setting_name(dial.setting),
                f"{dial.low:.0f}",
                f"{dial.high:.0f} {dial.unit}",
                words.value_text(dial.setting, found),
            )
        )

    def allowed(self, spec: "Power", card: CardInfo) -> "Power | None":
        """``spec`` as far as its owner and the system let it be; None: the owner said no.

        Raises:
            UsageError: nobody can be asked.
        """
        if spec.passive or spec.null or self.setup.origin is Origin.SIMULATED:
            return spec
        stdin = sys.stdin
        interactive = stdin is not None and stdin.isatty() and sys.stderr.isatty()
        state = self._state(spec, card)
        if state is None:
            return replace(spec, passive=True)
        if not self.yes and (stdin is None or not interactive):
            raise UsageError("power_needs_yes", "nobody can be asked")
        self.say(spec, card, state)
        if self.yes or stdin is None:
            return spec
        if spec.clocks:
            question = _(
                "No driver tells what clocks are locked to: a lock set by another program would be lost. Go on?"
            )
        else:
            question = _("Go on?")
        print(f"{question} [y/N] ", end="", file=self.output.err, flush=True)
        return spec if stdin.readline().strip().lower() in {*YES.split(), *_(YES).split()} else None

    def _state(self, spec: "Power", card: CardInfo) -> SettingState | None:
        """How the setting stands, where it may be changed; None: it may not, which is told."""
        from gputuner.assembly.control import open_control

        setting = Setting.SM_CLOCK_LOCK if spec.clocks else Setting.POWER_LIMIT
        try:
            control = open_control(how=spec.rights)
        except GputunerError as error:
            self.output.warn(sentences.error(error))
            return None
        try:
            shown = next((each for each in control.show() if each.uuid == card.uuid), None)
            privileged = control.privileged
        except GputunerError as error:
            self.output.warn(sentences.error(error))
            return None
        finally:
            control.close()
        state = None if shown is None else shown.state(setting)
        if state is None or state.reason is not None:
            self.output.warn(sentences.error("control_not_supported", {"setting": setting.value}))
            return None
        if not privileged:
            self.output.warn(sentences.error("control_no_permission", {"setting": setting.value}))
            return None
        return state
