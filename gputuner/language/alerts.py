"""Words of alerts: what was raised and cleared, what a rule says, what an XID means, and what went wrong with them."""

from collections.abc import Sequence

from gputuner.language import numbers
from gputuner.language.filling import fill
from gputuner.language.tables import Table
from gputuner.language.terms import limiter
from gputuner.language.words import N_, _, listed
from gputuner.model.alerts import KINDS, LIMIT_WINDOW_S, OWN_BELOW_K, AlertChange, AlertKind, AlertRule
from gputuner.model.cards import CardInfo
from gputuner.model.events import AlertCleared, AlertRaised
from gputuner.model.quantities import Limiter

NAMES: dict[AlertKind, str] = {
    AlertKind.TEMPERATURE: N_("core temperature"),
    AlertKind.MEMORY_TEMPERATURE: N_("memory temperature"),
    AlertKind.HOTSPOT: N_("hotspot temperature"),
    AlertKind.MARGIN: N_("distance to slowdown"),
    AlertKind.FAN: N_("fan too slow for the heat"),
    AlertKind.LIMIT: N_("time slowed down by heat or hardware"),
    AlertKind.XID: N_("error that the driver reports (XID)"),
    AlertKind.LOST: N_("lost card"),
    AlertKind.SILENT: N_("no readings"),
    AlertKind.STUCK: N_("sensor that stands still"),
}
_SHORT: dict[AlertKind, str] = {
    AlertKind.TEMPERATURE: N_("core temperature"),
    AlertKind.MEMORY_TEMPERATURE: N_("memory temperature"),
    AlertKind.HOTSPOT: N_("hotspot temperature"),
    AlertKind.MARGIN: N_("near slowdown"),
    AlertKind.FAN: N_("fan too slow"),
    AlertKind.LIMIT: N_("slowed down"),
    AlertKind.XID: "XID",
    AlertKind.LOST: N_("lost card"),
    AlertKind.SILENT: N_("no readings"),
    AlertKind.STUCK: N_("sensor stands still"),
}
"""As words of a mark in a picture."""
_RAISED: dict[AlertKind, str] = {
    AlertKind.TEMPERATURE: N_("{card}: the core is at {value:degC} (alert from {threshold:degC})"),
    AlertKind.MEMORY_TEMPERATURE: N_("{card}: the memory is at {value:degC} (alert from {threshold:degC})"),
    AlertKind.HOTSPOT: N_("{card}: the hotspot is at {value:degC} (alert from {threshold:degC})"),
    AlertKind.MARGIN: N_("{card}: {value} K below the temperature at which it slows down (alert from {threshold} K)"),
    AlertKind.FAN: N_("{card}: the fan is at {detail} while the core is at {value:degC}"),
    AlertKind.LIMIT: N_("{card}: {value:s} of the last minute held back by {detail} (alert from {threshold:s})"),
    AlertKind.XID: N_("{card}: the driver reported XID {value}: {detail}"),
    AlertKind.LOST: N_("{card}: the card is lost; it has fallen off the bus or must be reset"),
    AlertKind.SILENT: N_("{card}: no readings for {value:s}"),
    AlertKind.STUCK: N_(
        "{card}: the core temperature stands still at {value:degC} though the power changes; alerts on heat are blind"
    ),
}
_REACHED: dict[AlertKind, str] = {
    AlertKind.TEMPERATURE: N_("{card}: the core reached {value:degC}, now {now:degC} (alert from {threshold:degC})"),
    AlertKind.MEMORY_TEMPERATURE: N_(
        "{card}: the memory reached {value:degC}, now {now:degC} (alert from {threshold:degC})"
    ),
    AlertKind.HOTSPOT: N_("{card}: the hotspot reached {value:degC}, now {now:degC} (alert from {threshold:degC})"),
}
"""Of one that is raised for a while: what was read then, and what is read now."""
_HARDWARE = N_("{card}: the card's hardware slows it down for heat")
_CLEARED: dict[AlertKind, str] = {
    AlertKind.TEMPERATURE: N_("{card}: the core is back at {value:degC}"),
    AlertKind.MEMORY_TEMPERATURE: N_("{card}: the memory is back at {value:degC}"),
    AlertKind.HOTSPOT: N_("{card}: the hotspot is back at {value:degC}"),
    AlertKind.MARGIN: N_("{card}: {value} K below the temperature at which it slows down again"),
    AlertKind.FAN: N_("{card}: fan and core are well again, the core is at {value:degC}"),
    AlertKind.LIMIT: N_("{card}: {value:s} of the last minute held back"),
    AlertKind.XID: N_("{card}: no further XID {value}"),
    AlertKind.LOST: N_("{card}: the card is back"),
    AlertKind.SILENT: N_("{card}: readings come again"),
    AlertKind.STUCK: N_("{card}: the core temperature moves again"),
}
_OFF = N_("{card}: the rule {rule} was changed or switched off")
XIDS: dict[int, str] = {
    13: N_("a program's kernel went wrong on the card; mostly the program's own fault"),
    31: N_("a program touched memory that is not its own; mostly the program's own fault"),
    32: N_("a damaged command buffer; driver, memory or the slot"),
    38: N_("an error in the driver's firmware"),
    43: N_("a program's work was stopped after an error of its own"),
    45: N_("the driver ended a program's work, as after a kill or another error"),
    48: N_("an error in memory that ECC cannot correct"),
    61: N_("a controller inside the card stopped; reset it"),
    62: N_("a controller inside the card stopped; reset it"),
    63: N_("a bad row of memory was noted to be replaced"),
    64: N_("a bad row of memory could not be replaced"),
    74: N_("an error on NVLink"),
    79: N_("the card has fallen off the bus: power, slot, riser or heat"),
    92: N_("many ECC errors that were corrected"),
    94: N_("a memory error that hit one program only"),
    95: N_("a memory error that may have hit every program; reset the card"),
    109: N_("the card did not switch between programs in time"),
    119: N_("the card's own processor (GSP) did not answer the driver"),
    120: N_("the card's own processor (GSP) failed"),
}
"""What NVIDIA's list of XID errors says of those that users meet, in short."""
_OTHER_XID = N_("see NVIDIA's list of XIDs and the kernel's log")
ERRORS: dict[str, str] = {
    "alerts_malformed": N_(
        "The alerts in {path} cannot be understood ({where}), and the file is left as it is; mend it, or delete it to "
        "begin anew ({path}.good holds what was stored last)."
    ),
    "alerts_unreadable": N_(
        "The alerts in {path} cannot be read: the file is empty, cut off or no JSON object. It is left as it is; mend "
        "it, or delete it to begin anew ({path}.good holds what was stored last)."
    ),
    "alerts_newer": N_("{path} was written by a newer gputuner; update this one. The file is left as it is."),
    "alert_value": N_("An alert cannot be so: {what}."),
    "alert_unknown": N_("There is no alert {name}; there are: {known}."),
    "alert_kind_unknown": N_("There is no kind of alert {name}; there are: {known}."),
    "alert_name": N_("{name} cannot be the name of an alert; it takes small letters, digits and . _ - (40 at most)."),
    "alert_no_threshold": N_("An alert on {name} has no threshold; leave {value} out."),
    "alert_option": N_("{option} does not go with alerts on {name}."),
    "alert_no_hook": N_("Write the command of the hook after --, as in: alerts hook -- notify.sh --loud"),
    "alerts_none": N_("No alert is set; `gputuner --cli alerts on` takes the usual ones."),
    "alerts_no_card": N_(
        "No alert is about a card that is here (about the processor only those are that were set with --gpu cpu)."
    ),
    "alerts_no_replay": N_("Alerts are about cards as they are now; leave --replay out."),
}
WARNINGS: dict[str, str] = {
    "alerts_last_good": N_(
        "The alerts in {path} cannot be understood; those that were stored last are used until it is mended or deleted."
    ),
    "alert_beside_jobs": N_("Jobs of the queue on {card} at that time: {jobs}."),
}
_TROUBLE: dict[str, str] = {
    "missing": N_("The alert's command {program} was not found; see its spelling and PATH."),
    "forbidden": N_("The alert's command {program} cannot be run: {message}."),
    "failed": N_("The alert's command {program} ended with exit code {exit_code}; what it wrote is in {log}."),
    "timed_out": N_("The alert's command {program} was ended after {timeout_s:s}; what it wrote is in {log}."),
    "cut_short": N_("The alert's command {program} still ran as gputuner ended and was ended with it."),
    "crowded": N_("Too many runs of the alert's command {program} at once; one was left out."),
}
WAYS: dict[str, str] = {
    "desktop": N_("the desktop (notify-send)"),
    "tray": N_("the desktop (the window's own icon in the tray)"),
    "terminal": N_("the terminal: a line and the bell; no desktop can be told from here"),
    "off": N_("none: notifications are switched off"),
}


