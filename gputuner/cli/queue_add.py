"""``queue add``: put a command into the line."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gputuner.analysis.job_entry import indices, job_ids, seconds
from gputuner.analysis.told_command import readable
from gputuner.cli import document, queue_document
from gputuner.cli.context import Context, Injected
from gputuner.cli.options import GIB, Options, check_range, whole_number
from gputuner.cli.output import Output
from gputuner.language import jobs as words
from gputuner.language import sentences
from gputuner.language.words import N_, _
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.errors import DeviceError, UsageError
from gputuner.model.jobs import Job, Needs, NeedSource, OnReboot, QueueCard, Request

ABOUT = N_("Put a command into the line; it starts when a card has room for it.")
COMMAND = N_("What to run, after --: a program and its own options.")
MINUTES_HELP = N_("How many minutes it is expected to run; a shorter job may pass while another waits for room.")
SHARE_HELP = N_("It may stand beside jobs whose effect on it was never measured, if they may too.")
MEMORY_GIB = (0.0, 16384.0)
CARDS = (1, 64)
MINUTES = (0.01, 366 * 24 * 60.0)
PRIORITY = (-1000, 1000)
RETRIES = (0, 100)
Time = Annotated[str | None, Parameter(metavar="TIME")]


def add(
    *command: Annotated[str, Parameter(name="COMMAND", help=COMMAND, allow_leading_hyphen=True)],
    memory: Annotated[
        float | None,
        Parameter(
            name="--memory",
            metavar="GIB",
            help=N_(
                "Memory that it needs on each of its cards, in GiB. By default what earlier jobs of this command, or "
                "`watch`, were measured to need; where nothing was measured it gets a card to itself."
            ),
        ),
    ] = None,
    like: Annotated[
        str | None,
        Parameter(name="--like", metavar="SESSION", help=N_("It needs the memory that this session measured.")),
    ] = None,
    cards: Annotated[
        int, Parameter(name="--cards", metavar="N", help=N_("Cards that it needs at a time."), converter=whole_number)
    ] = 1,
    priority: Annotated[
        int,
        Parameter(
            name="--priority",
            metavar="N",
            help=N_("Higher ones go first; 0 by default."),
            converter=whole_number,
            allow_leading_hyphen=True,
        ),
    ] = 0,
    after: Annotated[
        tuple[str, ...],
        Parameter(name="--after", metavar="ID", negative="", help=N_("Start once this job is done: 3, 3,5 or 3-7.")),
    ] = (),
    retry: Annotated[
        int,
        Parameter(name="--retry", metavar="N", help=N_("Try again so often if it fails."), converter=whole_number),
    ] = 0,
    timeout: Annotated[
        str | None,
        Parameter(name="--timeout", metavar="TIME", help=N_("End it after so long: 90 (seconds), 30m, 2h, 1d.")),
    ] = None,
    start_within: Annotated[
        str | None,
        Parameter(name="--start-within", metavar="TIME", help=N_("Give it up if it has not started within so long.")),
    ] = None,
    name: Annotated[str, Parameter(name="--name", metavar="NAME", help=N_("What to call it."))] = "",
    on_reboot: Annotated[
        Literal["rerun", "stop"],
        Parameter(
            name="--on-reboot",
            metavar="rerun|stop",
            help=N_("What becomes of it if the machine goes down while it runs; stop by default."),
        ),
    ] = "stop",
    alone: Annotated[
        bool, Parameter(name="--alone", negative="", help=N_("No other job beside it on its cards."))
    ] = False,
    array: Annotated[
        str | None,
        Parameter(
            name="--array",
            metavar="1-10",
            help=N_(
                "One job for each index, balanced over the cards; {index} in the command and GPUTUNER_ARRAY_INDEX in "
                "its environment tell which."
            ),
        ),
    ] = None,
    workload: Annotated[
        str,
        Parameter(
            name="--workload",
            metavar="LABEL",
            help=N_("The name under which `contend` measured it, for what stands beside it; by default its script's."),
        ),
    ] = "",
    folder: Annotated[
        Path | None, Parameter(name="--folder", metavar="DIR", help=N_("Where it runs; by default here."))
    ] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Put a command into the line; --minutes tells how long it will run, --gpu on which cards it may, --share that it
    may stand beside jobs whose effect on it was never measured.

    Args:
        command: what to run.
        memory: need of memory on each card, GiB.
        like: a session that measured it.
        cards: cards at a time.
        priority: higher first.
        after: jobs that must be done first.
        retry: tries after a failure.
        timeout: the longest it may run.
        start_within: the longest it may wait.
        name: what to call it.
        on_reboot: ``rerun`` or ``stop``.
        alone: no neighbours.
        array: indices of an array.
        workload: its label in figures of ``contend``.
        folder: where it runs.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    _check(command, context)
    check_range("--memory", memory, MEMORY_GIB, "GiB")
    check_range("--minutes", options.minutes, MINUTES, "min")
    for option, value, bounds in (
        ("--cards", cards, CARDS),
        ("--priority", priority, PRIORITY),
        ("--retry", retry, RETRIES),
    ):
        check_range(option, value, bounds, "")
    if memory is not None and like is not None:
        raise UsageError("options_exclude", "--memory and --like", first="--memory", second="--like")
    if alone and options.share:
        raise UsageError("options_exclude", "--alone and --share", first="--alone", second="--share")
    where = (folder or Path.cwd()).absolute()
    if not where.is_dir():
        raise UsageError("command_folder", f"no folder {where}", path=str(where))
    needs = Needs(
        memory_bytes=None if memory is None else round(memory * GIB),
        source=NeedSource.UNKNOWN if memory is None else NeedSource.GIVEN,
        cards=cards,
        minutes=options.minutes,
        alone=alone,
        share=options.share,
        label=workload,
    )
    request = Request(
        command=command,
        folder=str(where),
        environment=dict(os.environ),
        needs=needs,
        name=name,
        priority=priority,
        after=job_ids(after),
        retries=retry,
        timeout_s=seconds("--timeout", timeout),
        start_within_s=seconds("--start-within", start_within),
        on_reboot=OnReboot(on_reboot),
        array=() if array is None else indices(array),
    )
    return _put(output, context, options, request, like)


def _put(output: Output, context: Context, options: Options, request: Request, like: str | None) -> int:
    from gputuner.assembly.queue import open_queue

    with context.setup(replace(options, minutes=None, share=False)) as setup:
        queue = open_queue(setup.data_dir)
        known: Sequence[CardInfo] | Sequence[QueueCard] = ()
        if options.gpu is None and not options.simulate:
            known = queue.known_cards()
        if not known:
            try:
                known = setup.select(options.gpu, for_experiment=False)
            except DeviceError as error:  # a driver in trouble is no reason not to make a list
                if options.gpu is not None:
                    raise
                output.warn(sentences.error(error))
        if options.gpu is not None:
            pinned = tuple(card.uuid for card in known)
            request = replace(request, needs=replace(request.needs, pinned=pinned))
        if like is not None:
            from gputuner.jobs.learning import from_session
            from gputuner.sessions.library import SessionLibrary

            request = replace(request, needs=from_session(request.needs, SessionLibrary(setup.data_dir), like))
        added = queue.add(request, known)
        on_cards = any(card.uuid != CPU_CARD for card in known)
        _tell(output, added, request, served=queue.runner() is not None, on_cards=on_cards)
    return 0


def _tell(output: Output, added: Sequence[Job], request: Request, *, served: bool, on_cards: bool) -> None:
    if output.json:
        body = document.head("queue.add", None)
        body["jobs"] = queue_document.jobs(added)
        document.write(body, output.out)
        return
    first = added[0]
    if len(added) == 1:
        output.line(_("Job {id} is added: {needs}.").format(id=first.id, needs=words.needs(first)))
    else:
        told = _("Jobs {first} to {last} are added, each: {needs}.")
        output.line(told.format(first=first.id, last=added[-1].id, needs=words.needs(first)))
    if first.needs.memory_bytes is None and on_cards:
        output.note(_("What it needs is not known, so it gets a card to itself; --memory, or a first run, tells."))
    if shutil.which(request.command[0], path=request.environment.get("PATH")) is None and not os.path.exists(
        Path(request.folder, request.command[0])
    ):
        output.warn(
            _("{program} is not found now; the job will fail unless it is there then.").format(
                program=readable(request.command[0])
            )
        )
    if not served:
        output.note(_("Nobody serves the queue yet: gputuner --cli queue run"))


def _check(command: tuple[str, ...], context: Context) -> None:
    if context.behind is not None and len(command) > context.behind:
        raise UsageError("queue_before_dashes", f"{command[0]} before --", what=readable(command[0]))
    if not command or not command[0]:
        raise UsageError("queue_no_command", "no command was given")
    if not context.dashes:
        raise UsageError("queue_no_dashes", "the command must stand after --", command=" ".join(command))
