"""Memory of the chosen setting and of those that save some: how much each batch needs, and how many samples would fit.

What is saved is measured: peaks of two batches make a line. The largest batch by that line is an upper bound that is
predicted: two batches cannot tell how straight the line is. It is told as "up to about"; ``batch`` tries one out.
"""

from collections.abc import Generator

from gputuner.analysis.memory import MemoryLine, fit_memory_line
from gputuner.analysis.switches import Setting, can_save, decide
from gputuner.experiments.switches_trial import Compared, work_of
from gputuner.model.points import Flag
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult, Work

SAVES, SAVES_CPU = 0.03, 0.15
"""Less saved memory than this is none; on a processor a process for rates tells it only roughly."""
AT_MOST = 3
"""Settings beside the chosen one whose line is measured."""
SHORT_S = 0.3


def room(compared: Compared) -> Generator[Step, StepResult, None]:
    """Lines of the chosen setting and of what saves memory beside it; tells how many samples each lets in."""
    decided = decide(compared.course.points)
    if decided is None or compared.batch < 2:
        return
    for setting in (decided.chosen, *_savers(compared, decided.chosen)[:AT_MOST]):
        cost = 2.0 * compared.cost_s(setting)
        if not compared.course.fits(cost):
            return
        yield from _line(compared, setting)


def _savers(compared: Compared, chosen: Setting) -> list[Setting]:
    """Settings with less peak memory than the chosen one at the same batch, the most saving first."""
    peaks = {s: p for s in compared.measured() if (p := compared.peak(s)) is not None}
    if chosen not in peaks:
        return []
    saves = SAVES_CPU if compared.shape.cpu else SAVES
    less = [s for s in peaks if s != chosen and can_save(s) and peaks[s] < (1.0 - saves) * peaks[chosen]]
    best: dict[float, Setting] = {}
    for setting in sorted(less, key=lambda s: (peaks[s], s.effort)):
        best.setdefault(round(peaks[setting] / peaks[chosen], 1), setting)
    return list(best.values())


def _line(compared: Compared, setting: Setting) -> Generator[Step, StepResult, None]:
    course, half = compared.course, max(1, compared.batch // 2)
    peaks: dict[int, float] = {}
    capacity: list[float] = [] if course.context.free_bytes is None else [float(course.context.free_bytes)]
    known = compared.peak(setting)
    if known is not None and not compared.shape.cpu:
        peaks[compared.batch] = known
    for batch in (half, compared.batch):
        if batch in peaks:
            continue
        work = _probe(compared, setting, batch)
        result = yield from course.attempt(work, compared.cost_s(setting))
        if not isinstance(result, Done) or not result.trials:
            return
        trial = result.trials[0]
        peak, most = trial.memory.get("allocated_peak_bytes"), trial.memory.get("capacity_bytes")
        if not peak:
            return
        peaks[batch] = float(peak)
        capacity += [float(most)] if most else []
    line = fit_memory_line(list(peaks), list(peaks.values()))
    if line is None or line.per_sample_bytes <= 0 or not capacity:
        return
    yield from _tell(compared, setting, line, min(capacity), peaks[compared.batch])


def _probe(compared: Compared, setting: Setting, batch: int) -> Work:
    """A few steps that show the peak; on a processor in a process whose memory can be counted."""
    work = work_of(compared, setting, SHORT_S, batch=batch, label="train_memory")
    return Work(
        label=work.label,
        workload=work.workload,
        params=work.params,
        measure_s=SHORT_S,
        budget_s=work.budget_s,
        warmup_s=0.0,
        size_param="batch",
        memory_probe=True,
        environment=work.environment,
    )


def _tell(
    compared: Compared, setting: Setting, line: MemoryLine, capacity: float, peak: float
) -> Generator[Step, StepResult, None]:
    most = line.limit(capacity)
    params: dict[str, Scalar] = {**setting.named(), "batch": compared.batch}
    extra: dict[str, Scalar] = {
        "fixed_bytes": line.fixed_bytes,
        "per_sample_bytes": line.per_sample_bytes,
        "capacity_bytes": capacity,
        "peak_bytes": peak,
    }
    course = compared.course
    yield from course.tell(
        course.make.figure(
            "batch_room",
            compared.shape.subject.name,
            float(most),
            "samples",
            params,
            flags=[Flag.EXTRAPOLATED],
            extra=extra,
        )
    )
