"""The job queue in words: how a job stands, what it needs, why it waits, how it ended, what its runner tells."""

from collections.abc import Mapping

from gputuner.analysis.told_command import readable, told_line
from gputuner.language import numbers
from gputuner.language.filling import fill
from gputuner.language.words import N_, NN_, _, listed, ngettext
from gputuner.model.jobs import ENDED, Job, JobState, NeedSource, NoteKind, Reason, RunnerNote

_STATES: dict[JobState, str] = {
    JobState.WAITING: N_("waits"),
    JobState.STARTING: N_("starts"),
    JobState.RUNNING: N_("runs"),
    JobState.DONE: N_("done"),
    JobState.FAILED: N_("failed"),
    JobState.CANCELLED: N_("cancelled"),
    JobState.TIMED_OUT: N_("out of time"),
    JobState.INTERRUPTED: N_("interrupted"),
}

_REASONS: dict[str, str] = {
    "no_runner": N_("Nobody serves the queue: gputuner --cli queue run"),
    "after": N_("It follows job {jobs}."),
    "after_failed": N_("Job {jobs}, which it follows, was not done: retry that one, or cancel this."),
    "behind": N_("Job {job} comes first on card {index}."),
    "behind:cpu": N_("Job {job} comes first on the processor."),
    "card_taken:cpu": N_("The processor is taken by job {jobs}."),
    "card_silent:cpu": N_("The processor does not answer."),
    "heat:cpu": N_("The processor is at {temperature_c:degC}; jobs start below {limit_c:degC}."),
    "power:cpu": N_("The processor draws {power_w:W} of {limit_w:W}: nothing is left for one more."),
    "card_taken": N_("Card {index} is taken by job {jobs}."),
    "slots": NN_(
        "The only slot ({slots}) is taken by job {jobs}.", "All {slots} slots are taken by job {jobs}.", "slots"
    ),
    "not_served": N_("None of the cards that it may use is served now."),
    "too_few_cards": NN_(
        "It needs {cards} card at a time; of {known} none has room.",
        "It needs {cards} cards at a time; of {known} not so many have room.",
        "cards",
    ),
    "card_silent": N_("Card {index} does not answer."),
    "beside_unknown": N_(
        "How much it and job {jobs} slow each other down on card {index} was never measured (gputuner --cli contend "
        "does, --share does without)."
    ),
    "beside_slow": N_("Beside job {jobs} on card {index} one would take {slowdown} times as long (limit {limit})."),
    "heat": N_("Card {index} is at {temperature_c:degC}; jobs start below {limit_c:degC}."),
    "power": N_("Card {index} draws {power_w:W} of {limit_w:W}: nothing is left for one more."),
    "recovering": N_("Card {index}: {owed_bytes:bytes} of job {job}, which has ended, are not back yet."),
    "memory_not_back": N_(
        "Card {index} is paused: {owed_bytes:bytes} of job {job}, which has ended, are not back after {waited_s:s}. "
        "Look for a process it left; the queue goes on by itself once they are back."
    ),
    "out_of_memory": N_("It ran out of memory."),
    "signal": N_("It was ended by signal {signal}."),
    "exit": N_("It ended with {exit_code}."),
    "rebooted": N_("The machine went down while it ran."),
    "stopped_outside": N_("Its supervisor was told to stop from outside."),
    "supervisor_lost": N_("Its supervisor was killed, so how it ended is not known."),
    "unsupervised": N_("Its supervisor was killed; it goes on, but how it ends will not be known."),
    "unsupervised_ends": N_(
        "Its supervisor was killed, so it was told directly to end (SIGTERM); `queue run` kills it if it does not."
    ),
    "unsupervised_gone": N_("Its supervisor was killed and it has ended since; `queue run` writes that down."),
    "supervisor_failed": N_("Its supervisor did not come up; see {log}."),
    "waited_too_long": N_("It had not started within the time allowed."),
    "failed_soon": N_("It failed soon after its start, so it is tried again after a pause that grows each time."),
    "disk_full": N_(
        "There is no room left for {path}: nothing starts, and no end is written down, before there is some again."
    ),
    "grown": N_("It holds {used_bytes:bytes}; {kept_bytes:bytes} are kept for it."),
}
_MEMORY = N_("Needs {need_bytes:bytes}; card {index} has {free_bytes:bytes} of {total_bytes:bytes} free")
_MEMORY_CPU = N_("Needs {need_bytes:bytes}; the machine has {free_bytes:bytes} of {total_bytes:bytes} free")
_OTHERS = N_("{others_bytes:bytes} used by others")
_KEPT = N_("{kept_bytes:bytes} kept for job {jobs}")
_HOLDER = N_("{holder} (process {pid}) holds {holder_bytes:bytes}")
_HOLDER_IDLE = N_("{holder} (process {pid}) holds {holder_bytes:bytes} of {total_bytes:bytes}, 0 % load for {idle_s:s}")
IDLE_TOLD_S = 60.0
"""Idling shorter than this is not worth a word."""
_SOURCES: dict[NeedSource, str] = {
    NeedSource.GIVEN: "",
    NeedSource.HISTORY: N_("learned from earlier jobs"),
    NeedSource.WATCHED: N_("learned from watch"),
    NeedSource.SESSION: N_("from a session"),
    NeedSource.UNKNOWN: "",
}


