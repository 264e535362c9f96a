"""``control set total-power``: a total of watts shared over several cards, made and undone as one change."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.control_keeping import keep_all
from gputuner.cli.control_setting import LOOK_S, Asked, confirmed
from gputuner.cli.control_values import TOTAL, word_of
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.devices.control_checks import check
from gputuner.language import control as words
from gputuner.language import numbers
from gputuner.language.words import _, ngettext
from gputuner.model.cards import Origin
from gputuner.model.control import CONFIRM_S, Applied, CardControl, Setting, same
from gputuner.model.errors import GputunerError, UsageError

if TYPE_CHECKING:
    from gputuner.analysis.total_power import CardRange, Split
    from gputuner.assembly.total_power import Identities, Outdated
    from gputuner.devices.control_client import Control

POWER = Setting.POWER_LIMIT
SET_S = 5.0
"""Each card's setter may take so long before the last one is set and the question is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sharing:
    """The cards, what their limits may be, and the split."""

    cards: tuple[CardControl, ...]
    ranges: "tuple[CardRange, ...]"
    outdated: "tuple[Outdated, ...]"
    split: "Split"
    total_w: float

    def in_order(self) -> list[tuple[CardControl, float]]:
        """Cards with their watts, those that are lowered first: the total is never above both before and after."""
        pairs = zip(self.cards, self.split.watts, strict=True)
        return sorted(((card, float(watts)) for card, watts in pairs), key=lambda pair: pair[1] - _now_w(pair[0]))


def share_out(
    output: Output,
    options: Options,
    control: "Control",
    cards: Sequence[CardControl],
    total_w: float,
    asked: Asked,
    identities: "Identities" = tuple,
) -> int:
    """Split the total, tell it, set every card, confirm or put all back; the exit code.

    ``identities`` gives the cards as they stand: a sweep of another driver or VBIOS is not used.

    Raises:
        GputunerError: refused before anything was set, or one card refused and what was set on others goes back.
    """
    sharing = _shared(cards, total_w, options, identities)
    if not output.json or options.dry_run:
        _tell(output, options, sharing, done=options.dry_run)
    if options.dry_run:
        return 0
    ask = not asked.yes and asked.for_s is None
    hold_s = CONFIRM_S + SET_S * len(cards) if ask else asked.for_s
    applied = _set_all(output, control, sharing, hold_s)
    changed = [each for each in applied if each.changed]
    if any(card.persistent is False for card in cards) and not options.simulate:
        output.warn(_("Persistence mode is off: the driver forgets settings as soon as no program uses the card."))
    kept = False
    if asked.for_s is not None and changed:
        _hold(output, options, control, sharing.cards, asked.for_s)
    elif not ask or not changed or confirmed(output):
        keep_all(output, control, sharing.cards, changed)
        kept = True
    if output.json:
        body = _document(options, sharing)
        body["control"] = {**_body(sharing), "kept": kept, "dry_run": False, "set": [_done(each) for each in applied]}
        document.write(body, output.out)
    elif kept and changed and options.simulate:
        output.line(_("These cards are simulated: they forget the settings when this command ends."))
    elif kept and changed:
        output.line(_("They stay until the machine or the driver is started anew. Undo:"))
        for each in changed:
            output.line(f"  gputuner --cli control reset {word_of(POWER)} --gpu {each.card}")
    return 0


