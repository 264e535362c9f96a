"""Commands of the user's as jobs of a mix: how one is named, run, and what is said where it fails."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from gputuner.analysis.told_command import told_command
from gputuner.experiments.course import Course
from gputuner.experiments.failed_training import told_words
from gputuner.model.errors import UsageError, UserCodeError
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode, Step, StepResult, Trial, UserCodeFailed, Work

REASONS = ("command_failed", "command_ended", "command_not_started")
"""``UserCodeFailed.reason`` of a command."""
LEAST_STARTS = 3
"""Alone, beside the others, alone again."""
EDGES_S = 1.0
"""Its steps are told in lines of half a second, of which a window loses a part at both ends."""
SCRIPTS = (".py", ".sh", ".pyz")
SEPARATORS = "+:=,#"
"""Signs that have a meaning in the label of a mix."""
WARM_S = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandJob:
    """One command, as a job that can be run (``contention_measure.Runnable``)."""

    number: int
    """Its place among the commands, from 1."""
    name: str
    """As figures name it: the script's file, ``train.py``."""

    @property
    def label(self) -> str:
        """Tells it from others in a mix."""
        return self.name

    def params(self) -> dict[str, Scalar]:
        """What its figures say of it: nothing beside the name, since its settings are its own."""
        return {}

    def work(
        self, label: str, measure_s: float, *, warmup_s: float = WARM_S, fresh: bool = False, idle: int = 0
    ) -> Work:
        """One trial of it, which starts it anew and ends it, ``fresh`` or not: that is of the other jobs."""
        return Work(
            label=label,
            workload="command",
            params={"command": self.number},
            measure_s=measure_s + EDGES_S,
            budget_s=4.0 * measure_s + 20.0,
            fresh=fresh,
            warmup_s=warmup_s,
            runtime="command",
            idle=idle,
        )


def command_jobs(commands: Sequence[Sequence[str]]) -> tuple[CommandJob, ...]:
    """A job for each command; alike ones bear one name, others of the same script a number behind it."""
    names: dict[tuple[str, ...], str] = {}
    for argv in map(tuple, commands):
        if argv not in names:
            plain = _name(argv)
            same = sum(name.partition("#")[0] == plain for name in names.values())
            names[argv] = f"{plain}#{same + 1}" if same else plain
    return tuple(CommandJob(number=number, name=names[tuple(argv)]) for number, argv in enumerate(commands, 1))


def check_commands(commands: Sequence[Sequence[str]], modes: Sequence[Mode], *, mps_commands: bool) -> None:
    """Refuse what commands cannot do, or must be asked for.

    Raises:
        UsageError: an empty command; streams; MPS that was not asked for with its danger.
    """
    if any(not argv or not argv[0] for argv in commands):
        raise UsageError("contend_command_empty", "an empty command")
    if commands and "streams" in modes:
        raise UsageError("contend_command_streams", "a command is a process of its own")
    if commands and "mps" in modes and not mps_commands:
        raise UsageError("contend_command_mps", "a fault in one takes all down")


def tell_command(course: Course, name: str, result: UserCodeFailed, jobs: int) -> Generator[Step, StepResult, None]:
    """Say how a command came to its end by itself; alone, that ends the run.

    Raises:
        UserCodeError: it ran alone; with its last lines.
    """
    words, how = told_words(result.traceback).strip(), told_words(result.message)
    last = words.rpartition("\n")[2]
    if jobs > 1:
        yield from course.warn("command_ended_beside", command=name, how=how, last=last, jobs=jobs)
        return
    code = result.reason if result.reason in REASONS else "command_failed"
    raise UserCodeError(f"contend_{code}", f"{name}: {how}", command=name, how=how, where=words)


def tell_rate_unknown(course: Course, job: object, trial: Trial) -> Generator[Step, StepResult, None]:
    """Say of a command, once for a run by its name, that no step of it was seen."""
    if isinstance(job, CommandJob) and not trial.iteration_s:
        code = "command_steps_slow" if trial.too_slow else "command_rate_unknown"
        if course.first(f"rate {job.name}"):
            yield from course.warn(code, command=job.name)


def _name(argv: Sequence[str]) -> str:
    """The script of a command, or its program: ``python -u train.py --lr 1`` is ``train.py``."""
    words = told_command(argv)
    found = PurePosixPath(words[0]).name
    if found.startswith("python") and "-m" in words[1:-1]:
        found = words[words.index("-m") + 1]
    else:
        found = next((PurePosixPath(word).name for word in words if word.endswith(SCRIPTS)), found)
    return "".join("_" if sign in SEPARATORS or sign.isspace() else sign for sign in found)
