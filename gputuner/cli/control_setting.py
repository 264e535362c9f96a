"""One change on the command line: told beforehand, made, confirmed or put back."""

import contextlib
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.control_document import applied_document
from gputuner.cli.control_values import word_of
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import control as words
from gputuner.language.words import _
from gputuner.model.control import CONFIRM_S, LOCKS, Applied, CardControl, Setting, SettingState, Value
from gputuner.model.errors import DeviceError, UsageError

if TYPE_CHECKING:
    from gputuner.devices.control_client import Control

LOOK_S = 1.0
SIMULATED_HOLD_S = 60.0
"""A fan of a simulated card is held for so long on that card's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user wants: for how many seconds (None: to stay), and whether without questions."""

    setting: Setting
    value: Value
    for_s: float | None
    yes: bool

    @property
    def holds(self) -> bool:
        """It is held by this command, which stays: a fan at a fixed speed, which is never left unwatched."""
        return self.setting is Setting.FAN and bool(self.value)

    def require_someone(self, options: Options) -> None:
        """Refuse what nobody could confirm, before anything is opened.

        Raises:
            UsageError: there is no terminal, and neither --yes nor --for.
        """
        if not (self.yes or self.for_s is not None or options.dry_run or _interactive()):
            raise UsageError("control_needs_yes", "nobody can confirm")


def perform(output: Output, options: Options, control: "Control", card: CardControl, asked: Asked) -> int:
    """Make the change; the exit code.

    Raises:
        GputunerError: refused, or it did not take.
    """
    state = card.state(asked.setting)
    setting = asked.setting
    output.note(_before(state))
    if risk := _risk(state, asked.value):
        output.warn(risk)
    if may_be_lost(state) and not asked.yes and not _taking_agreed(output, state):
        output.line(_("Nothing was changed."))
        return 0
    ask = not asked.yes and asked.for_s is None and not asked.holds
    hold_s = asked.for_s if asked.for_s is not None else CONFIRM_S if ask else None
    applied = control.set(card.uuid, setting, asked.value, may_forget=True, for_s=hold_s)
    if not output.json:
        output.line(_after(applied))
    if card.persistent is False and not options.simulate:
        output.warn(_("Persistence mode is off: the driver forgets settings as soon as no program uses the card."))
    if not applied.changed:
        kept = asked.for_s is None and not asked.holds
    elif asked.holds or asked.for_s is not None:
        _hold(output, options, control, card, asked.for_s)
        kept = False
    else:
        kept = not ask or confirmed(output)
        if kept:
            control.keep(card.uuid, setting)
    if output.json:
        document.write(applied_document(options, card, applied, kept=kept), output.out)
    elif kept and applied.changed and options.simulate:
        output.line(_("This card is simulated: it forgets the setting when this command ends."))
    elif kept and applied.changed:
        again = f"gputuner --cli control reset {word_of(setting)}"
        output.line(
            _("It stays until the machine or the driver is started anew. Undo: {command}").format(command=again)
        )
    return 0


def _before(state: SettingState) -> str:
    now = _("not told") if state.now is None else words.value_text(state.setting, state.now)
    default = _("not told") if state.default is None else words.value_text(state.setting, state.default)
    return _("{setting} now: {now} (default: {default}).").format(
        setting=words.setting_name(state.setting), now=now, default=default
    )


def _risk(state: SettingState, value: Value) -> str:
    """What the user must know before it is set; empty where lower is only slower."""
    setting = state.setting
    above = bool(value) and bool(state.default) and value[0] > state.default[0]
    if setting in (Setting.CORE_OFFSET, Setting.MEMORY_OFFSET) and above:
        return _(
            "Above 0 this is overclocking: results can become wrong without a crash, and many warranties exclude it."
        )
    if setting is Setting.POWER_LIMIT and above:
        return _("Above the default: more heat in core, memory and power connector. Watch all three.")
    if setting is Setting.FAN and value:
        return _("At a fixed speed the card may get hotter than its maker meant; watched until it is automatic again.")
    return ""


