"""``contend``: several trainings on one card at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli.contention_commands import confirm, parse
from gputuner.cli.context import Injected
from gputuner.cli.experiment import in_turn, run
from gputuner.cli.options import Options, check_range
from gputuner.cli.output import Output
from gputuner.cli.planned import dry_run
from gputuner.cli.streams import last_words
from gputuner.language.words import N_, _
from gputuner.model.errors import ExitCode, UsageError
from gputuner.model.steps import Mode

if TYPE_CHECKING:
    from gputuner.experiments.contention import Contend

ABOUT = N_("Several trainings on one card at once: what each loses, whether it pays, and why.")
JOBS = N_(
    "Jobs, NAME[:key=value,...] with a built-in training (resnet50, bert, edsr, gpt, lstm, llm) or "
    "FILE.py:function[:key=value,...]; keys such as batch, precision, channels_last. One alone runs 2, 3, ... times at "
    "once until that no longer pays; several run as that mix. Without any: resnet50."
)
COUNT = N_("So many of the one job at once.")
MOST = N_("With one job: at most so many at once.")
MODE = N_(
    "Ways of sharing, with commas: processes (time slicing), mps, streams (of one process, with priorities); processes "
    "by default."
)
CAUSES = N_("Also find out what the jobs lose time at, with pressure probes.")
MATRIX = N_("All pairs of the jobs, each with itself too; predictions and causes.")
NULL = N_("Each job beside an idle partner: how often this machine shows a slowdown that is none.")
FIXED = N_("The batches cannot be changed: do not compare with each job alone at its best batch.")
SHARES = N_("With mode mps: per cent of the card's threads for each job, with commas; measured beside none.")
PRIORITY = N_("With mode streams: high or normal for each job, with commas; measured beside all alike.")
COMMAND = N_('A command of yours that runs beside the jobs, as in "python train.py"; repeat it for several.')
YES = N_("With --command: do not ask before your commands are started and ended several times.")
USERS_MPS = N_(
    "With mode mps: use the MPS daemon that you run already; it is neither started, stopped nor changed. By default a "
    "private one is started and ended."
)
UNDER_MPS = N_("With --command: the commands may run under MPS, where a fatal fault in one ends all.")
MINUTES, LONG_MINUTES = 4.0, 10.0
"""Time budgets: of a mix, and with probes or a matrix."""
AT_ONCE = (2.0, 32.0)
"""Jobs at once."""
STAND_IN = ("resnet50",)
PRIORITIES = {"high": -1, "normal": 0}


def contend(
    *jobs: Annotated[str, Parameter(name="JOB", help=JOBS)],
    count: Annotated[int | None, Parameter(name="--jobs", metavar="N", help=COUNT)] = None,
    mode: Annotated[str, Parameter(name="--mode", help=MODE)] = "processes",
    causes: Annotated[bool, Parameter(name="--causes", negative="", help=CAUSES)] = False,
    matrix: Annotated[bool, Parameter(name="--matrix", negative="", help=MATRIX)] = False,
    null: Annotated[bool, Parameter(name="--null", negative="", help=NULL)] = False,
    fixed_batch: Annotated[bool, Parameter(name="--fixed-batch", negative="", help=FIXED)] = False,
    max_jobs: Annotated[int, Parameter(name="--max-jobs", metavar="N", help=MOST)] = 8,
    shares: Annotated[str, Parameter(name="--thread-percentage", metavar="P,P", help=SHARES)] = "",
    priority: Annotated[str, Parameter(name="--priority", metavar="P,P", help=PRIORITY)] = "",
    command: Annotated[tuple[str, ...], Parameter(name="--command", negative="", help=COMMAND)] = (),
    mps_commands: Annotated[bool, Parameter(name="--mps-commands", negative="", help=UNDER_MPS)] = False,
    yes: Annotated[bool, Parameter(name="--yes", negative="", help=YES)] = False,
    users_mps: Annotated[bool, Parameter(name="--users-mps", negative="", help=USERS_MPS)] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Run jobs at once between solo runs, against three baselines.

    Args:
        jobs: trainings and recipes; none: a built-in one.
        count: so many of the one job.
        mode: ways of sharing, with commas.
        causes: find causes too.
        matrix: all pairs.
        null: an idle partner.
        fixed_batch: the batches are fixed.
        max_jobs: most at once of one job.
        shares: thread percentages under MPS.
        priority: stream priorities.
        command: the user's own.
        mps_commands: these may run under MPS.
        yes: do not ask.
        users_mps: the user's own MPS daemon is to serve.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: a job is malformed, or options do not go together.
    """
    from gputuner.experiments.contention import Contend

    options.check(experiment=True)
    check_range("--jobs", count, AT_ONCE, "")
    check_range("--max-jobs", max_jobs, AT_ONCE, "")
    modes = modes_of(mode)
    _check_together(matrix=matrix, null=null, count=count is not None, causes=causes)
    for option, given, other, there in (
        ("--yes", yes, "--command", bool(command)),
        ("--mps-commands", mps_commands, "--command", bool(command)),
        ("--users-mps", users_mps, "--mode mps", "mps" in modes),
    ):
        if given and not there:
            raise UsageError("option_needs", f"{option} without {other}", option=option, other=other)
    commands = parse(command)
    usual = LONG_MINUTES if causes or matrix else MINUTES
    spec = Contend(
        jobs=jobs or (() if commands else STAND_IN),
        count=count or 0,
        max_jobs=max_jobs,
        modes=modes,
        causes=causes or matrix,
        matrix=matrix,
        null=null,
        fixed_batch=fixed_batch,
        thread_percentages=percentages_of(shares),
        priorities=priorities_of(priority),
        commands=commands,
        mps_commands=mps_commands,
        users_mps=users_mps,
        folder=str(Path.cwd()),
        minutes=usual if options.minutes is None else options.minutes,
    )
    _check_files(spec)
    return _measure(context.output(options), context, options, spec, yes=yes)