ERRORS: dict[str, str] = {
    "job_unknown": N_("There is no job {job}; `gputuner --cli queue list --all` shows them."),
    "job_ended": N_("Job {job} has ended already."),
    "job_not_ended": N_("Job {job} has not ended yet; cancel it first."),
    "job_not_waiting": N_("Job {job} does not wait, so it has no place in the line."),
    "job_never_fits": N_(
        "This can never fit: it needs {need_bytes:bytes} on each of its cards, and the most that a job can get here is "
        "{most_bytes:bytes} (the largest card, {card}, has {total_bytes:bytes})."
    ),
    "job_never_fits_cpu": N_(
        "This can never fit: it needs {need_bytes:bytes}, and the most that a job can get here is {most_bytes:bytes} "
        "(the machine has {total_bytes:bytes})."
    ),
    "job_never_fits_cards": NN_(
        "This can never start: it needs {cards} cards at a time, and there is {known}.",
        "This can never start: it needs {cards} cards at a time, and there are {known}.",
        "known",
    ),
    "runner_elsewhere": N_("Another runner (process {pid}) serves this queue already."),
    "runner_not_started": N_("The runner of the queue did not start. {message}"),
    "runner_not_ended": N_("The runner of the queue (process {pid}) does not end."),
    "queue_newer": N_("{path} was written by a newer gputuner; update this one."),
    "queue_malformed": N_(
        "{path} is no job queue, or it is damaged ({message}). Move it, and its -wal and -shm beside it, elsewhere to "
        "begin with an empty queue; jobs that run go on, and logs stay where they are."
    ),
    "queue_no_command": N_("There is nothing to run; write the command after --, as in: queue add -- python train.py"),
    "queue_no_dashes": N_(
        "Write -- before the command, so that its options are told from ours: gputuner --cli queue add -- python "
        "train.py"
    ),
    "queue_before_dashes": N_("{what} stood before --: only options of queue add may stand there."),
    "queue_command_line": N_("This command line cannot be read: a quotation mark is not closed."),
    "queue_session_no_memory": N_("Session {session} measured no memory that a job could need."),
    "queue_move_where": N_("Say where to: one of --before ID, --behind ID and --first."),
    "queue_ids": N_("{value} names no jobs; write ids as 3, 3,5 or 3-7."),
    "queue_one_id": N_("{value} names several jobs; this takes one at a time."),
    "queue_array": N_("{value} names no indices; write them as 1-10 or 0,2,4-6."),
    "queue_array_most": N_("{value} names more than {most} indices; add it as several arrays."),
    "queue_time": N_("{option} cannot be {value}; write a time as 90 (seconds), 30m, 2h or 1d, up to a year."),
}
"""Errors of the queue by code."""


def state(entry: JobState) -> str:
    """One word for how a job stands."""
    return _(_STATES[entry])