def name(kind: AlertKind) -> str:
    """What a kind is about."""
    return _(NAMES[kind])


def short(rule: str) -> str:
    """A rule's name as words of a mark: its kind's where it has no name of its own."""
    own = rule not in set(AlertKind)
    return rule if own else _(_SHORT[AlertKind(rule)])


def xid(number: int) -> str:
    """What an XID means, in short."""
    return _(XIDS.get(number, _OTHER_XID))


def told(change: AlertChange, card: str) -> str:
    """The sentence of what was raised or cleared on the card of this title."""
    rule = change.rule
    return _sentence(
        rule.kind, card, rule.name, change.value, rule.threshold, change.detail, change.lasted_s, raised=change.raised
    )


def standing(change: AlertChange, card: str, now: float | None) -> str:
    """The sentence of what has been raised for a while; ``now``: what is read now, in the unit of the rule's kind."""
    message, value = _REACHED.get(change.rule.kind), change.value
    if message is None or value is None or now is None or round(now) == round(value):
        return told(change, card)
    return fill(message, {"card": card, "value": value, "now": now, "threshold": change.rule.threshold})


def event(entry: AlertRaised | AlertCleared, card: str) -> str:
    """The same of a stored event."""
    lasted = entry.lasted_s if isinstance(entry, AlertCleared) else None
    raised = isinstance(entry, AlertRaised)
    return _sentence(entry.alert, card, entry.rule, entry.value, entry.threshold, entry.detail, lasted, raised=raised)


