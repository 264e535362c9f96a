"""``queue``: jobs that start when a card has room for them: list, move, cancel, retry, log."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.analysis.job_entry import job_ids
from gputuner.cli import document, queue_add, queue_document, queue_run
from gputuner.cli.context import Injected
from gputuner.cli.options import Options, check_range, whole_number
from gputuner.cli.output import Output
from gputuner.language import jobs as words
from gputuner.language import numbers
from gputuner.language.words import N_, _, listed, ngettext
from gputuner.model.cards import CPU_CARD
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.jobs import ENDED, PLACED, Job, JobState, QueueCard, QueueView

if TYPE_CHECKING:
    from gputuner.assembly.queue import LogTail, Queue

ABOUT = N_("Jobs that start when a card has room: add, list, run, move, cancel, retry, log.")
_LIST = N_("List the jobs: those that run, the line, and how the last ones ended.")
_MOVE = N_("Put a waiting job elsewhere in the line.")
_CANCEL = N_("Take jobs out of the line; end those that run (SIGTERM, then SIGKILL).")
_RETRY = N_("Put jobs that have ended back into the line.")
_LOG = N_("Show what a job has written.")
MOST_WAITING, MOST_ENDED = 100, 20
LINES = (1, 1_000_000)
FOLLOW_S = 0.2
MOST_JSON_BYTES = 8 * 2**20
"""So much of the end of a log goes into a document."""
LOGS_BYTES = 2**30
"""Logs that take more together are worth a word."""
Ids = Annotated[str, Parameter(name="ID", help=N_("Job by id: 3, 3,5 or 3-7."))]
MoreIds = Annotated[str, Parameter(name="ID", help=N_("Further jobs."))]


def list_jobs(
    *,
    everything: Annotated[
        bool, Parameter(name="--all", negative="", help=N_("All of them, however many wait or have ended."))
    ] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """List the jobs.

    Args:
        everything: not only the first of the line and the last that ended.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.assembly.queue_logs import folder, taken_bytes

    output = context.output(options)
    queue = _opened(options)
    whole = everything or output.json
    view = queue.read(most_waiting=None if whole else MOST_WAITING, most_ended=None if whole else MOST_ENDED, left=True)
    if output.json:
        body = document.head("queue.list", None)
        body["jobs"] = queue_document.jobs(view.jobs)
        body["logs"] = {"folder": str(folder(queue.data_dir)), "bytes": taken_bytes(queue.data_dir)}
        document.write(body | queue_document.view(view), output.out)
        return 0
    _show(output, view)
    if (taken := taken_bytes(queue.data_dir)) >= LOGS_BYTES:
        told = _("The logs of jobs take {taken}; what is no longer needed may be deleted from {folder}.")
        output.note(told.format(taken=numbers.value(taken, "bytes"), folder=folder(queue.data_dir)))
    return 0