def _measure(output: Output, context: Injected, options: Options, spec: "Contend", *, yes: bool) -> int:
    """Run on each chosen card in turn, show what was found; returns the exit code."""
    from gputuner.cli import contention_results

    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        if options.dry_run:
            if spec.recipe or spec.commands:
                output.note(_("Your training is not run: the steps are those that ResNet-50 would take."))
            return dry_run(output, setup, spec, cards, options)
        copies = bool(spec.count) or len(spec.jobs) + len(spec.commands) == 1
        if spec.commands and not confirm(output, spec.commands, spec.minutes, yes=yes, copies=copies):
            return int(ExitCode.INTERRUPTED)
        ended, code = in_turn(output, cards, lambda card: run(output, setup, spec, (card,), options))
        with last_words(output.out):
            contention_results.tell(output, setup.origin, spec, ended, options)
        return code


def modes_of(text: str) -> tuple[Mode, ...]:
    """Ways of sharing from a list with commas.

    Raises:
        UsageError: there is no such way.
    """
    from gputuner.experiments.contention import MODES

    named = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in named if part not in MODES]
    if unknown or not named:
        raise UsageError("contend_mode_unknown", "no such mode", mode=", ".join(unknown), known=", ".join(MODES))
    return tuple(dict.fromkeys(mode for part in named for mode in MODES if mode == part))


def percentages_of(text: str) -> tuple[int, ...]:
    """Thread percentages from a list with commas.

    Raises:
        UsageError: one is no whole number.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not (part.isascii() and part.isdigit()):
            raise UsageError("contend_percentage", f"no percentage: {part}", value=part)
    return tuple(int(part) for part in parts)


def priorities_of(text: str) -> tuple[int, ...]:
    """Stream priorities from a list with commas: 0 normal, −1 high.

    Raises:
        UsageError: one is neither high nor normal.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if part not in PRIORITIES:
            raise UsageError("contend_priority", f"no priority: {part}", value=part)
    return tuple(PRIORITIES[part] for part in parts)


def _check_together(*, matrix: bool, null: bool, count: bool, causes: bool) -> None:
    """Refuse options that do nothing together.

    Raises:
        UsageError: there are such.
    """
    for first, given, second, other in (
        ("--null", null, "--matrix", matrix),
        ("--null", null, "--causes", causes),
        ("--null", null, "--jobs", count),
        ("--matrix", matrix, "--jobs", count),
    ):
        if given and other:
            raise UsageError("options_exclude", "two questions", first=first, second=second)


def _check_files(spec: "Contend") -> None:
    """Refuse a recipe's file that is not there; a module is found by the worker alone.

    Raises:
        UsageError: there is no such file.
    """
    sources: Sequence[str] = [recipe.rpartition(":")[0] for recipe in spec.recipes]
    for source in sources:
        if source.endswith(".py") and not Path(source).expanduser().is_file():
            raise UsageError("contend_recipe_missing", f"no file {source}", path=source)
