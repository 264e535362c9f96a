# pyright: standard
"""From the jobs of the queue to the cells of its table and the words of its page."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from gputuner.gui.widgets.tables import Cell
from gputuner.language import jobs as words
from gputuner.language import numbers
from gputuner.language.words import _, listed, ngettext
from gputuner.model.jobs import ENDED, PLACED, Job, JobState, QueueCard, QueueView

MARKS = {
    JobState.WAITING: "○",
    JobState.STARTING: "◔",
    JobState.RUNNING: "●",
    JobState.DONE: "✓",
    JobState.FAILED: "✗",
    JobState.CANCELLED: "–",
    JobState.TIMED_OUT: "✗",
    JobState.INTERRUPTED: "!",
}
"""A sign before the word of each state."""
PYTHON = re.compile(r"python[0-9.]*")
QUIET = (JobState.DONE, JobState.CANCELLED)
"""Ends that ask for nothing; the others are as dark as what runs and waits."""


def job_rows(view: QueueView, now_s: float) -> list[tuple[str, list[Cell]]]:
    """A row for each job: number, job, state, why, needs, card, time; ``now_s`` in Unix seconds."""
    cards = {card.uuid: card for card in view.cards}
    return [(str(job.id), _cells(job, cards, now_s)) for job in view.jobs]


def _cells(job: Job, cards: Mapping[str, QueueCard], now_s: float) -> list[Cell]:
    over = job.state in QUIET
    command = " ".join(job.command)
    title = f"{job.name} · {command}" if job.name else command
    short = " ".join(_without_interpreter(job.command))
    ended = words.told(job.reason) if job.reason is not None else ""  # how it ended stands beside it as its state
    why = ended if job.state in ENDED else words.reason(job)
    return [
        Cell(str(job.id), muted=over),
        Cell(f"{job.name} · {short}" if job.name else short, f"{title}\n{job.folder}", over),
        Cell(f"{MARKS[job.state]} {words.state(job.state)}", muted=over),
        Cell(why, "\n".join(part for part in (why, job.tail) if part), over),
        Cell(_memory(job), _needs_hint(job), over or job.needs.memory_bytes is None),
        _where(job, cards, over),
        Cell(time_words(job, now_s), _when(job), over),
    ]


def _where(job: Job, cards: Mapping[str, QueueCard], over: bool) -> Cell:
    """The cards that it is or was on, by number; hovering tells their names."""
    known = [cards[uuid] for uuid in job.cards if uuid in cards]
    told = listed(str(card.index) for card in known) or numbers.MISSING
    return Cell(told, "\n".join(f"{card.index} · {card.title}" for card in known), over)


def _without_interpreter(command: Sequence[str]) -> Sequence[str]:
    """A script's command begins with its name: ``python`` before it would only make rows look alike."""
    script = len(command) > 1 and not command[1].startswith("-")
    return command[1:] if script and PYTHON.fullmatch(command[0].rpartition("/")[2]) else command


def _memory(job: Job) -> str:
    """Memory that it needs on each of its cards; a dash: not known."""
    needs = job.needs
    amount = numbers.MISSING if needs.memory_bytes is None else numbers.value(needs.memory_bytes, "bytes")
    return amount if needs.cards == 1 else f"{needs.cards} × {amount}"


def _needs_hint(job: Job) -> str:
    lines = [words.needs(job)]
    if job.priority:
        lines.append(_("priority {number}").format(number=job.priority))
    if job.reserved_bytes is not None and job.state in PLACED:
        lines.append(_("kept for it: {amount}").format(amount=numbers.value(job.reserved_bytes, "bytes")))
    if job.used_bytes is not None:
        lines.append(_("it has now: {amount}").format(amount=numbers.value(job.used_bytes, "bytes")))
    if job.grown_bytes:
        lines.append(_("grown past that by {amount}").format(amount=numbers.value(job.grown_bytes, "bytes")))
    return "\n".join(lines)


def time_words(job: Job, now_s: float) -> str:
    """How long it has run or waited, or how long it took."""
    if job.started_unix_s is None or job.state is JobState.WAITING:
        begin, end = job.waiting_since_unix_s, now_s if job.state is JobState.WAITING else job.ended_unix_s
    else:
        begin, end = job.started_unix_s, job.ended_unix_s or now_s
    return numbers.MISSING if end is None or not begin else numbers.duration(max(0, round(end - begin)))


def at_words(unix_s: float) -> str:
    """Day and time, of today the time alone."""
    then = datetime.fromtimestamp(unix_s)
    return then.strftime("%H:%M:%S" if then.date() == datetime.now().date() else "%Y-%m-%d %H:%M")


def _when(job: Job) -> str:
    told = (
        (_("added {time}"), job.added_unix_s),
        (_("started {time}"), job.started_unix_s),
        (_("ended {time}"), job.ended_unix_s),
    )
    return "\n".join(text.format(time=at_words(at)) for text, at in told if at)


def summary_words(view: QueueView) -> str:
    """How many jobs run, wait and have ended."""
    counts = view.counts
    running = sum(counts.get(state, 0) for state in PLACED)
    waiting = counts.get(JobState.WAITING, 0)
    over = sum(counts.get(state, 0) for state in ENDED)
    told = (
        (running, ngettext("{count} runs", "{count} run", running)),
        (waiting, ngettext("{count} waits", "{count} wait", waiting)),
        (over, ngettext("{count} has ended", "{count} have ended", over)),
    )
    return listed(text.format(count=count) for count, text in told if count)


def runner_words(view: QueueView) -> str:
    """Who serves the queue."""
    if view.runner is None:
        return _("no runner")
    since = at_words(view.runner.since_unix_s)
    return _("runner since {time}").format(time=since)


def card_words(card: QueueCard) -> str:
    """What is free, kept and held on a card."""
    if card.total_bytes is None or card.free_bytes is None:
        told = [ngettext("{count} slot", "{count} slots", card.slots).format(count=card.slots)] if card.slots else []
    else:
        told = [
            _("{free} free of {total}").format(
                free=numbers.value(card.free_bytes, "bytes"), total=numbers.value(card.total_bytes, "bytes")
            )
        ]
        if card.reserved_bytes:
            told.append(_("{amount} kept").format(amount=numbers.value(card.reserved_bytes, "bytes")))
    count = len(card.jobs)
    told.append(ngettext("{count} job", "{count} jobs", count).format(count=count))
    if others := sum(holder.memory_bytes or 0 for holder in card.holders):
        told.append(_("{amount} of others").format(amount=numbers.value(others, "bytes")))
    return listed(told)


def card_hint(card: QueueCard) -> str:
    """Jobs and other processes on a card."""
    lines = [card.title]
    if card.jobs:
        lines.append(_("jobs {numbers}").format(numbers=", ".join(map(str, card.jobs))))
    for holder in card.holders:
        amount = numbers.MISSING if holder.memory_bytes is None else numbers.value(holder.memory_bytes, "bytes")
        idle = "" if holder.idle_s is None else _("idle for {time}").format(time=numbers.duration(round(holder.idle_s)))
        lines.append(listed((f"{holder.name} ({holder.pid})", amount, idle)))
    if card.paused is not None:
        lines.append(words.card_reason(card.paused))
    return "\n".join(lines)


def waiting_ids(jobs: Sequence[Job]) -> list[int]:
    """The jobs that can be put in another order, as they stand."""
    return [job.id for job in jobs if job.state is JobState.WAITING]
