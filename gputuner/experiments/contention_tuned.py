"""The second baseline: each job alone at its own best batch, measured by a short climb or taken from a session."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from gputuner.advice.evidence import Evidence
from gputuner.analysis.throughput import fastest_batch
from gputuner.analysis.trials import between_trials
from gputuner.experiments.contention_jobs import Job
from gputuner.experiments.contention_measure import Lab
from gputuner.experiments.contention_points import Tuned
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.trained import Setting, Trained, probe, probe_cost
from gputuner.experiments.tune_shape import Shape, full_shape
from gputuner.experiments.tune_training import ladder, skipped
from gputuner.model.cards import CardInfo
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult
from gputuner.workloads.specs import Precision

TRAIN_S = {True: 2.5, False: 1.5}
"""To measure at each batch of the climb, on a processor (True) and on a card."""
RUNGS = 8
"""Doublings of the batch, at most; on a processor fewer."""
RUNGS_CPU = 3
LEAST_S = 8.0
"""With less time the climb is left out."""
HALVINGS = 2
"""Smaller batches that are tried at most where no larger one is faster."""
TWO_SIDED = 1.96
FREE = ("batch", "precision", "channels_last")
"""Params of a stored rate that its best setting may choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedRate:
    """The best rate of a training alone, from a stored session of the same card."""

    workload: str
    params: dict[str, Scalar]
    """Of its figure: batch and number format among them."""
    rate: float
    """Samples/s."""
    session: str
    driver: str = ""
    torch: str = ""
    """With which versions; empty: not known."""

    def holds(self, job: Job, context: PlanContext) -> bool:
        """Whether it is of the same training, driver and torch; the number format is the job's own."""
        own = {name: value for name, value in job.params().items() if name not in FREE}
        its = {name: value for name, value in self.params.items() if name in own}
        torch = context.torch.version if context.torch is not None else ""
        driver = context.card.readings.get("driver")
        return (
            self.workload == job.name
            and its == own
            and self.params.get("precision") == job.precision
            and self.torch in ("", torch)
            and self.driver in ("", str(driver.value) if driver is not None else "")
        )


def tuned_rates(
    points: Sequence[Point], card: CardInfo, session: str, driver: str = "", torch: str = ""
) -> tuple[TunedRate, ...]:
    """The best rate of each training and number format that a session measured on ``card``, alone and settled."""
    evidence = Evidence(card=card, points=tuple(point for point in points if point.card == card.uuid))
    found: list[TunedRate] = []
    for workload in evidence.workloads():
        for rates in evidence.training_rates(workload).values():
            clean = {batch: point for batch, point in rates.items() if Flag.SHARED not in point.flags}
            if len(clean) < 2:  # one batch says nothing of which is best
                continue
            best = clean[fastest_batch({batch: point.value for batch, point in clean.items()})]
            found.append(
                TunedRate(
                    workload=workload, params=best.params, rate=best.value, session=session, driver=driver, torch=torch
                )
            )
    return tuple(found)


def tuned_jobs(
    lab: Lab, jobs: Sequence[Job], stored: Sequence[TunedRate], keep_s: float
) -> Generator[Step, StepResult, None]:
    """Find for each job what it does alone at its best batch; ``keep_s`` of the time stays for what comes after.

    Of a batch that a stored session knows the rate is measured again, unless the time is short: then the stored rate
    holds, and is told to be that session's. A job whose time is short has none: nothing is advised of it then.
    """
    course = lab.course
    for job in {each.label: each for each in jobs}.values():
        found = _stored(lab, job, stored)
        if found is not None and found.batch != job.batch:
            found = (yield from _again(lab, job, found.batch, keep_s)) or found
        if found is None:
            if not course.fits(LEAST_S, keep_s):
                yield from skipped(course, "contend_tuned", LEAST_S, keep_s)
                continue
            found = yield from _climbed(lab, job, keep_s)
        if found is not None:
            lab.known.tuned[job.label] = found


def _stored(lab: Lab, job: Job, stored: Sequence[TunedRate]) -> Tuned | None:
    alone = lab.known.rate(job.label, "processes")
    fitting = [each for each in stored if each.holds(job, lab.course.context)]
    if not fitting or not alone:
        return None
    best = max(fitting, key=lambda each: each.rate)
    batch = best.params.get("batch", job.batch)
    ratio = best.rate / alone
    if ratio < 1.0:
        return Tuned(batch=job.batch, ratio=1.0, by=f"session {best.session}")
    return Tuned(batch=int(batch), ratio=ratio, by=f"session {best.session}", apart=_apart(lab))


def _apart(lab: Lab) -> float:
    """How far a ratio of two trials' rates may be off (relative, 95 %), by what trials of the same work differ."""
    return TWO_SIDED * sqrt(2.0) * between_trials(lab.course.points)


def _again(lab: Lab, job: Job, batch: int, keep_s: float) -> Generator[Step, StepResult, Tuned | None]:
    """The rate at a batch that another session found best, as it is now; None: no time, or it cannot be had."""
    course, known, alone = lab.course, Trained(), lab.known.rate(job.label, "processes")
    setting = Setting(precision=job.precision, channels_last=job.channels_last)
    if not alone or not course.fits(LEAST_S, keep_s):
        return None
    yield from probe(course, _shape(course.context, job), known, setting, batch)
    rate = known.rates.get(setting, {}).get(batch)
    if rate is None:
        return None
    if rate <= alone:
        return Tuned(batch=job.batch, ratio=1.0, by="measured")
    return Tuned(batch=batch, ratio=rate / alone, by="measured", apart=_apart(lab))


def _climbed(lab: Lab, job: Job, keep_s: float) -> Generator[Step, StepResult, Tuned | None]:
    """Doublings of the batch from the job's own on, until they gain little, memory ends or the time does.

    Where none is faster, a halving or two.
    """
    course, known = lab.course, Trained()
    setting = Setting(precision=job.precision, channels_last=job.channels_last)
    shape = _shape(course.context, job)
    yield from ladder(course, shape, known, setting, keep_s, 0)
    yield from _down(lab, shape, known, setting, keep_s)
    rates = known.rates.get(setting, {})
    own = rates.get(job.batch)
    if own is None or own <= 0:
        return None
    batch = fastest_batch(rates)
    apart = 0.0 if batch == job.batch else _apart(lab)
    return Tuned(batch=batch, ratio=max(1.0, rates[batch] / own), by="measured", apart=apart)


def _down(lab: Lab, shape: Shape, known: Trained, setting: Setting, keep_s: float) -> Generator[Step, StepResult, None]:
    """Smaller batches while the smallest so far is the fastest."""
    for _ in range(HALVINGS):
        rates = known.rates.get(setting, {})
        if not rates or fastest_batch(rates) != min(rates) or min(rates) < 4:  # of 1 sample batch norm learns nothing
            return
        batch = min(rates) // 2
        if not lab.course.fits(probe_cost(shape, known, setting, batch), keep_s):
            return
        if not isinstance((yield from probe(lab.course, shape, known, setting, batch)), Done):
            return


def _shape(context: PlanContext, job: Job) -> Shape:
    """The climb's: from the job's batch on."""
    rungs = RUNGS_CPU if context.card.is_cpu else RUNGS
    trainings: tuple[Precision, ...] = (job.precision,)
    return replace(
        full_shape(context),
        subject=job.subject,
        trainings=trainings,
        first_batch=job.batch,
        last_batch=min(job.batch << rungs, 1 << 20),
        train_s=TRAIN_S[context.card.is_cpu],
        warmup_s=1.5,
    )