def reason(job: Job) -> str:
    """Why a job waits; how it ended, or that it has outgrown its memory; empty where there is nothing to say."""
    if job.reason is not None:
        return told(job.reason)
    if job.state is JobState.WAITING:
        return _("Its turn has not come.")
    if job.grown_bytes and job.reserved_bytes is not None and job.state not in ENDED:
        return _fill("grown", {"used_bytes": job.peak_bytes, "kept_bytes": job.reserved_bytes})
    return ""


def told(entry: Reason) -> str:
    """The sentence of a reason; its code where it has none."""
    if entry.code == "memory":
        return _memory(entry)
    return _fill(entry.code, entry.params) if entry.code in _REASONS else entry.code


def card_reason(entry: Reason) -> str:
    """Why nothing is started on a card."""
    return told(entry)


def needs(job: Job) -> str:
    """What a job needs, in short."""
    entry = job.needs
    memory = _("memory not known") if entry.memory_bytes is None else numbers.value(entry.memory_bytes, "bytes")
    parts = [
        memory,
        ngettext("{n} card", "{n} cards", entry.cards).format(n=entry.cards) if entry.cards > 1 else "",
        _("alone") if entry.alone else "",
        numbers.value(entry.minutes, "min") if entry.minutes is not None else "",
        _(_SOURCES[entry.source]),
    ]
    return listed(parts)


def ended(job: Job) -> str:
    """How a job ended, in one phrase; empty while it has not."""
    if job.state not in ENDED:
        return ""
    why = told(job.reason) if job.reason is not None else ""
    return _("{state}: {why}").format(state=state(job.state), why=why) if why else state(job.state)


def command(job: Job) -> str:
    """Its name, else its command, in one line."""
    return readable(job.name) or told_line(job.command)


def note(entry: RunnerNote) -> str:
    """What a runner tells, one line."""
    if entry.kind is NoteKind.PAUSED and entry.reason is not None:
        return told(entry.reason)
    if entry.kind is NoteKind.RESUMED:
        return fill(N_("Card {index} goes on: the memory is back."), entry.reason.params if entry.reason else {})
    job = entry.job
    if job is None:
        return ""
    named = {"job": job.id, "command": command(job), "cards": listed(job.cards)}
    match entry.kind:
        case NoteKind.STARTED:
            return fill(N_("Job {job} starts: {command}"), named)
        case NoteKind.ENDED | NoteKind.INTERRUPTED:
            took = None if None in (job.started_unix_s, job.ended_unix_s) else _took(job)
            how = ended(job).rstrip(".。")
            return fill(N_("Job {job} ended after {took:s}: {how}."), {**named, "how": how, "took": took})
        case NoteKind.TRIED_AGAIN:
            return fill(N_("Job {job} waits to be tried again."), named)
        case NoteKind.GREW:
            why = told(entry.reason) if entry.reason is not None else ""
            return fill(N_("Job {job} has outgrown what is kept for it. {why}"), {**named, "why": why})
        case NoteKind.WAITS:
            why = told(entry.reason) if entry.reason is not None else ""
            return fill(N_("Job {job} waits. {why}"), {**named, "why": why})
        case NoteKind.GIVEN_UP:
            return fill(N_("Job {job} is given up: it had not started within the time allowed."), named)
        case _:
            return ""


def _took(job: Job) -> float:
    return max(0.0, (job.ended_unix_s or 0.0) - (job.started_unix_s or 0.0))


def _memory(entry: Reason) -> str:
    """Who holds the memory that a job waits for."""
    params = {name: readable(value) if isinstance(value, str) else value for name, value in entry.params.items()}
    parts = [fill(_MEMORY_CPU if params.get("cpu") else _MEMORY, params)]
    if _number(params.get("kept_bytes")):
        parts.append(fill(_KEPT, params))
    if _number(params.get("others_bytes")):
        parts.append(fill(_OTHERS, params))
    if "holder" in params:
        idle = _number(params.get("idle_s")) >= IDLE_TOLD_S
        parts.append(fill(_HOLDER_IDLE if idle else _HOLDER, params))
    return _("{parts}.").format(parts=listed(parts))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _fill(code: str, params: Mapping[str, object]) -> str:
    """The sentence of a code; where it is about the processor, that of the processor."""
    own = f"{code}:cpu"
    return fill(_REASONS[own if params.get("cpu") and own in _REASONS else code], params)
