"""``control``: settings of a card, guarded: show, set, reset."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.control_document import card_document, origin_of
from gputuner.cli.control_values import TOTAL, parse, parse_total, setting_of, word_of
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.devices.control_checks import check
from gputuner.devices.selection import select
from gputuner.language import control as words
from gputuner.language import numbers
from gputuner.language.words import N_, _
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.control import MOST_HOLD_S, CardControl, Setting, SettingState, Value
from gputuner.model.errors import DeviceError, GputunerError, NoPermission, NotSupported, UsageError

if TYPE_CHECKING:
    from gputuner.devices.control_client import Control

ABOUT = N_("Settings of a card, guarded: show, set, reset.")
_SHOW = N_("Show each setting of a card: what it is, its range and default, who may change it.")
_SET = N_("Set the power limit, clocks or fans within the card's own range; put back unless you confirm.")
_RESET = N_("Put back what gputuner found before it changed settings.")
How = Annotated[
    Literal["auto", "sudo", "pkexec"],
    Parameter(
        name="--with",
        metavar="HOW",
        help=N_("How the helper that sets gets its rights: auto (the service, or your own), sudo or pkexec."),
    ),
]


def show(
    *,
    how: How = "auto",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show the settings.

    Args:
        how: rights of the helper.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    options.check(experiment=False)
    with _opened(options, how, output) as control:
        chosen = _chosen(control.show(), options.gpu)
        if output.json:
            body = document.head("control.show", origin_of(options))
            body["devices"] = [card_document(card) for card in chosen]
            body["privileged"] = control.privileged
            document.write(body, output.out)
            return 0
        for card in chosen:
            _show_card(output, card, simulated=bool(options.simulate))
        who = (
            _("You may change settings here.")
            if control.privileged
            else _("Reading needs no rights; setting does: add --with sudo or --with pkexec (docs/control.md).")
        )
        output.line()
        output.line(who)
    return 0


def set_value(
    what: Annotated[
        str,
        Parameter(help=N_("power-limit, lock-clocks, lock-memory, offset-core, offset-memory, fan or total-power.")),
    ],
    value: Annotated[
        str,
        Parameter(
            help=N_("Watts; MIN,MAX in MHz or off; MHz, also below zero; per cent or auto."),
            allow_leading_hyphen=True,
        ),
    ],
    /,
    *,
    seconds: Annotated[
        float | None,
        Parameter(name="--for", metavar="SECONDS", help=N_("Put it back by itself after so many seconds.")),
    ] = None,
    yes: Annotated[
        bool,
        Parameter(
            name="--yes",
            negative="",
            help=N_("Keep it without asking; take clocks that another program may have locked."),
        ),
    ] = False,
    how: How = "auto",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Set one setting of one card, or share a total of watts over several.

    Args:
        what: which setting.
        value: to what.
        seconds: for how long.
        yes: without asking.
        how: rights of the helper.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.cli.control_setting import Asked, perform

    output = context.output(options)
    options.check(experiment=True)
    total = parse_total(value) if what == TOTAL else None
    setting = Setting.POWER_LIMIT if total is not None else setting_of(what)
    wanted = (total,) if total is not None else parse(setting, value)
    if seconds is not None and not 0 < seconds <= MOST_HOLD_S:
        raise UsageError(
            "option_out_of_range",
            "--for",
            option="--for",
            value=f"{seconds:g}",
            low="0",
            high=f"{MOST_HOLD_S:g}",
            unit=" s",
        )
    asked = Asked(setting=setting, value=wanted, for_s=seconds, yes=yes)
    asked.require_someone(options)
    with _opened(options, how, output) as control:
        if total is not None:
            from gputuner.cli.control_total import share_out

            def now() -> tuple[CardInfo, ...]:
                with context.setup(options, experiment=True) as setup:
                    return setup.cards()

            return share_out(output, options, control, _chosen(control.show(), options.gpu), total, asked, now)
        card = _one(control.show(), options.gpu)
        state = card.state(setting)
        check(state, wanted)
        if options.dry_run:
            return _tell_plan(output, options, card, state, wanted)
        return perform(output, options, control, card, asked)


def reset(
    what: Annotated[str | None, Parameter(help=N_("Which setting; by default all of them."))] = None,
    /,
    *,
    default: Annotated[
        bool,
        Parameter(
            name="--default", negative="", help=N_("Set the card's own default instead of what was found before.")
        ),
    ] = False,
    yes: Annotated[
        bool,
        Parameter(name="--yes", negative="", help=N_("With --default: end what other programs have set by hand.")),
    ] = False,
    how: How = "auto",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Put settings back.

    Args:
        what: which; None: all.
        default: to the card's default.
        yes: without asking.
        how: rights of the helper.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    options.check(experiment=False)
    which = None if what is None else setting_of(what)
    with _opened(options, how, output) as control:
        card = _one(control.show(), options.gpu)
        if default and not yes and not _default_agreed(output, card, which):
            output.line(_("Nothing was changed."))
            return 0
        done = _to_default(control, card, which) if default else control.restore(card.uuid, which)
        after = _one(control.show(), card.uuid)
        left = [s for s in after.states if s.found is not None and which in (None, s.setting)]
        if left and not done:  # in the journal of a helper with more rights
            raise NoPermission("control_reset_rights", "noted by a helper with more rights")
        if output.json:
            body = document.head("control.reset", origin_of(options))
            body["devices"] = [card_document(after)]
            body["reset"] = [word_of(setting) for setting in done]
            document.write(body, output.out)
            return 0
        for setting in done:
            told = after.state(setting).now
            shown = words.value_text(setting, () if told is None else told)
            output.line(_("{setting} is {value} again.").format(setting=words.setting_name(setting), value=shown))
        if not done:
            output.line(_(words.ERRORS["control_nothing_ours"]))
    return 0


def _defaults(card: CardControl, which: Setting | None) -> list[SettingState]:
    """The settings that have a default which can be set."""
    return [s for s in card.states if which in (None, s.setting) and s.default is not None and s.reason is None]


def _default_agreed(output: Output, card: CardControl, which: Setting | None) -> bool:
    """Ask where what others have set would be lost.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    from gputuner.cli.control_setting import agreed, may_be_lost

    if not any(may_be_lost(state) for state in _defaults(card, which)):
        return True
    question = _("This also ends locks of clocks and fan speeds that other programs have set. Go on?")
    return agreed(output, question, UsageError("control_default_takes", "what others set would be lost"))


