"""The search for a loader's setting: processes up to the knee, then the other switches one at a time.

The user's setting of today comes first and last, the advised one in between (A … B … B A), so that what warms up or
fills up on the way (files that lie in memory by then) is not taken for a gain. A switch that looks better in one trial
is tried once more in turn with what it is compared with, and kept only where the trials together show a gain.
"""

from collections.abc import Generator
from dataclasses import replace

from gputuner.analysis.interleaved import compared_points
from gputuner.analysis.loading import at_knee, chosen, enough, epoch_saving, pooled, refined
from gputuner.experiments.course import Course
from gputuner.experiments.loading_measure import Loaded, Steps, gap, supply
from gputuner.model.points import Flag
from gputuner.model.steps import Step, StepResult
from gputuner.workloads.bodies.loader_room import SHARED_MEMORY, candidates, refusal
from gputuner.workloads.specs_loading import LoaderSetting

BETTER = 0.02
"""A switch is kept if the training gains at least this, beyond what trials differ by."""
WORTH_OF_EPOCH = 0.005
"""Processes are kept from epoch to epoch if that saves this share of an epoch."""
REFINE_AT_MOST = 2
CACHED_FROM = 0.1
"""The same setting feeds so much more at the end: what it reads lies in memory by then."""
SPREAD = frozenset({Flag.SPREAD, Flag.DRIFT})
"""Figures with these scatter too much to tell."""
KEPT_BACK = 6
"""Measurements that come after the number of processes: switches, and two settings once more."""
OVER_CORES = 4
"""The user's own setting, and processes that hardly compute, may be so many times as many as the cores."""
SWEEP, SWITCH, AGAIN = ("loading_supply", "workers"), ("loading_switch", "switch"), ("loading_again", "again")
"""Label and phase of the numbers of processes, of the other switches, of what was measured before."""


def search(course: Course, known: Loaded) -> Generator[Step, StepResult, LoaderSetting | None]:
    """The setting to advise; None where none was measured."""
    usual = known.usual
    if not (yield from _tried(course, known, usual, *SWEEP)):
        usual = replace(usual, workers=0)
        if usual in known.fed or not (yield from _tried(course, known, usual, *SWEEP)):
            return None
    yield from _workers(course, known, usual)
    best = replace(usual, workers=chosen(_by_workers(known, usual)))
    best = yield from _switches(course, known, best)
    best = yield from _decoding(course, known, best)
    if best != usual:
        yield from _again(course, known, usual, best)
    yield from _kept_files(course, known, usual)
    return best


def _workers(course: Course, known: Loaded, usual: LoaderSetting) -> Steps:
    """Numbers of processes, fewest first, up to the knee or the machine's room; then once or twice in between."""
    demand = known.demand.value if known.demand else 0.0
    for workers in candidates(known.room.cores, known.room.cores):
        setting = replace(usual, workers=workers)
        if setting in known.fed:
            continue
        if workers > usual.workers and enough(known.latest(usual) or 0.0, demand):
            return
        if _skipped(course, known, usual, workers, demand):
            continue
        measured = yield from _tried(course, known, setting, *SWEEP)
        if not measured:
            if setting in known.refused and workers:
                break
            continue
        if at_knee(_up_to(known, usual, workers), _supplied(known, usual), demand):
            break
    else:
        yield from _beyond_cores(course, known, usual, demand)
    for _ in range(REFINE_AT_MOST):
        between = refined(_by_workers(known, usual))
        if between is None:
            return
        if not (yield from _tried(course, known, replace(usual, workers=between), *SWEEP)):
            return


def _beyond_cores(course: Course, known: Loaded, usual: LoaderSetting, demand: float) -> Steps:
    """More processes than cores, where those that ran were seen to leave them idle (they wait for disk or network)."""
    cores = known.room.cores
    workers = cores
    while workers < OVER_CORES * cores:
        busy = known.busy_cores(replace(usual, workers=workers))
        if busy is None or 2.0 * busy > cores or enough(known.latest(replace(usual, workers=workers)) or 0.0, demand):
            return
        workers *= 2
        setting = replace(usual, workers=workers)
        if setting in known.fed or not (yield from _tried(course, known, setting, *SWEEP)):
            return
        if at_knee(_up_to(known, usual, workers), _supplied(known, usual), demand):
            return