def _shared(cards: Sequence[CardControl], total_w: float, options: Options, identities: "Identities") -> _Sharing:
    """The split; every card was checked to take its part.

    Raises:
        UsageError: the total is below what the cards take at least.
        NotSupported: a card's limit cannot be set.
    """
    from gputuner.analysis.total_power import least_total, split
    from gputuner.assembly.total_power import ranges_of

    for card in cards:
        state = card.state(POWER)
        check(state, (1.0,) if state.low is None else (state.low,))
    origin = Origin.SIMULATED if options.simulate else Origin.MEASURED
    shares = ranges_of(cards, options.data_dir, origin, identities)
    ranges = shares.ranges
    least = least_total(ranges)
    if total_w < least:
        most = sum(each.whole[1] for each in ranges)
        raise UsageError(
            "control_total_low", "below the lowest limits", total=f"{total_w:g}", low=least, high=most, n=len(cards)
        )
    found = split(ranges, total_w)
    for card, watts in zip(cards, found.watts, strict=True):
        check(card.state(POWER), (float(watts),))
    return _Sharing(cards=tuple(cards), ranges=ranges, outdated=shares.outdated, split=found, total_w=total_w)


def _set_all(output: Output, control: "Control", sharing: _Sharing, hold_s: float | None) -> list[Applied]:
    """Set every card; where one refuses, nothing is kept and closing puts all back.

    Raises:
        GputunerError: of the card that refused.
    """
    applied: list[Applied] = []
    for card, watts in sharing.in_order():
        try:
            applied.append(control.set(card.uuid, POWER, (watts,), may_forget=True, for_s=hold_s))
        except GputunerError:
            output.warn(
                _("{card} did not take {watts}, so every card goes back to what it had.").format(
                    card=card.name, watts=numbers.value(watts, "W")
                )
            )
            raise
    return applied


def _hold(output: Output, options: Options, control: "Control", cards: Sequence[CardControl], for_s: float) -> None:
    """Stay until the time is over, one of the limits is no longer held, or Ctrl-C."""
    if options.simulate:
        control.wait(for_s)
        return
    output.note(_("Held for {seconds} s; Ctrl-C ends it earlier.").format(seconds=f"{for_s:g}"))
    names = {card.uuid: card.name for card in cards}
    until_s = time.monotonic() + for_s
    while (left_s := until_s - time.monotonic()) > 0:
        control.wait(min(LOOK_S, left_s))
        told = control.told()
        for entry in told:
            output.warn(words.told(entry, names))
        if told:
            return


def _tell(output: Output, options: Options, sharing: _Sharing, *, done: bool) -> None:
    """The split, before it is made."""
    if output.json:
        body = _document(options, sharing)
        body["control"] = {**_body(sharing), "kept": False, "dry_run": True, "set": []}
        document.write(body, output.out)
        return
    rows: list[tuple[str, ...]] = []
    for card, each, watts in zip(sharing.cards, sharing.ranges, sharing.split.watts, strict=True):
        how = _("default limit") if each.card not in sharing.split.by_curves else _curve_words(each)
        row = (f"[{card.index}] {card.name}", _watts(_now_w(card)), _watts(watts), _range(each), how)
        rows.append(row)
    output.table((_("card"), _("now"), _("new limit"), _("range"), _("shared by")), rows, right=(1, 2), wraps=(0, 4))
    spoken = ngettext(
        "{sum} of {total} for {n} card; it is not above its default limit.",
        "{sum} of {total} over {n} cards; no card above its default limit.",
        len(sharing.cards),
    )
    total = numbers.value(sharing.total_w, "W")
    output.line(spoken.format(sum=_watts(sharing.split.total_w), total=total, n=len(sharing.cards)))
    if sharing.total_w >= sum(each.whole[1] for each in sharing.ranges):
        output.line(_("So much never binds: with it every card has its default limit."))
    for told in (*_gain_words(sharing.split), *_sweep_words(sharing)):
        output.line(told)
    if done:
        output.line(_("Nothing was changed."))


