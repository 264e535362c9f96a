"""Several trainings on one card: does it pay, what do they lose, and beside what.

A mix of jobs runs at once between solo runs with as many processes alive; only steps wholly inside the common window
count. Rounds are added in new processes while the time allows. Against one after the other a gain says little: each
job alone at its own best batch is the baseline that counts (methods §6).
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import ClassVar, get_args

from gputuner.analysis.contention_pressure import Pressures
from gputuner.analysis.told_command import told_command, told_line
from gputuner.experiments.advised import advised
from gputuner.experiments.batch import refuse_nothing
from gputuner.experiments.contention_causes import causes
from gputuner.experiments.contention_commands import check_commands, command_jobs
from gputuner.experiments.contention_jobs import AskedJob, Job, parse_job
from gputuner.experiments.contention_matrix import matrix, matrix_cost
from gputuner.experiments.contention_measure import Lab, Runnable
from gputuner.experiments.contention_null import null_rounds
from gputuner.experiments.contention_pace import pace_for
from gputuner.experiments.contention_points import Shared, way_of
from gputuner.experiments.contention_pressure import sensitivities, sensitivities_cost
from gputuner.experiments.contention_sweep import Sweep
from gputuner.experiments.contention_tuned import TunedRate, tuned_jobs
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.tune_shape import SHORT_S, full_shape
from gputuner.model.errors import UsageError
from gputuner.model.steps import Mode, Plan, Step, StepResult, told_job
from gputuner.workloads.specs import check_range

MODES: tuple[Mode, ...] = get_args(Mode)
MOST_JOBS = 32
MOST_AT_ONCE = 8
"""Of one job, where no number is said."""
EXCLUSIVE = ("exclusive_process", "exclusive_thread")
"""Compute modes in which a second process gets no context."""
GUESSED_SIZES = 4
"""So many jobs at once are expected where the way up ends by itself."""
MATRIX_SHARE = 0.75
"""Of the time, kept for pairs and probes while the best batches are looked for."""
COPIES = 2
"""Of one command alone, where no number is said."""
TUNED_S = 30.0
"""A climb to the tuned batch."""
ONE_PROCESS: tuple[Mode, ...] = ("mps", "streams")
"""Modes in which the card sees one process, however many jobs there are."""


def told_option(argv: tuple[str, ...]) -> str:
    """A command as sessions may tell it; where that leaves something out it is to be read, not to be run."""
    return f"--command {quote(told_line(told_command(argv)))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contend:
    """Run several trainings on one card at once: slowdowns, gain against three baselines, and what to do."""

    name: ClassVar[str] = "contend"
    needs_worker: ClassVar[bool] = True

    jobs: tuple[str, ...] = ("resnet50",)
    """``name[:key=value,…]`` of built-in trainings, or ``FILE.py:function[:key=value,…]``; one alone: 1 … max at once.
    """
    count: int = 0
    """So many of the one job at once; 0: from two on until the gain stops or memory ends."""
    max_jobs: int = MOST_AT_ONCE
    """Most jobs at once."""
    modes: tuple[Mode, ...] = ("processes",)
    """Ways of sharing: time slicing between processes, MPS, streams of one process."""
    causes: bool = False
    """Find out by pressure probes what the jobs lose time at."""
    matrix: bool = False
    """All pairs of the jobs, each with itself too."""
    null: bool = False
    """An idle partner in place of the other jobs (not in streams): how often a difference is seen that is none."""
    fixed_batch: bool = False
    """The batches cannot be changed: the baseline of tuned batches is left out."""
    thread_percentages: tuple[int, ...] = ()
    """MPS: share of the card's threads for each job, per cent."""
    priorities: tuple[int, ...] = ()
    """Streams: priority of each job, 0 normal, −1 high."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Commands of the user's that run beside the jobs, the words of each; sessions tell them without folders."""
    mps_commands: bool = False
    """The commands may run under MPS, though one fault there takes all down."""
    users_mps: bool = False
    """Mode MPS: the jobs become clients of the user's own running daemon."""
    folder: str = "."
    """What relative paths and modules of recipes are looked for in."""
    tuned: tuple[TunedRate, ...] = ()
    """Best rates alone from stored sessions of the same card."""
    minutes: float = 4.0
    """Time budget, minutes."""
    seed: int = 0
    """Seed of the inputs."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a job is malformed, a value out of range, or two questions are asked at once.
        """
        check_minutes(self.minutes)
        asked, many = self.asked(), len(self.jobs) + len(self.commands)
        if not many:
            raise UsageError("contend_no_job", "no job")
        check_commands(self.commands, self.modes, mps_commands=self.mps_commands)
        check_range("max_jobs", self.max_jobs, 2, MOST_JOBS)
        check_range("jobs", many, 1, MOST_JOBS)
        if self.count:
            check_range("jobs", self.count, 2, MOST_JOBS)
            if many > 1:
                raise UsageError("contend_count_of_mix", "a number of jobs goes with one job")
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown or not self.modes:
            raise UsageError("contend_mode_unknown", "no such mode", mode=", ".join(unknown), known=", ".join(MODES))
        distinct = {(job.name, job.recipe, *sorted(job.settings.items())) for job in asked}
        if self.matrix and len(distinct) + len(set(self.commands)) < 2:
            raise UsageError("contend_matrix_of_one", "a matrix needs two jobs")
        if self.null and "streams" in self.modes:
            raise UsageError("contend_null_streams", "streams have no idle partner")
        self._check_shares(many)

    def _check_shares(self, jobs: int) -> None:
        """Refuse percentages and priorities that do not go with the jobs or modes."""
        for option, mode, values, low, high in (
            ("thread_percentages", "mps", self.thread_percentages, 1, 100),
            ("priorities", "streams", self.priorities, -1, 0),
        ):
            for value in values:
                check_range(option, value, low, high)
            wanted = self.count or jobs
            if values and len(values) not in {1, wanted}:
                raise UsageError(
                    "contend_shares", f"{option}: {len(values)}", name=option, value=len(values), jobs=wanted
                )
            if values and mode not in self.modes:
                raise UsageError("contend_shares_mode", f"{option} needs {mode}", name=option, mode=mode)

    def asked(self) -> tuple[AskedJob, ...]:
        """The jobs as they were written.

        Raises:
            UsageError: one is malformed.
        """
        return tuple(parse_job(text) for text in self.jobs)

    @property
    def recipes(self) -> tuple[str, ...]:
        """The users' own trainings among them."""
        return tuple(job.recipe for job in self.asked() if job.recipe)

    @property
    def recipe(self) -> str:
        """The first of these; empty: all are built-in."""
        return next(iter(self.recipes), "")

    @property
    def workload(self) -> str:
        """The first built-in training; empty: all are the user's own."""
        return next((job.name for job in self.asked() if job.name), "")

    def rehearsed(self, stand_in: str) -> "Contend":
        """The same with a built-in training in place of each recipe and command, which a rehearsal does not run."""
        texts = tuple(stand_in if asked.recipe else text for asked, text in zip(self.asked(), self.jobs, strict=True))
        return replace(self, jobs=(*texts, *(stand_in,) * len(self.commands)), commands=(), mps_commands=False)

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: the mix between solo runs, the tuned baseline, further rounds, causes, advice."""
        pace = pace_for(context)
        course = Course(context, pace.start_s, hurried=context.budget_s < SHORT_S)
        lab = Lab(course, pace, self.seed)
        lab.known.fixed_batch = self.fixed_batch
        built = tuple(asked.on(context, self.folder) for asked in self.asked())
        ran, jobs = self, (*built, *command_jobs(self.commands))
        with suppress(RunEnds):
            yield from self._measured(lab, jobs)
            if lab.refused.issuperset(self.modes):  # as the engine has told of each
                ran = self._as_processes()
                yield from ran._measured(lab, jobs)
        if built:
            refuse_nothing(course, replace(full_shape(context), subject=built[0].subject), batch=built[0].batch)
        yield advised(course, command=ran.command())

    def _as_processes(self) -> "Contend":
        """The same where no way of sharing that was asked for can be had."""
        return replace(
            self, modes=("processes",), thread_percentages=(), priorities=(), mps_commands=False, users_mps=False
        )

    def _measured(self, lab: Lab, jobs: tuple[Runnable, ...]) -> Plan:
        course = lab.course
        modes = yield from self._modes(course)
        if not modes:
            yield from lab.alone(jobs[0], "processes", idle=0)
            return
        yield from course.total(*self._expected(lab, jobs, modes), known=False)
        if self.null:
            yield from null_rounds(lab, jobs, modes)
            return
        if self.matrix:
            yield from self._tuned(lab, jobs, MATRIX_SHARE * course.left_s)
            for mode in modes:
                yield from matrix(lab, jobs, mode)
            return
        shared = Shared(thread_percentages=self.thread_percentages, priorities=self.priorities)
        sweep = Sweep(lab, modes, shared)
        count = self.count or (COPIES if self.commands else 0)
        if len(jobs) == 1 and not count:
            yield from sweep.up(jobs[0], self.max_jobs, 0.0 if self.fixed_batch else TUNED_S)
        else:
            yield from sweep.mix(jobs * count if len(jobs) == 1 else jobs)
        if not sweep.planned:
            return
        again_s = sum(lab.round_s(each.jobs, fresh=True) for each in sweep.best())
        yield from self._tuned(lab, jobs, again_s)
        for each in sweep.planned:
            yield from lab.tell_mix(each.jobs, way_of(each.mode, each.shared))
        ways: list[Mode] = [mode for mode in modes if any(each.mode == mode for each in sweep.planned)]
        if not self.causes:
            yield from course.total(sweep.steps_left(), min(sweep.left_s(), max(0.0, course.left_s)), known=False)
            yield from sweep.again()
        found = (yield from self._pressures(lab, jobs, ways, sweep)) if self.causes else {}
        for mode in ways:  # last, so that they explain the figures of all rounds
            yield from causes(lab, mode, found.get(mode))

    def _pressures(
        self, lab: Lab, jobs: tuple[Runnable, ...], ways: list[Mode], sweep: Sweep
    ) -> Generator[Step, StepResult, dict[Mode, Pressures]]:
        """The jobs beside probes, then further rounds; where the run ends meanwhile, what is known by then."""
        found: dict[Mode, Pressures] = {}
        with suppress(RunEnds):
            for mode in ways:
                if (pressures := (yield from sensitivities(lab, jobs, mode))) is not None:
                    found[mode] = pressures
            yield from sweep.again()
        return found

    def _tuned(self, lab: Lab, jobs: tuple[Runnable, ...], keep_s: float) -> Plan:
        """The second baseline, where the batches may change and all jobs have one."""
        trainings = tuple(job for job in jobs if isinstance(job, Job))
        if not self.fixed_batch and len(trainings) == len(jobs):
            yield from tuned_jobs(lab, trainings, self.tuned, keep_s)

    def _modes(self, course: Course) -> Generator[Step, StepResult, tuple[Mode, ...]]:
        """The modes that the card's compute mode lets be; says which it does not."""
        told = course.context.card.readings.get("compute_mode")
        if told is None or told.value not in EXCLUSIVE:
            return self.modes
        yield from course.warn("contend_exclusive", mode=str(told.value).replace("_", " "), jobs=1)
        return tuple(mode for mode in self.modes if mode in ONE_PROCESS)

    def _expected(self, lab: Lab, jobs: tuple[Runnable, ...], modes: tuple[Mode, ...]) -> tuple[int, float]:
        """Steps and seconds of it all before anything is known."""
        distinct = len({job.label for job in jobs})
        tuned_s = 0.0 if self.fixed_batch else distinct * TUNED_S
        if self.matrix:
            steps, seconds = zip(*(matrix_cost(lab, distinct, mode) for mode in modes), strict=True)
            return sum(steps), min(lab.pace.start_s + tuned_s + sum(seconds), lab.course.context.budget_s)
        sizes = range(2, min(self.max_jobs, GUESSED_SIZES) + 1)
        mixes = [jobs * (self.count or 1)] if len(jobs) > 1 or self.count else [jobs * size for size in sizes]
        rounds = len(modes) * lab.pace.rounds
        seconds = lab.pace.start_s + rounds * sum(lab.round_s(mix, fresh=True) for mix in mixes)
        steps = distinct + rounds * len(mixes) * (distinct + 1)
        probes = [sensitivities_cost(lab, distinct, mode) for mode in modes] if self.causes else []
        steps, seconds = steps + sum(each[0] for each in probes), seconds + tuned_s + sum(each[1] for each in probes)
        return steps, min(seconds, lab.course.context.budget_s)

    def command(self) -> str:
        """What runs it again, without minutes and card."""
        told = [quote(told_job(text, self.folder)) for text in self.jobs]
        words = ["contend", *told, *map(told_option, self.commands)]
        words += [f"--jobs {self.count}"] if self.count else []
        words += [f"--max-jobs {self.max_jobs}"] if self.max_jobs != MOST_AT_ONCE else []
        words += [f"--mode {','.join(self.modes)}"] if self.modes != ("processes",) else []
        shared = Shared(thread_percentages=self.thread_percentages, priorities=self.priorities)
        words += [f"{option} {told}" for option, told in shared.options() if told]
        flags = {
            "--matrix": self.matrix,
            "--causes": self.causes and not self.matrix,
            "--null": self.null,
            "--fixed-batch": self.fixed_batch,
            "--mps-commands": self.mps_commands,
            "--users-mps": self.users_mps,
        }
        words += [option for option, given in flags.items() if given]
        return " ".join(words)