def _skipped(course: Course, known: Loaded, usual: LoaderSetting, workers: int, demand: float) -> bool:
    """Whether so few processes cannot feed half of the demand, and the time is short for trying them all."""
    supplied = _supplied(known, usual)
    single = max((rate / max(1, count) for count, rate in supplied.items()), default=0.0)
    further = [count for count in candidates(known.room.cores, known.room.cores) if count >= workers]
    needed = sum(known.cost_s(count) for count in further) + KEPT_BACK * known.cost_s(1)
    return workers > 0 and workers != further[-1] and 2 * workers * single < demand and not course.fits(needed)


def _tried(
    course: Course, known: Loaded, setting: LoaderSetting, label: str, phase: str
) -> Generator[Step, StepResult, bool]:
    """Measure ``setting`` if machine and time have room for it; what they have not is told."""
    room = known.room
    refused = refusal(
        room,
        setting.workers,
        setting.prefetch,
        known.batch_bytes,
        worker_bytes=known.each_bytes,
        beyond_cores=setting.workers <= OVER_CORES * room.cores,
    )
    if refused is not None:
        reason, figures = known.refused[setting] = refused
        yield from gap(course, setting, reason, **figures)
        return False
    if known.fed and not course.fits(known.cost_s(setting.workers), 2.0 * known.cost_s(setting.workers, again=True)):
        yield from gap(course, setting, "time")
        return False
    return (yield from supply(course, known, setting, label, phase))


def _switches(course: Course, known: Loaded, best: LoaderSetting) -> Generator[Step, StepResult, LoaderSetting]:
    """Batches ready, pinned memory, kept processes: each alone, kept where it gains."""
    best = yield from _fewer_ready(course, known, best)
    if best.workers and not known.fixed("prefetch_factor"):
        for _ in range(REFINE_AT_MOST):
            more = replace(best, prefetch=2 * best.prefetch)
            if not (yield from _tried_better(course, known, more, best)):
                break
            best = more
    if not known.cpu and not known.fixed("pin_memory"):
        other = replace(best, pin=not best.pin)
        if (yield from _tried_better(course, known, other, best)):
            best = other
    if best.workers and not known.fixed("persistent_workers"):
        other = replace(best, persistent=not best.persistent)
        if (yield from _tried(course, known, other, *SWITCH)) and (yield from _keeps(course, known, other, best)):
            best = other
    return best


def _fewer_ready(course: Course, known: Loaded, best: LoaderSetting) -> Generator[Step, StepResult, LoaderSetting]:
    """Where shared memory has no room for more processes: one batch ready in each instead."""
    refused = fewest_refused(known, SHARED_MEMORY)
    if refused is None or refused[0].prefetch == 1 or known.fixed("prefetch_factor"):
        return best
    fewer = replace(refused[0], prefetch=1)
    return fewer if (yield from _tried_better(course, known, fewer, best)) else best


def _looks_better(known: Loaded, one: LoaderSetting, than: LoaderSetting) -> bool:
    """By the last trial of each."""
    first, second = known.latest(one), known.latest(than)
    return first is not None and second is not None and first >= (1.0 + BETTER) * second


def _tried_better(
    course: Course, known: Loaded, one: LoaderSetting, than: LoaderSetting
) -> Generator[Step, StepResult, bool]:
    """Measure ``one``, and whether it is better."""
    return (yield from _tried(course, known, one, *SWITCH)) and (yield from _better(course, known, one, than))


def _better(
    course: Course, known: Loaded, one: LoaderSetting, than: LoaderSetting
) -> Generator[Step, StepResult, bool]:
    """Whether ``one``, measured last, is better: where it looks so, both once more, the other way round (A B B A).

    Where the trials do not show it, or time is short, that is said and it is not.
    """
    if not _looks_better(known, one, than):
        return False
    if course.fits(sum(known.cost_s(each.workers, again=True) for each in (one, than))):
        for setting in (one, than):
            yield from supply(course, known, setting, *AGAIN)
    found = compared_points(known.fed[than], known.fed[one])
    if found.is_faster and found.value >= BETTER:
        return True
    if found.value >= BETTER:
        yield from course.warn("loading_unsure", **one.named(), gain=found.value, trials=found.trials)
    return False


