"""``alerts``: what the user wants to be told of: list, set, switch on and off, hook, notifications."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gputuner.cli import alerts_run, document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options, check_range
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.language import alerts as words
from gputuner.language.words import N_, _, listed
from gputuner.model.alerts import (
    DEFAULT_RULES,
    HELD,
    HOLD_S,
    HOOK_TIMEOUT_S,
    KINDS,
    QUIET_S,
    AlertKind,
    AlertPlan,
    AlertRule,
    default_rule,
)
from gputuner.model.errors import UsageError
from gputuner.model.written_numbers import written_whole
from gputuner.settings.alerts import NAME

if TYPE_CHECKING:
    from gputuner.assembly.alerts import AlertBook

ABOUT = N_("Alerts on temperatures, fans, limits, XIDs and lost cards: set, test, run.")
_LIST = N_("List the alerts, and how they reach you.")
_SET = N_("Set an alert: a kind and its threshold.")
_ON = N_("Switch an alert on, or all; where none is set take the usual ones.")
_OFF = N_("Switch an alert off, or all.")
_HOOK = N_("Name a command that alerts run, or none.")
_NOTIFY = N_("Switch notifications of the desktop on or off.")
ALL = "all"
OURS = ("--data-dir", "--simulate")
"""Options that hardly any other program has."""
USAGE = {"hook": "gputuner --cli alerts hook [OPTIONS] -- COMMAND [ARGS...]"}
"""How a command is written, where its words do not tell."""


def list_alerts(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """List the alerts.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        _show(output, "alerts.list", _book(setup))
    return 0


