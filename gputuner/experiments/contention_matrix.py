"""All pairs of some jobs, each with itself too; what probes predict for them, beside what was measured.

The pairs run in an order in which one follows another that shares a job with it, so that solo after the one is solo
before the other. Four jobs take less than ten minutes on a card: 10 pairs with solo between them about 200 s, probes
alone and beside each other 100 s, beside the jobs 150 s, and the start of the processes.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from statistics import fmean

from gputuner.analysis.contention_held_out import (
    HeldOut,
    Model,
    additive,
    constant,
    equal_sharing,
    from_pressures,
    from_probes_alone,
    held_out,
)
from gputuner.analysis.contention_prediction import Seen
from gputuner.analysis.contention_pressure import Pressures
from gputuner.analysis.contention_stored import PREDICTED
from gputuner.experiments.contention_activity import activities, activity_cost
from gputuner.experiments.contention_causes import causes
from gputuner.experiments.contention_measure import Lab, Runnable
from gputuner.experiments.contention_pressure import END_S, sensitivities, sensitivities_cost
from gputuner.experiments.tune_training import skipped
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode, Step, StepResult

PAIR_MEASURE_S = 3.0
"""To measure in one trial of a pair; energy, which needs 5 s, is not told of pairs."""
COUNTERS_FROM = 9.0
"""Compute capability of the first cards with activity counters (GPM)."""
COUNTED_PAIRS = 2
FOR_PROBES = 0.8
"""Share of the time that is kept for probes where it is short: what they tell predicts the pairs that did not run."""
Pair = tuple[Runnable, Runnable]


def pairs_in_order(jobs: Sequence[Runnable]) -> list[Pair]:
    """All pairs, each next one sharing as many jobs with the last as it can."""
    left = list(combinations_with_replacement(jobs, 2))
    ordered: list[Pair] = []
    last: set[str] = set()
    while left:
        pair = max(left, key=lambda each: len({job.label for job in each} & last) / len({job.label for job in each}))
        left.remove(pair)
        ordered.append(pair)
        last = {job.label for job in pair}
    return ordered


def _quick(lab: Lab) -> Lab:
    """The same laboratory at the pace of a matrix; what it measures is known to both."""
    quick = Lab(lab.course, replace(lab.pace, measure_s=min(lab.pace.measure_s, PAIR_MEASURE_S)), lab.seed)
    quick.known, quick.refused = lab.known, lab.refused
    return quick


def matrix_cost(lab: Lab, jobs: int, mode: Mode) -> tuple[int, float]:
    """Steps and seconds of a whole matrix of so many jobs, before anything of them is known."""
    quick = _quick(lab)
    pairs = jobs * (jobs + 1) // 2
    step_s = 0.05
    trials = jobs * 2 + (pairs - jobs) * 3 + jobs
    pairs_s = trials * quick.pace.trial_s(step_s) + pairs * step_s + quick.pace.restart_s
    steps, probes_s = sensitivities_cost(quick, jobs, mode)
    return trials + steps, pairs_s + probes_s


def matrix(lab: Lab, jobs: Sequence[Runnable], mode: Mode) -> Generator[Step, StepResult, Pressures | None]:
    """Pairs, probes, causes and predictions, as far as the time allows; of pairs that did not run predictions alone."""
    quick = _quick(lab)
    distinct = list({job.label: job for job in jobs}.values())
    _, probes_s = sensitivities_cost(quick, len(distinct), mode)
    keep_s = END_S + min(probes_s, FOR_PROBES * quick.course.left_s)
    left = yield from _pairs(quick, pairs_in_order(distinct), mode, keep_s)
    if mode in quick.refused:
        return None
    found = yield from sensitivities(quick, distinct, mode)
    left = yield from _pairs(quick, left, mode, END_S)  # probes seldom take all that was kept for them
    if left:
        yield from skipped(quick.course, "contend_pairs", sum(quick.round_s(p, fresh=False) for p in left), END_S)
    yield from causes(quick, mode, found)
    if found is not None:
        yield from predictions(quick, distinct, mode, found)
    yield from _counted(quick, distinct, mode)
    return found


def _pairs(lab: Lab, pairs: Sequence[Pair], mode: Mode, keep_s: float) -> Generator[Step, StepResult, Sequence[Pair]]:
    """Run pairs as long as ``keep_s`` seconds stay; those that did not run."""
    for number, pair in enumerate(pairs):
        if mode in lab.refused or not lab.course.fits(lab.round_s(pair, fresh=False), keep_s):
            return pairs[number:]
        yield from lab.round(pair, mode, ahead=2, last=number + 1 == len(pairs))
    return ()


def _counted(lab: Lab, jobs: Sequence[Runnable], mode: Mode) -> Generator[Step, StepResult, None]:
    """The card's own counters in the pairs that lose most, where it has such and time is left."""
    capability = lab.course.context.card.compute_capability or "0"
    if float(capability) < COUNTERS_FROM:
        return
    by_label = {job.label: job for job in jobs}
    worst = sorted(_seen(lab, mode), key=lambda seen: -seen[2])
    labels = list(dict.fromkeys(tuple(sorted(seen[:2])) for seen in worst))[:COUNTED_PAIRS]
    pairs = [(by_label[first], by_label[second]) for first, second in labels]
    trials = len({label for pair in labels for label in pair}) + len(pairs)
    if pairs and lab.course.fits(activity_cost(lab, trials), END_S):
        yield from activities(lab, pairs, mode)