def _gain_words(split: "Split") -> list[str]:
    """What the curves gain against a split by default limits; nothing is claimed that chance may have made."""
    if not split.by_curves:
        return []
    gain = split.gain
    if gain is None:
        return [
            _("What the measured curves gain against a split by default limits is not known: it reaches past them.")
        ]
    if gain.low == gain.high == 0.0:
        return [_("By the measured curves a split by default limits is as good as any.")]
    share = {name: _per_cent(value) for name, value in (("gain", gain.value), ("low", gain.low), ("high", gain.high))}
    if not gain.shown:
        told = _("By the measured curves about the same as a split by default limits ({low} to {high}).")
        return [told.format(**share)]
    if split.unit:
        told = _("By the measured curves {gain} ({low} to {high}) more {unit} in all than split by default limits.")
        return [told.format(**share, unit=split.unit)]
    told = _(
        "By the measured curves {gain} ({low} to {high}) in summed relative rate against a split by default limits."
    )
    return [told.format(**share)]


def _per_cent(fraction: float) -> str:
    return f"{100 * fraction + 0.0:+.1f} %"


def _sweep_words(sharing: _Sharing) -> list[str]:
    """What is to be known of the sweeps: of different loads, or no longer used."""
    lines: list[str] = []
    if sharing.split.by_curves and not sharing.split.unit:
        lines.append(
            _(
                "The sweeps are not of one load in one unit, so their rates do not add up: a per cent of a card's own "
                "best is traded for a per cent of another card's."
            )
        )
    names = {card.uuid: f"[{card.index}] {card.name}" for card in sharing.cards}
    for old in sharing.outdated:
        told = _("{card}: sweep {session} is not used, {what} was {then} and is {now}. Measure again: {command}")
        command = f"gputuner --cli power --gpu {old.card}"
        lines.append(
            told.format(
                card=names[old.card],
                session=old.session,
                what=_("the driver") if old.what == "driver" else old.what,
                then=old.then,
                now=old.now,
                command=command,
            )
        )
    return lines


def _curve_words(each: "CardRange") -> str:
    assert each.curve is not None
    return _("power sweep {session} ({workload})").format(session=each.curve.session, workload=each.curve.workload)


def _watts(watts: float) -> str:
    return numbers.value(round(watts), "W")


def _range(each: "CardRange") -> str:
    low, high = each.whole
    return _("{low} to {high}").format(low=low, high=_watts(high))


def _now_w(card: CardControl) -> float:
    now = card.state(POWER).now
    return now[0] if now else 0.0


def _document(options: Options, sharing: _Sharing) -> document.Json:
    origin = Origin.SIMULATED if options.simulate else Origin.MEASURED
    body = document.head("control.set", origin)
    body["devices"] = [
        {"uuid": card.uuid, "index": card.index, "name": card.name, "now_w": _now_w(card)} for card in sharing.cards
    ]
    return body


def _body(sharing: _Sharing) -> document.Json:
    split = sharing.split
    return {
        "setting": TOTAL,
        "wanted": [sharing.total_w],
        "total_w": split.total_w,
        "split": [
            {
                "card": each.card,
                "watts": watts,
                "low": each.whole[0],
                "high": each.whole[1],
                "default": each.default_w,
                "by": "curve" if each.card in split.by_curves else "default",
                "session": each.curve.session if each.curve is not None and each.card in split.by_curves else None,
            }
            for each, watts in zip(sharing.ranges, split.watts, strict=True)
        ],
        "rate": split.rate,
        "rate_in_proportion": split.rate_in_proportion,
        "rate_unit": split.unit or None,
        "gain": None
        if split.gain is None
        else {
            "value": split.gain.value,
            "low": split.gain.low,
            "high": split.gain.high,
            "shown": split.gain.shown,
        },
        "outdated": [
            {"card": old.card, "session": old.session, "what": old.what, "then": old.then, "now": old.now}
            for old in sharing.outdated
        ],
    }


def _done(each: Applied) -> document.Json:
    stands = each.reads if each.reads is not None else each.written
    return {
        "card": each.card,
        "found": list(each.found),
        "wanted": list(each.written),
        "reads": None if each.reads is None else list(each.reads),
        "enforced_w": each.enforced_w,
        "changed": each.changed,
        "as_wanted": same(POWER, stands, each.written),
    }