def _keeps(course: Course, known: Loaded, one: LoaderSetting, than: LoaderSetting) -> Generator[Step, StepResult, bool]:
    """Whether ``one``, which differs in keeping its processes, is better over an epoch and its border."""
    if _looks_better(known, than, one):
        return False
    saved = saving(known, one, than)
    if saved is not None and one.persistent and saved >= WORTH_OF_EPOCH:
        return True
    return (yield from _better(course, known, one, than))


def saving(known: Loaded, one: LoaderSetting, other: LoaderSetting) -> float | None:
    """Share of an epoch that keeping the processes saves; None where an epoch's length or border is not known."""
    kept, anew = (one, other) if one.persistent else (other, one)
    rate = known.latest(one)
    borders = [_restart_s(known, setting) for setting in (anew, kept)]
    if known.epoch_batches is None or rate is None or borders[0] is None or borders[1] is None:
        return None
    epoch_s = known.epoch_batches * known.spec.batch / rate
    return epoch_saving(borders[0], borders[1], epoch_s)


def _restart_s(known: Loaded, setting: LoaderSetting) -> float | None:
    for point in known.fed.get(setting, ()):
        value = point.extra.get("restart_s")
        if isinstance(value, int | float):
            return float(value)
    return None


def _decoding(course: Course, known: Loaded, best: LoaderSetting) -> Generator[Step, StepResult, LoaderSetting]:
    """Decoding on the card, where photographs are made here and a decoder is installed; else why not."""
    if known.facts.get("source") != "photographs":
        yield from course.warn("loading_decode", decoder="torchvision", reason="own_decoding")
        return best
    there = {"torchvision_card": "torchvision", "dali_card": "dali"}
    found = best
    for decode, package in there.items():
        name = "DALI" if package == "dali" else package
        if known.cpu:
            yield from course.warn("loading_decode", decoder=name, reason="needs_card")
        elif known.facts.get(package) is not True:
            yield from course.warn("loading_decode", decoder=name, reason="not_installed")
        elif package == "dali" and known.facts.get("torchvision") is not True:
            yield from course.warn("loading_decode", decoder=name, reason="needs_torchvision")
        else:
            on_card = replace(best, workers=min(best.workers, 2), pin=False, decode=decode)
            if (yield from _tried_better(course, known, on_card, found)):
                found = on_card
    return found


def _again(course: Course, known: Loaded, usual: LoaderSetting, best: LoaderSetting) -> Steps:
    """The advised setting and the user's own once more."""
    for setting in (best, usual):
        if not course.fits(known.cost_s(setting.workers, again=True)):
            return
        yield from supply(course, known, setting, *AGAIN)


def _kept_files(course: Course, known: Loaded, usual: LoaderSetting) -> Steps:
    """Say so where the present setting feeds clearly more at the end than at the beginning."""
    points = known.fed.get(usual, [])
    if len(points) < 2 or SPREAD & {*points[0].flags, *points[-1].flags}:
        return
    before, after = points[0].value, points[-1].value
    if after > (1.0 + CACHED_FROM) * before:
        yield from course.warn("loading_files_cached", before=before, after=after, **usual.named())


def _by_workers(known: Loaded, usual: LoaderSetting) -> dict[int, float]:
    """Rates of the training by processes, all else as usual."""
    return _rates(usual, {setting: pooled(points) for setting, points in known.fed.items()})


def _supplied(known: Loaded, usual: LoaderSetting) -> dict[int, float]:
    return _rates(usual, {setting: pooled(points) for setting, points in known.supply.items()})


def _up_to(known: Loaded, usual: LoaderSetting, workers: int) -> dict[int, float]:
    return {count: rate for count, rate in _by_workers(known, usual).items() if count <= workers}


def _rates(usual: LoaderSetting, rates: dict[LoaderSetting, float]) -> dict[int, float]:
    return {s.workers: rate for s, rate in rates.items() if replace(s, workers=usual.workers) == usual}


def fewest_refused(known: Loaded, reason: str) -> tuple[LoaderSetting, dict[str, int]] | None:
    """The setting with the fewest processes that was refused, or failed, for ``reason``, and the figures of it."""
    found = [(setting, figures) for setting, (why, figures) in known.refused.items() if why == reason]
    return min(found, key=lambda each: each[0].workers, default=None)