def set_alert(
    kind: Annotated[str, Parameter(help=N_("temperature, memory-temperature, hotspot, margin, fan, limit, …"))],
    value: Annotated[
        float | None,
        Parameter(help=N_("Its threshold: °C, of margin K below slowdown, of limit and silent seconds.")),
    ] = None,
    /,
    *,
    hold: Annotated[
        float | None,
        Parameter(name="--for", metavar="SECONDS", help=N_("The condition must hold so long.")),
    ] = None,
    clear: Annotated[
        float | None,
        Parameter(
            name="--clear", metavar="MARGIN", help=N_("How far back behind the threshold it must be to be cleared.")
        ),
    ] = None,
    quiet_for: Annotated[
        float,
        Parameter(name="--quiet-for", metavar="SECONDS", help=N_("Within it the same alert tells you no second time.")),
    ] = 300.0,
    least: Annotated[
        float | None,
        Parameter(
            name="--least", metavar="PERCENT", help=N_("Of fan: slower than this is too slow; else it must stand.")
        ),
    ] = None,
    xid: Annotated[
        str | None, Parameter(name="--xid", metavar="LIST", help=N_("Of xid: only these numbers, with commas."))
    ] = None,
    name: Annotated[
        str | None,
        Parameter(name="--name", metavar="NAME", help=N_("Its name, for several of a kind; by default the kind.")),
    ] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Set an alert; one of the same name is replaced, --gpu keeps it to some cards.

    Args:
        kind: what it looks at.
        value: its threshold.
        hold: seconds that the condition must hold.
        clear: margin behind the threshold.
        quiet_for: seconds without a second word.
        least: slowest fan in per cent.
        xid: numbers with commas.
        name: of the alert.
        options: the common options.
        context: streams and the way to the program.
    """
    rule = _rule(kind, value, least=least, xid=xid, name=name)
    info = KINDS[rule.kind]
    if hold is not None and rule.kind not in HELD:
        raise _no_option("--for", rule.kind)
    if clear is not None and not info.margin_most:
        raise _no_option("--clear", rule.kind)
    check_range("--for", hold, HOLD_S, "s")
    check_range("--clear", clear, (0.0, info.margin_most), "")
    check_range("--quiet-for", quiet_for, QUIET_S, "s")
    rule = replace(
        rule,
        hold_s=rule.hold_s if hold is None else hold,
        clear_margin=rule.clear_margin if clear is None else clear,
        quiet_s=quiet_for,
    )
    output = context.output(options)
    with context.setup(options) as setup:
        if options.gpu is not None:
            rule = replace(rule, cards=tuple(card.uuid for card in setup.select(options.gpu, for_experiment=False)))
        book = _book(setup)
        plan = book.load()
        book.save(replace(plan, rules=with_rule(plan.rules, rule)))
        _show(output, "alerts.set", book)
    return 0


def switch_on(
    name: Annotated[str | None, Parameter(help=N_("Which; by default all."))] = None,
    /,
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Switch alerts on.

    Args:
        name: which; None: all, and the usual ones where none is set.
        options: the common options.
        context: streams and the way to the program.
    """
    return _switch(name, options, context, on=True)


def switch_off(
    name: Annotated[str, Parameter(help=N_("Which, or all."))],
    /,
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Switch alerts off; their thresholds are kept.

    Args:
        name: which, or ``all``.
        options: the common options.
        context: streams and the way to the program.
    """
    return _switch(name, options, context, on=False)


def set_hook(
    *command: Annotated[
        str, Parameter(name="COMMAND", help=N_("What to run, after --; no shell."), allow_leading_hyphen=True)
    ],
    off: Annotated[bool, Parameter(name="--off", negative="", help=N_("Run none any more."))] = False,
    timeout: Annotated[
        float, Parameter(name="--timeout", metavar="SECONDS", help=N_("It is ended after so many seconds."))
    ] = 30.0,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Name the command that alerts run: as you, with the alert as JSON on stdin and in variables GPUTUNER_*.

    Args:
        command: what to run.
        off: none any more.
        timeout: its time-out in seconds.
        options: the common options.
        context: streams and the way to the program.
    """
    check_range("--timeout", timeout, HOOK_TIMEOUT_S, "s")
    if not off and (
        not command or not context.dashes or (context.behind is not None and len(command) > context.behind)
    ):
        raise UsageError("alert_no_hook", "the command must stand after --")
    output = context.output(options)
    with context.setup(options) as setup:
        book = _book(setup)
        book.save(replace(book.load(), hook=() if off else tuple(command), hook_timeout_s=timeout))
        _show(output, "alerts.hook", book)
    if not off:
        _warn_of(command, output)
    return 0


def _warn_of(command: tuple[str, ...], output: Output) -> None:
    """Tell what will hardly be meant: no such program, or an option of ours among the command's words."""
    if shutil.which(command[0]) is None:
        output.warn(words.not_there(command[0]))
    ours = [word for word in command[1:] if word.partition("=")[0] in OURS]
    if ours:
        output.warn(words.behind_dashes(ours[0].partition("=")[0]))


def set_notify(
    state: Annotated[Literal["on", "off"], Parameter(help=N_("on or off."))],
    /,
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Switch notifications.

    Args:
        state: on or off.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        book = _book(setup)
        book.save(replace(book.load(), notify=state == "on"))
        _show(output, "alerts.notify", book)
    return 0


COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("list", list_alerts, _LIST),
    ("set", set_alert, _SET),
    ("on", switch_on, _ON),
    ("off", switch_off, _OFF),
    ("hook", set_hook, _HOOK),
    ("notify", set_notify, _NOTIFY),
    ("test", alerts_run.try_out, alerts_run.TEST),
    ("run", alerts_run.run, alerts_run.RUN),
)
"""Name, function, one line of help."""


def with_rule(rules: tuple[AlertRule, ...], rule: AlertRule) -> tuple[AlertRule, ...]:
    """The rules with this one in the place of its namesake, else behind them."""
    if any(entry.name == rule.name for entry in rules):
        return tuple(rule if entry.name == rule.name else entry for entry in rules)
    return (*rules, rule)


def _book(setup: Setup) -> "AlertBook":
    from gputuner.assembly.alerts import AlertBook

    return AlertBook(setup.data_dir)


def _switch(name: str | None, options: Options, context: Injected, *, on: bool) -> int:
    output = context.output(options)
    with context.setup(options) as setup:
        book = _book(setup)
        plan = book.load()
        known = {rule.name for rule in plan.rules}
        if name not in (None, ALL) and name not in known:
            raise UsageError("alert_unknown", f"no alert {name}", name=name, known=listed(sorted(known)) or "—")
        rules = plan.rules or (DEFAULT_RULES if on else ())
        changed = tuple(replace(rule, on=on) if name in (None, ALL, rule.name) else rule for rule in rules)
        book.save(replace(plan, rules=changed))
        _show(output, "alerts.on" if on else "alerts.off", book)
    return 0


def _rule(kind: str, value: float | None, *, least: float | None, xid: str | None, name: str | None) -> AlertRule:
    """The rule that the words of ``set`` ask for."""
    known = [entry.value for entry in AlertKind]
    if kind not in known:
        raise UsageError("alert_kind_unknown", f"no kind {kind}", name=kind, known=listed(known))
    rule = default_rule(AlertKind(kind))
    info = KINDS[rule.kind]
    if value is not None and (info.low is None or info.high is None):
        raise UsageError("alert_no_threshold", f"{kind} has no threshold", name=kind, value=f"{value:g}")
    if value is not None and info.low is not None and info.high is not None:
        check_range(kind, value, (info.low, info.high), {"degC": "°C"}.get(info.unit, info.unit))
        rule = replace(rule, threshold=value)
    if least is not None:
        if rule.kind is not AlertKind.FAN:
            raise _no_option("--least", rule.kind)
        check_range("--least", least, (0.0, 100.0), "%")
        rule = replace(rule, least_fan=least / 100)
    if xid is not None:
        if rule.kind is not AlertKind.XID:
            raise _no_option("--xid", rule.kind)
        rule = replace(rule, xids=_numbers(xid))
    if name is not None:
        if NAME.fullmatch(name) is None or name == ALL:
            raise UsageError("alert_name", f"{name} is no name", name=name)
        rule = replace(rule, name=name)
    return rule


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(dict.fromkeys(written_whole(part.strip(" ")) for part in text.split(",")))
    except ValueError:
        found = ()
    if not found or not all(0 < number < 1_000_000 for number in found):
        raise UsageError("option_value", f"--xid {text}", option="--xid", value=text, expected="48,79")
    return found


def _no_option(option: str, kind: AlertKind) -> UsageError:
    return UsageError("alert_option", f"{option} does not go with {kind}", option=option, name=kind.value)


def _show(output: Output, command: str, book: "AlertBook") -> None:
    """What is set, after it may have been changed."""
    from gputuner.assembly.alerts import standing

    plan, now = book.load(), standing(book)
    if output.json:
        body = document.head(command, None)
        body["alerts"] = rules_document(plan)
        body["hook"] = list(plan.hook) or None
        body["hook_timeout_s"] = plan.hook_timeout_s
        body["notify"] = plan.notify
        body["notification"] = now.way
        body["told_by"] = now.teller
        document.write(body, output.out)
        return
    if plan.rules:
        output.show(words.rules_table(plan.rules))
    else:
        output.line(_("No alert is set; `gputuner --cli alerts on` takes the usual ones."))
    output.line()
    told = (_("process {pid}").format(pid=now.teller) if now.teller else "") or _(
        "nobody now; `gputuner --cli alerts run` or the window does"
    )
    output.pairs(
        [
            (_("command"), " ".join(plan.hook) or _("none")),
            (_("notification"), words.way(now.way if plan.notify else "off")),
            (_("told by"), told),
        ]
    )


def rules_document(plan: AlertPlan) -> list[document.Json]:
    """The rules as ``--json`` tells them."""
    return [
        {
            "name": rule.name,
            "kind": rule.kind.value,
            "threshold": rule.threshold,
            "unit": KINDS[rule.kind].unit or None,
            "hold_s": rule.hold_s,
            "clear_margin": rule.clear_margin,
            "quiet_s": rule.quiet_s,
            "cards": list(rule.cards) or None,
            "least_fan": rule.least_fan if rule.kind is AlertKind.FAN else None,
            "xids": list(rule.xids) or None,
            "on": rule.on,
        }
        for rule in plan.rules
    ]
