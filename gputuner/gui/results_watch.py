# pyright: standard
"""From what was seen of a command to its pictures and its page: where the time went, in words and bars."""

from dataclasses import replace

from gputuner.analysis.watching import where_time_went
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import numbers, watch
from gputuner.language.words import _
from gputuner.model.events import CommandEnded
from gputuner.model.watched import TimeSpent, WatchCause

TRAININGS = 2
"""Trainings (ranks) whose facts are told."""
LEAST_SHARE = 0.005
"""Parts below it have no bar."""

Pairs = tuple[tuple[str, str], ...]


def spent_of(facts: RunFacts) -> TimeSpent | None:
    """Where the time went; None before the command has ended."""
    return None if facts.ended is None else where_time_went(facts.ended.observed, facts.ended.use)


def colour_of(cause: WatchCause, theme: Theme) -> str:
    """Causes have the colours of what they are about."""
    return {
        WatchCause.DATA: theme.orange,
        WatchCause.HOST_LAUNCH: theme.purple,
        WatchCause.HOST_OTHER: theme.purple,
        WatchCause.COMPUTE: theme.green,
        WatchCause.CARD_BUSY: theme.green,
        WatchCause.MEMORY_CAPACITY: theme.sky,
        WatchCause.MEMORY_BANDWIDTH: theme.sky,
        WatchCause.POWER: theme.blue,
        WatchCause.HEAT: theme.vermilion,
    }.get(cause, theme.muted)


def part_groups(spent: TimeSpent, theme: Theme) -> list[BarGroup]:
    """Shares of the time, the largest first."""
    parts = sorted((part for part in spent.parts if part.share >= LEAST_SHARE), key=lambda part: -part.share)
    rows = tuple(
        BarRow(
            name=watch.cause(part.cause),
            text=numbers.value(part.share, "fraction"),
            value=part.share,
            top=1.0,
            colour=colour_of(part.cause, theme),
        )
        for part in parts
    )
    return [BarGroup(title=_("Share of the time"), rows=rows)] if rows else []


def evidence_lines(spent: TimeSpent) -> tuple[str, ...]:
    """What the judgement rests on."""
    return (*(watch.sign(sign) for sign in spent.signs), _("Known {by}.").format(by=watch.known_by(spent)))


def page_pairs(ended: CommandEnded, spent: TimeSpent) -> Pairs:
    """The command as a whole, then what was seen of its trainings."""
    use = ended.use
    cores = None if use.cpu_s is None or use.duration_s <= 0 else use.cpu_s / use.duration_s
    rows = [
        (_("end"), watch.ending(ended.exit_code, ended.signal)),
        (_("took"), numbers.value(use.duration_s, "s")),
        (_("shares"), watch.covered(spent, ended)),
        (_("processes"), watch.processes(ended)),
        (_("processor"), "" if cores is None else _("{n} cores busy on average").format(n=numbers.number(cores, 2))),
        (_("memory of the host"), numbers.value(use.rss_peak_bytes, "bytes") if use.rss_peak_bytes else ""),
        (_("headroom"), watch.headroom(spent)),
        *((_("card"), line) for line in watch.card_lines(ended)),
        (_("still running"), watch.left_running(ended.left_running) if ended.left_running else ""),
    ]
    trained = [entry for entry in ended.observed if entry.steps]
    for entry in trained[:TRAININGS]:
        several = f"{watch.who(entry)} · " if len(trained) > 1 else ""
        rows += [(f"{several}{name}", told) for name, told in watch.facts(entry)]
    rows.append((_("watching took"), watch.cost(ended)))
    return tuple((name, told) for name, told in rows if told)


def now_words(facts: RunFacts) -> str:
    """The command as it is now, in one line; a training's figures are told less often, and hold."""
    last, training = facts.watched.last, facts.watched.training
    if last is None:
        return ""
    return watch.now_line(last if training is None else replace(last, trainings=(training,)))


def page_markdown(facts: RunFacts) -> str:
    """The page as text to take along."""
    spent = spent_of(facts)
    if facts.ended is None or spent is None:
        return ""
    lines = [watch.bound_by(spent), ""]
    lines += [f"- {watch.cause(part.cause)}: {numbers.value(part.share, 'fraction')}" for part in spent.parts]
    lines += ["", *(f"- {line}" for line in evidence_lines(spent)), ""]
    lines += [f"- {name}: {told}" for name, told in page_pairs(facts.ended, spent)]
    return "\n".join([*lines, ""])