def move(
    job: Annotated[str, Parameter(name="ID", help=N_("Which job."))],
    /,
    *,
    before: Annotated[str | None, Parameter(name="--before", metavar="ID", help=N_("Before this one."))] = None,
    behind: Annotated[str | None, Parameter(name="--behind", metavar="ID", help=N_("Behind this one."))] = None,
    first: Annotated[bool, Parameter(name="--first", negative="", help=N_("Before all."))] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Put a waiting job elsewhere in the line; it takes the priority of the one it is put beside.

    Args:
        job: which.
        before: before this one.
        behind: behind this one.
        first: before all.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    if sum((before is not None, behind is not None, first)) != 1:
        raise UsageError("queue_move_where", "one of --before, --behind and --first")
    queue = _opened(options)
    which = _one(job)
    queue.move(which, None if before is None else _one(before), after=None if behind is None else _one(behind))
    return _told(output, "queue.move", [queue.job(which)], _("Job {id} is moved."))


def cancel(
    job: Ids,
    /,
    *more: MoreIds,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Take jobs out of the line; end those that run.

    Args:
        job: which.
        more: further ones.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    queue = _opened(options)
    found = [queue.job(each) for each in job_ids((job, *more))]
    over = next((each for each in found if each.state in ENDED), None)
    if over is not None:
        raise UsageError("job_ended", f"job {over.id} has ended", job=over.id)
    done = [queue.cancel(each.id) for each in found]
    for each in done:
        output.line(_cancelled(each))
    if queue.runner() is None and any(each.reason is not None for each in done):
        output.note(_("Nobody serves the queue: gputuner --cli queue run"))
    return _told(output, "queue.cancel", done)


def retry(
    job: Ids,
    /,
    *more: MoreIds,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Put jobs that have ended back into the line.

    Args:
        job: which.
        more: further ones.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    queue = _opened(options)
    found = [queue.job(each) for each in job_ids((job, *more))]
    alive = next((each for each in found if each.state not in ENDED), None)
    if alive is not None:
        raise UsageError("job_not_ended", f"job {alive.id} has not ended", job=alive.id)
    return _told(output, "queue.retry", [queue.retry(each.id) for each in found], _("Job {id} waits again."))


def log(
    job: Annotated[str, Parameter(name="ID", help=N_("Which job."))],
    /,
    *,
    follow: Annotated[
        bool, Parameter(name="--follow", negative="", help=N_("Go on until the job has ended, or Ctrl-C."))
    ] = False,
    lines: Annotated[
        int | None,
        Parameter(name="--lines", metavar="N", help=N_("Only the last N lines."), converter=whole_number),
    ] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show what a job has written in its last start.

    Args:
        job: which.
        follow: go on until it has ended.
        lines: only so many of the last.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.assembly.queue_logs import cut_bytes

    output = context.output(options)
    check_range("--lines", lines, LINES, "")
    if follow and options.json:
        raise UsageError("options_exclude", "--follow and --json", first="--follow", second="--json")
    queue = _opened(options)
    which = _one(job)
    tail = queue.log(which, most_bytes=0)
    gone = 0 if tail.path is None else cut_bytes(tail.path)
    if output.json:
        body = document.head("queue.log", None)
        shown = _pieces(tail, lines, MOST_JSON_BYTES)
        found = {"jobs": queue_document.jobs([queue.job(which)]), "log": "".join(shown), "attempt": tail.attempt}
        sizes = {"log_bytes": tail.size_bytes, "log_cut_bytes": gone}
        document.write(body | found | sizes, output.out)
        return 0
    if tail.path is None and not follow:
        output.note(_("Job {id} has not started yet.").format(id=which))
    if gone and lines is None:
        told = _("The oldest {size} of the log of job {id} were cut away, as it grew beyond its limit.")
        output.note(told.format(size=numbers.value(gone, "bytes"), id=which))
    ended = "\n"
    for piece in _pieces(tail, lines):
        output.out.write(piece)
        ended = piece[-1:] or ended
    if follow:
        _follow(output, lambda: _at(queue.job(which)), tail.path, tail.size_bytes)
    elif ended != "\n":
        output.out.write("\n")
    return 0


COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("add", queue_add.add, queue_add.ABOUT),
    ("list", list_jobs, _LIST),
    ("run", queue_run.run, queue_run.ABOUT),
    ("move", move, _MOVE),
    ("cancel", cancel, _CANCEL),
    ("retry", retry, _RETRY),
    ("log", log, _LOG),
)
"""Name, function, one line of help."""
USAGE = {"add": "gputuner --cli queue add [OPTIONS] -- COMMAND [ARGS...]"}
_NEVER = ("--dry-run", "--replay", "--python")
_NOT_HERE = ("--gpu", "--share", "--memory-cap", "--minutes", "--simulate")
"""Common options without a use: to all commands of the queue, and to those that neither add nor serve."""
_GPU = N_("Cards by UUID, unique UUID prefix, PCI bus id or display index, with commas: no others; by default all.")


def help_of(name: str) -> dict[str, str | None]:
    """What ``--help`` of a command says of the common options; None: they have no use there."""
    own: dict[str, str | None]
    match name:
        case "add":
            own = {"--gpu": _GPU, "--minutes": queue_add.MINUTES_HELP, "--share": queue_add.SHARE_HELP}
        case "run":
            own = {"--gpu": _GPU, "--minutes": None, "--share": queue_run.SHARE_HELP}
        case _:
            own = dict.fromkeys(_NOT_HERE)
    return {"--memory-cap": None, **own, **dict.fromkeys(_NEVER)}


def _opened(options: Options) -> "Queue":
    """The queue of the data folder; nothing of the rest of the program is put together for it.

    Raises:
        GputunerError: an option makes no sense, or the data folder is no folder.
    """
    from gputuner.assembly.queue import open_queue
    from gputuner.settings.paths import paths

    options.check(experiment=False)
    folder = paths(options.data_dir).data_dir
    if folder.exists() and not folder.is_dir():
        raise StoreError("data_dir_no_folder", f"{folder} is not a folder", path=str(folder))
    return open_queue(folder)


def _pieces(tail: "LogTail", lines: int | None, most_bytes: int | None = None) -> Iterator[str]:
    from gputuner.assembly.queue_logs import pieces

    return iter(()) if tail.path is None else pieces(tail.path, tail.size_bytes, last=lines, most_bytes=most_bytes)


def _at(job: Job) -> tuple[Path | None, bool]:
    return (Path(job.log) if job.log else None), job.state in ENDED


def _follow(output: Output, look: Callable[[], tuple[Path | None, bool]], path: Path | None, seen: int) -> None:
    """Write what is added, until the job has ended; a new start begins a new log."""
    from gputuner.assembly.queue_logs import Follower

    log = None if path is None else Follower(path, seen)
    while True:
        now, ended = look()
        if now != path:
            path, log = now, None if now is None else Follower(now)
        for piece in () if log is None else log.pieces():
            output.out.write(piece)
            output.out.flush()
        if ended:
            return
        time.sleep(FOLLOW_S)


def _one(text: str) -> int:
    ids = job_ids((text,))
    if len(ids) != 1:
        raise UsageError("queue_one_id", f"{text} names several jobs", value=text)
    return ids[0]


def _told(output: Output, command: str, done: Sequence[Job], text: str = "") -> int:
    if output.json:
        body = document.head(command, None)
        body["jobs"] = queue_document.jobs(done)
        document.write(body, output.out)
    elif text:
        for job in done:
            output.line(text.format(id=job.id))
    return 0


def _show(output: Output, view: QueueView) -> None:
    if not view.jobs:
        output.line(_("No jobs. Add one: gputuner --cli queue add -- python train.py"))
        return
    names = {card.uuid: card for card in view.cards}
    headers = (_("job"), _("state"), _("command"), _("needs"), _("card"), _("since"), _("why"))
    rows = [_row(job, names) for job in view.jobs]
    output.table(headers, rows, right=(0,), wraps=(2, 3, 6), least=(3, 5))
    hidden = sum(view.counts.values()) - len(view.jobs)
    if hidden > 0:
        waiting = view.counts.get(JobState.WAITING, 0) - sum(job.state is JobState.WAITING for job in view.jobs)
        ended = hidden - waiting
        told = (
            ngettext("{count} more waits", "{count} more wait", waiting).format(count=waiting) if waiting else "",
            ngettext("{count} more has ended", "{count} more have ended", ended).format(count=ended) if ended else "",
        )
        output.line(_("{hidden}; --all shows them.").format(hidden=listed(told)))
    for card in view.cards:
        if card.paused is not None:
            output.warn(words.told(card.paused))
    for job, pids in view.left.items():
        told = _("Job {job} has ended, but processes of it live on: {pids}.")
        output.warn(told.format(job=job, pids=", ".join(map(str, pids))))
    unsettled = any(job.reason is not None for job in view.jobs if job.state in PLACED)
    if view.runner is None and (view.counts.get(JobState.WAITING) or view.counts.get(JobState.STARTING) or unsettled):
        output.note(_("Nobody serves the queue: gputuner --cli queue run"))


def _cancelled(job: Job) -> str:
    """What has become of a job that is to end."""
    if job.state is JobState.CANCELLED:
        return _("Job {id} is cancelled.").format(id=job.id)
    if job.reason is None:
        return _("Job {id} is asked to end.").format(id=job.id)
    return _("Job {id} is to end. {why}").format(id=job.id, why=words.reason(job))


def _row(job: Job, names: dict[str, QueueCard]) -> tuple[str, ...]:
    since = job.ended_unix_s or job.started_unix_s or job.waiting_since_unix_s
    cards = listed(_card(uuid, names) for uuid in job.cards)
    return (
        str(job.id),
        words.state(job.state),
        words.command(job),
        words.needs(job),
        cards or numbers.MISSING,
        _when(since),
        words.reason(job),
    )


def _card(uuid: str, names: dict[str, QueueCard]) -> str:
    if uuid == CPU_CARD:
        return _("processor")
    return str(names[uuid].index) if uuid in names else uuid


def _when(unix_s: float) -> str:
    at = datetime.fromtimestamp(unix_s).astimezone()
    same_day = at.date() == datetime.now().astimezone().date()
    return at.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M")