def _sentence(
    kind: AlertKind,
    card: str,
    rule: str,
    value: float | None,
    threshold: float | None,
    detail: str,
    lasted_s: float | None,
    *,
    raised: bool,
) -> str:
    if kind is AlertKind.XID and value is not None:
        detail = xid(round(value))
    hardware = kind is AlertKind.LIMIT and detail == Limiter.THERMAL_HARDWARE
    if kind is AlertKind.LIMIT and detail in set(Limiter):
        detail = limiter(Limiter(detail))
    table = _RAISED if raised else _CLEARED
    message = _HARDWARE if raised and hardware else table[kind]
    if not raised and value is None and kind not in (AlertKind.LOST, AlertKind.SILENT):
        message = _OFF
    if kind is AlertKind.LIMIT and value is not None:
        value = float(round(value))
    text = fill(message, {"card": card, "rule": rule, "value": value, "threshold": threshold, "detail": detail})
    if raised or lasted_s is None:
        return text
    return _("{sentence} (it lasted {time})").format(sentence=text, time=numbers.duration(lasted_s))


def condition(rule: AlertRule) -> str:
    """What a rule says, in short: its threshold and how long it must hold."""
    info, at = KINDS[rule.kind], rule.threshold
    parts: list[str] = []
    if rule.kind is AlertKind.FAN and at is not None:
        slow = _("below {value}").format(value=numbers.value(rule.least_fan, "fraction")) if rule.least_fan else ""
        parts.append(_("{fan} from {value} on").format(fan=slow or _("stands"), value=numbers.value(at, info.unit)))
    elif rule.kind is AlertKind.MARGIN and at is not None:
        parts.append(f"≤ {numbers.number(at)} K")
    elif rule.kind is AlertKind.LIMIT and at is not None:
        window = numbers.duration(LIMIT_WINDOW_S)
        parts.append(_("{value} of the last {window}").format(value=numbers.duration(at), window=window))
    elif at is None and info.own:
        parts.append(_("from {kelvin} K below the card's own limit on").format(kelvin=numbers.number(OWN_BELOW_K)))
    elif at is not None:
        parts.append(f"≥ {numbers.value(at, info.unit)}")
    elif rule.xids:
        parts.append(listed(str(number) for number in rule.xids))
    if rule.hold_s:
        parts.append(_("for {time}").format(time=numbers.duration(rule.hold_s)))
    return listed(parts) or _("immediately")


def rules_table(rules: Sequence[AlertRule], cards: Sequence[CardInfo] = ()) -> Table:
    """The rules, one a row."""
    titles = {card.uuid: f"[{card.index}] {card.title}" for card in cards}
    rows = tuple(
        (
            rule.name,
            name(rule.kind),
            condition(rule),
            listed(titles.get(card, card) for card in rule.cards) or _("all"),
            _("on") if rule.on else _("off"),
        )
        for rule in rules
    )
    headers = (_("alert"), _("about"), _("raised at"), _("cards"), _("state"))
    return Table(headers=headers, rows=rows, wraps=(1, 2, 3), least=(1,))


def waiting(program: str, timeout_s: float) -> str:
    """That the end waits for the hook."""
    text = N_("Waiting for the alert's command {program}, at most {timeout_s:s}; Ctrl-C ends it.")
    return fill(text, {"program": program, "timeout_s": timeout_s})


def not_there(program: str) -> str:
    """That the command just named for the hook does not exist."""
    return fill(
        N_("The alert's command {program} was not found now; alerts run it only once it is there."),
        {"program": program},
    )


def behind_dashes(option: str) -> str:
    """That an option of gputuner's own stands where it is the command's."""
    return fill(N_("What stands after -- belongs to the command, {option} too."), {"option": option})


def trouble(code: str, **params: object) -> str:
    """What went wrong with the command of the hook."""
    return fill(_TROUBLE[code], params)


def tried(code: str, *, hook: bool) -> str:
    """What came of a test where nothing went wrong."""
    ran = _("The command ran well.") if hook else _("No command is set.")
    return _("Notifications: {way}. {command}").format(way=way(code), command=ran)


def way(code: str) -> str:
    """How a notification reaches the user."""
    return _(WAYS[code])