def predictions(lab: Lab, jobs: Sequence[Runnable], mode: Mode, found: Pressures) -> Generator[Step, StepResult, None]:
    """Every pair of ``jobs`` as probes predict it: measured ones without a workload's pairs, the others from all."""
    seen = _seen(lab, mode)
    probed = set(found.jobs)
    able = [entry for entry in seen if set(entry[:2]) <= probed]
    for name, model in _models(lab, mode, found, able).items():
        for told, place in zip(held_out(able, model), _places(able), strict=True):
            yield from lab.course.tell(_measured(lab, mode, name, told, place))
    ran = {entry[:2] for entry in seen}
    model = from_pressures(found)
    for pair in combinations_with_replacement([job for job in jobs if job.label in probed], 2):
        if (pair[0].label, pair[1].label) in ran or (pair[1].label, pair[0].label) in ran:
            continue
        for place in (0, 1):
            labels = pair[place].label, pair[1 - place].label
            value = model(able, labels)
            yield from lab.course.tell(_unmeasured(lab, mode, pair, place, value))


def _models(lab: Lab, mode: Mode, found: Pressures, seen: Sequence[Seen]) -> dict[str, Model]:
    """The probes' model, and beside it those that it must beat, where they know enough to be tried."""
    models = {"pressure": from_pressures(found), "probes_alone": from_probes_alone(found)}
    if len({label.partition(":")[0] for entry in seen for label in entry[:2]}) > 2:
        models |= {"constant": constant, "additive": additive}
    busy = {label: use for label in found.jobs if (use := _busy(lab, label, mode)) is not None}
    if len(busy) == len(found.jobs):
        models["equal_sharing"] = equal_sharing(busy)
    return models


def _busy(lab: Lab, label: str, mode: Mode) -> float | None:
    """Share of the time in which the card works for a job alone, as NVML counts it."""
    of = lab.known.conditions(label, mode)
    return of.gpu_utilisation if of is not None else None


def _seen(lab: Lab, mode: Mode) -> list[Seen]:
    """Slowdowns of the valid pairs that ran, both jobs of each."""
    told: list[Seen] = []
    for (_, way), rounds in lab.known.rounds.items():
        valid = [each.found for each in rounds if each.found is not None and each.found.valid]
        jobs = rounds[-1].jobs
        if way != mode or len(jobs) != 2 or not valid or any(len(each.jobs) != 2 for each in valid):
            continue
        for place in (0, 1):
            slowdown = fmean(each.slowdowns[place] for each in valid)
            told.append((jobs[place].label, jobs[1 - place].label, slowdown))
    return told


def _places(seen: Sequence[Seen]) -> list[int]:
    """Which job of its pair each is: both of a pair follow each other."""
    return [index % 2 for index in range(len(seen))]


def _measured(lab: Lab, mode: Mode, model: str, told: HeldOut, place: int) -> Point:
    labels = (told.job, told.partner) if place == 0 else (told.partner, told.job)
    params: dict[str, Scalar] = {
        "mix": "+".join(labels), "mode": mode, "job": place + 1, "job_label": told.job, "model": model
    }  # fmt: skip
    extra: dict[str, Scalar] = {
        "measured": told.measured,
        "relative_error": told.relative_error,
        "held_out": told.held_out,
    }
    return lab.course.make.figure(
        PREDICTED, told.job.partition(":")[0], told.predicted, "", params, flags=[Flag.EXTRAPOLATED], extra=extra
    )


def _unmeasured(lab: Lab, mode: Mode, pair: Pair, place: int, value: float) -> Point:
    params: dict[str, Scalar] = {
        "mix": "+".join(job.label for job in pair), "mode": mode, "job": place + 1, "job_label": pair[place].label,
        "model": "pressure",
    }  # fmt: skip
    return lab.course.make.figure(PREDICTED, pair[place].name, value, "", params, flags=[Flag.EXTRAPOLATED])