def _to_default(control: "Control", card: CardControl, which: Setting | None) -> tuple[Setting, ...]:
    done: list[Setting] = []
    for state in _defaults(card, which):
        if state.default is None:
            continue
        applied = control.set(card.uuid, state.setting, state.default, may_forget=True)
        if state.setting is not Setting.FAN:
            control.keep(card.uuid, state.setting)
        done += [state.setting] if applied.changed else []
    return tuple(done)


COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("show", show, _SHOW),
    ("set", set_value, _SET),
    ("reset", reset, _RESET),
)
"""Name, function, one line of help."""


# --- which card ---------------------------------------------------------------------------------------------------


@contextmanager
def _opened(options: Options, how: Literal["auto", "sudo", "pkexec"], output: Output) -> "Generator[Control]":
    """The way to the settings; what it held and did not keep is put back afterwards, and told."""
    from gputuner.assembly.control import open_control

    if options.replay is not None or (options.gpu or "").strip().lower() == CPU_CARD:
        raise NotSupported("control_not_offered", "no settings there")
    control = open_control(options.simulate, how)
    names: dict[str, str] = {}
    try:
        names.update({card.uuid: card.name for card in control.show()})
        tell(control, output, names)
        yield control
    finally:
        control.close()
        told = control.told()
        open_ends = [entry for entry in told if entry.code == "control_helper_gone"]
        if open_ends:  # the next one puts back what it left behind
            try:
                again = open_control(options.simulate, how)
                again.show()
                tell(again, output, names)
                again.close()
            except GputunerError:
                output.warn(words.told(open_ends[0], names))
        for entry in told:
            if entry not in open_ends:
                output.warn(words.told(entry, names))


def tell(control: "Control", output: Output, names: Mapping[str, str]) -> None:
    """Say on stderr what happened by itself."""
    for entry in control.told():
        output.warn(words.told(entry, names))


def _chosen(cards: Sequence[CardControl], selection: str | None) -> tuple[CardControl, ...]:
    if not cards:
        raise DeviceError("no_cards", "no card was found")
    if selection is None:
        return tuple(cards)
    infos = [CardInfo(uuid=c.uuid, index=c.index, name=c.name, pci_bus_id=c.pci_bus_id) for c in cards]
    uuids = select(selection, infos)
    return tuple(card for uuid in uuids for card in cards if card.uuid == uuid)


def _one(cards: Sequence[CardControl], selection: str | None) -> CardControl:
    chosen = _chosen(cards, selection)
    if len(chosen) == 1:
        return chosen[0]
    known = "; ".join(f"{card.index}: {card.name}" for card in chosen)
    raise UsageError("control_which_card", "several cards", known=known)


# --- showing ------------------------------------------------------------------------------------------------------


def _show_card(output: Output, card: CardControl, *, simulated: bool) -> None:
    output.heading(f"[{card.index}] {card.name}")
    rows = [
        (
            word_of(state.setting),
            _now(state),
            words.range_text(state.setting, state.low, state.high),
            numbers.MISSING if state.default is None else words.value_text(state.setting, state.default),
            _note(state),
        )
        for state in card.states
    ]
    output.table((_("setting"), _("now"), _("range"), _("default"), ""), rows, wraps=(4,))
    if card.persistent is False and not simulated:
        output.line(_("Persistence mode is off: the driver forgets settings as soon as no program uses the card."))


def _now(state: SettingState) -> str:
    if state.now is None:
        return numbers.MISSING if state.reason else _("not told")
    return words.value_text(state.setting, state.now)


def _note(state: SettingState) -> str:
    if state.reason is not None:
        known = {"driver_too_old": _("the driver is too old"), "lost": _("the card does not answer")}
        return known.get(state.reason, _("cannot be set on this card"))
    if state.found is None:
        return ""
    found = words.value_text(state.setting, state.found)
    if not state.intact:
        return _("changed by somebody else since gputuner set it; before: {value}").format(value=found)
    return _("set by gputuner; before: {value}").format(value=found)


def _tell_plan(output: Output, options: Options, card: CardControl, state: SettingState, wanted: Value) -> int:
    """What would be done; nothing is."""
    setting = state.setting
    if output.json:
        body = document.head("control.set", origin_of(options))
        body["devices"] = [card_document(card)]
        body["control"] = {"setting": word_of(setting), "wanted": list(wanted), "dry_run": True}
        document.write(body, output.out)
        return 0
    output.line(
        _("Would set the {setting} of {card} from {now} to {wanted}; range {range}. Nothing was changed.").format(
            setting=words.setting_name(setting),
            card=card.name,
            now=_now(state),
            wanted=words.value_text(setting, wanted),
            range=words.range_text(setting, state.low, state.high),
        )
    )
    return 0
