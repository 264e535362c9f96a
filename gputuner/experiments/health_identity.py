"""What is measured and read for the question whether the card is the one that was sold."""

from collections.abc import Generator
from dataclasses import dataclass, field
from statistics import median

from gputuner.analysis.identity import CardSeen, identify
from gputuner.analysis.latency_levels import CacheStep, cache_step
from gputuner.catalog.facts import CardFacts
from gputuner.experiments.course import Course
from gputuner.experiments.health_points import identity_points
from gputuner.model.steps import Done, Step, StepResult, Work
from gputuner.workloads.specs_probes import ChaseSpec
from gputuner.workloads.specs_stream import StreamSpec

COPY_S, CHASE_S = 2.0, 5.0
LEAST_BUDGET_S = 60.0
"""A shorter test leaves the latencies out."""
ARRAY_BYTES, CPU_ARRAY_BYTES = 1 << 30, 32 << 20
FREE_SHARE = 0.3
CACHES = 6
"""Latency is looked at up to so many L2: beyond it is DRAM's."""


@dataclass(slots=True)
class Measured:
    """The card as it was seen, before its memory was tested."""

    course: Course
    sold_as: str
    bandwidth: float | None = None
    l2_step: CacheStep = field(default_factory=lambda: CacheStep(missing="not_measured"))

    def judge(self, aliased: bool | None) -> Generator[Step, StepResult, None]:
        """Tell the checks and the verdict; nothing where the catalogue has no sheet.

        ``aliased``: whether the memory repeats itself; None: it was not tested.
        """
        card, sheets = self.course.context.card, self.course.context.sheets
        if card.is_cpu:
            return
        seen = CardSeen(
            name=card.name,
            compute_capability=card.compute_capability,
            sm_count=card.sm_count,
            memory_total_bytes=card.memory_total_bytes,
            power_default_w=card.number("power_limit_default_w"),
            pcie_generation_max=card.number("pcie_generation_max"),
            pcie_width_max=card.number("pcie_width_max"),
            l2_bytes=_l2_bytes(self.course),
            bandwidth=self.bandwidth,
            l2_step_bytes=self.l2_step.size_bytes,
            l2_step_missing=self.l2_step.missing,
            aliased=aliased,
        )
        sheet = self._sheet()
        if sheet is None:
            yield from self.course.warn("health_no_sheet", card=card.title)
            return
        found = identify(seen, sheet, sheets.values())
        yield from self.course.tell(*identity_points(self.course, found, sold_as=self.sold_as, sheet_name=sheet.name))

    def _sheet(self) -> CardFacts | None:
        """What the seller named, else what the catalogue recognised, else what the driver's name claims."""
        context = self.course.context
        if self.sold_as:
            return context.sheets.get(self.sold_as)
        match = context.card.catalog
        if match is None:
            return None
        if match.catalog_id is not None:
            return context.sheets.get(match.catalog_id)
        return next((sheet for sheet in context.sheets.values() if sheet.name == match.base_name), None)


def identity(course: Course, sold_as: str) -> Generator[Step, StepResult, Measured]:
    """Measure the bandwidth of a copy, and where our kernels run the step of latency behind the L2."""
    measured = Measured(course, sold_as)
    context = course.context
    size = CPU_ARRAY_BYTES if context.card.is_cpu else ARRAY_BYTES
    if context.free_bytes:
        size = min(size, int(FREE_SHARE * context.free_bytes))
    seconds = min(COPY_S, 0.05 * context.budget_s)
    work = Work(
        label="health_copy",
        workload="stream",
        params=StreamSpec(operation="copy", bytes=size // 4096 * 4096).params(),
        measure_s=seconds,
        budget_s=4 * seconds + 20.0,
        warmup_s=seconds / 2,
    )
    result = yield from course.attempt(work, seconds + 1.0)
    if isinstance(result, Done) and result.trials and result.trials[0].iteration_s:
        trial = result.trials[0]
        point = course.make.rate(
            "copy_bandwidth", "stream", "B/s", trial.work["bytes"], trial, result.conditions, {"bytes": 2 * size}
        )
        measured.bandwidth = point.value
        yield from course.tell(point)
    if not context.kernels:
        measured.l2_step = CacheStep(missing="no_kernels")
    elif context.budget_s < LEAST_BUDGET_S:
        measured.l2_step = CacheStep(missing="short_time")
    elif not context.card.is_cpu:
        measured.l2_step = yield from _l2_step(course)
    return measured


def _l2_bytes(course: Course) -> float | None:
    """Size of the L2: NVML has no call for it, the worker's CUDA driver has; None: neither tells."""
    said = course.context.card.number("l2_bytes")
    if said is None:
        worker = course.context.worker.get("cache_bytes")
        said = float(worker) if isinstance(worker, int) and worker > 0 else None
    return said


def _l2_step(course: Course) -> Generator[Step, StepResult, CacheStep]:
    """The footprint from which accesses are DRAM's rather than the L2's, or why it is not known."""
    l2 = _l2_bytes(course)
    if not l2:
        return CacheStep(missing="not_reported")
    spec = ChaseSpec(largest_bytes=CACHES * int(l2) // 4096 * 4096)
    work = Work(
        label="bench_chase",
        workload=spec.workload,
        params=spec.params(),
        measure_s=CHASE_S,
        budget_s=3 * CHASE_S + 30.0,
        runtime="kernels",
    )
    result = yield from course.attempt(work, CHASE_S + 2.0)
    if not isinstance(result, Done) or not result.trials:
        return CacheStep(missing="not_measured")  # our kernels do not run here, or the latencies could not be told
    curve = [(int(part.params["bytes"]), median(part.iteration_s)) for part in result.trials[0].parts]
    return cache_step(curve, int(l2))