def _after(applied: Applied) -> str:
    setting = applied.setting
    name, value = words.setting_name(setting), words.value_text(setting, applied.written)
    if not applied.changed:
        return _("{setting} is {value} already.").format(setting=name, value=value)
    if applied.reads is None:
        return _("{setting} set to {value}; the driver does not tell it back.").format(setting=name, value=value)
    reads = words.value_text(setting, applied.reads)
    return _("{setting} set to {value}; the card shows {reads}.").format(setting=name, value=value, reads=reads)


def may_be_lost(state: SettingState) -> bool:
    """Something that another program may have set cannot be put back."""
    if state.found is not None:
        return False
    return state.setting in LOCKS or (state.setting is Setting.FAN and state.now != ())


def _taking_agreed(output: Output, state: SettingState) -> bool:
    """Ask before what cannot be read is overwritten.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    lock = state.setting in LOCKS
    if lock:
        question = _("No driver tells what clocks are locked to: a lock set by another program would be lost. Go on?")
    else:
        question = _("Another program has set the fans; afterwards they are automatic. Go on?")
    code = "control_lock_unread" if lock else "control_fan_taken"
    return agreed(output, question, UsageError(code, "what others set would be lost", setting=state.setting.value))


def agreed(output: Output, question: str, nobody: UsageError) -> bool:
    """Ask on the terminal.

    Raises:
        UsageError: ``nobody``, where there is none.
    """
    if not _interactive():
        raise nobody
    _forget_typed()
    print(f"{question} [y/N] ", end="", file=output.err, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _forget_typed() -> None:
    """What was typed before a question was asked is no answer to it."""
    if sys.platform != "win32":
        import termios

        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def confirmed(output: Output) -> bool:
    """True if it is confirmed in time; the helper puts it back by itself, even if this program is stuck."""
    question = _("Keep it? It is put back in {seconds} s unless you say y:").format(seconds=f"{CONFIRM_S:g}")
    _forget_typed()
    print(f"{question} ", end="", file=output.err, flush=True)
    kept = _typed_within(CONFIRM_S - 1).strip().lower() in ("y", "yes")
    if not kept:
        output.note("")
    return kept


def _typed_within(seconds: float) -> str:
    """A line from the terminal, or what there is of it when the time is over (Windows: a key)."""
    if sys.platform == "win32":
        import msvcrt

        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and not msvcrt.kbhit():
            time.sleep(0.05)
        return msvcrt.getwch() if msvcrt.kbhit() else ""
    import select

    return sys.stdin.readline() if select.select([sys.stdin], [], [], seconds)[0] else ""


def _hold(output: Output, options: Options, control: "Control", card: CardControl, for_s: float | None) -> None:
    """Stay until the time is over, the setting is no longer held, or Ctrl-C."""
    if for_s is None and options.simulate:
        for_s = SIMULATED_HOLD_S
    if for_s is None:
        output.note(_("Held until you press Ctrl-C; then the fans are automatic again."))
    elif not options.simulate:
        output.note(_("Held for {seconds} s; Ctrl-C ends it earlier.").format(seconds=f"{for_s:g}"))
    else:
        output.note(
            _("This card is simulated: the {seconds} s pass on its own clock, at once.").format(seconds=f"{for_s:g}")
        )
    if options.simulate:
        control.wait(for_s or 0.0)
        return
    until_s = None if for_s is None else time.monotonic() + for_s
    try:
        while until_s is None or time.monotonic() < until_s:
            control.wait(LOOK_S)
            if _over(control, output, card):
                return
    except DeviceError:
        output.warn(_("The helper is gone; the next one puts back what it held."))
        raise


def _over(control: "Control", output: Output, card: CardControl) -> bool:
    """Tell what happened; True if something ended what was held."""
    told = control.told()
    for entry in told:
        output.warn(words.told(entry, {card.uuid: card.name}))
    return bool(told)


def _interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
