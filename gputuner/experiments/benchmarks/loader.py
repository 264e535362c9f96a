"""Data loader: samples/s over processes and switches, and for how long the training of ResNet-50 would starve.

JPEG files of 500 × 375 are decoded, cut, scaled to 224, mirrored and normalised; by torchvision on the processor where
it is installed, else by Pillow; where neither is, the same without decoding (``stand_in``). First the training on
batches that lie ready tells what it could eat. Then each setting is a trial: its batches as fast as they come, copied
to the card (``loader_rate``), then to the training. The number of processes grows to the cores that affinity and quota
leave, as far as host memory and shared memory allow; then prefetching, pinning and processes that start anew are tried
at the fastest number, and decoding on the card by torchvision or DALI. It is the same trial, with the same words, as
``batch --loader`` makes of one's own loader (``workloads/bodies/recipe_loading.py``); here the first batch of each
setting is compared with the same samples made in the worker itself.

``starvation_fraction``: the share of what the training could eat that it loses with this loader.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median

from gputuner.analysis.loading import starvation
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps, Unavailable
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import Measured, surveyed
from gputuner.experiments.benchmarks.training import half
from gputuner.experiments.course import Course
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Work
from gputuner.workloads.bodies.loader_room import Room, candidates, refusal
from gputuner.workloads.specs_loading import Decode, LoaderSetting, LoadingSpec

MEASURE_S, FULL_MEASURE_S, CPU_S, LEAST_S = 2.0, 6.0, 3.2, 0.5
"""To measure one setting, seconds."""
BATCH, CPU_BATCH = 64, 8
IMAGE, CPU_IMAGE = 224, 64
"""Side of a finished sample, in pixels."""
MOST, FULL_MOST, CPU_MOST = 16, 64, 2
"""Processes."""
ALONE, FED = "alone", "fed"
TORCHVISION = "torchvision"
CARD_WORKERS = 2
"""Processes that hand out files to decode on the card: they hardly work."""


def needs_fork(_: Machine) -> Unavailable | None:
    """Loader processes are forked; Windows cannot, and a spawned one would not find this package."""
    return Unavailable(code="needs_fork") if sys.platform == "win32" else None


@dataclass(slots=True, kw_only=True)
class _Known:
    """What is asked, what the machine has, and seconds per batch by setting."""

    spec: LoadingSpec
    measure_s: float
    most: int
    facts: dict[str, Scalar]
    """Of the demand's trial."""
    demand: float
    """What the training could eat, samples/s."""
    batch_s: dict[LoaderSetting, float] = field(default_factory=lambda: {})

    def whole(self, name: str) -> int | None:
        value = self.facts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def cores(self) -> int:
        return self.whole("cores") or 1

    @property
    def room(self) -> Room:
        memory, shared = self.whole("host_memory_bytes"), self.whole("shared_memory_bytes")
        return Room(cores=self.cores, memory_bytes=memory, shared_bytes=shared)


def loader(course: Course, effort: Effort) -> Steps:
    """What the training could eat; numbers of processes; the other switches at the fastest one."""
    cpu = course.context.card.is_cpu
    spec = LoadingSpec(
        part="demand",
        batch=CPU_BATCH if cpu else BATCH,
        precision=half(course),
        channels_last=not cpu,
        image=CPU_IMAGE if cpu else IMAGE,
    )
    measure_s = CPU_S if cpu else FULL_MEASURE_S if effort.full else MEASURE_S
    measure_s = effort.seconds(measure_s, LEAST_S)
    demanded = yield from surveyed(course, "loader", _work(spec, measure_s))
    if not demanded:
        return
    part = demanded[0][0]
    known = _Known(
        spec=spec,
        measure_s=measure_s,
        most=CPU_MOST if cpu else FULL_MOST if effort.full else MOST,
        facts={**part.notes, **_notes(course)},
        demand=part.work["samples"] / median(part.iteration_s),
    )
    yield from _pinned_to_one_core(course, known)
    base = LoaderSetting(pin=not cpu, persistent=True)
    for workers in candidates(known.cores, known.most):
        yield from _tried(course, known, replace(base, workers=workers))
    if known.batch_s:
        best = min(known.batch_s, key=lambda setting: known.batch_s[setting])
        for setting in _switched(known, best):
            yield from _tried(course, known, setting)


def _switched(known: _Known, best: LoaderSetting) -> Iterator[LoaderSetting]:
    """The other switches, one at a time from the fastest number of processes."""
    if best.workers:
        yield replace(best, prefetch=2 * best.prefetch)
        yield replace(best, persistent=False)
    if not best.pin:
        return
    yield replace(best, pin=False)
    on_card: tuple[tuple[Decode, str], ...] = (("torchvision_card", "torchvision"), ("dali_card", "dali"))
    for decode, package in on_card:
        if known.facts.get("decode") == TORCHVISION and known.facts.get(package) is True:
            workers = min(CARD_WORKERS, known.cores)
            yield LoaderSetting(workers=workers, persistent=True, decode=decode)


def _tried(course: Course, known: _Known, setting: LoaderSetting) -> Steps:
    """Measure a setting, or tell that the machine has no room for it."""
    refused = refusal(known.room, setting.workers, setting.prefetch, known.whole("loader_batch_bytes") or 0)
    if refused is not None:
        told = " ".join(str(value) for value in setting.named().values() if not isinstance(value, bool))
        yield from course.warn("benchmark_gap", benchmark="loader", setting=told, reason=refused[0], **refused[1])
        return
    spec = replace(known.spec, part="supply", setting=setting)
    found = yield from surveyed(course, "loader", _work(spec, known.measure_s))
    alone, fed = (_phase(found, phase) for phase in (ALONE, FED))
    if alone is None:
        return
    part, conditions = alone
    known.batch_s.setdefault(setting, median(part.iteration_s))
    params: dict[str, Scalar] = {"decode": str(known.facts.get("decode", "")), **setting.named(), "batch": spec.batch}
    extra: dict[str, Scalar] = {"consumer_rate": known.demand, "cores": known.cores}
    if fed is not None:
        rate_fed = fed[0].work["samples"] / median(fed[0].iteration_s)
        extra |= {"fed_rate": rate_fed, "starvation_fraction": round(starvation(rate_fed, known.demand), 4)}
        extra |= {name: fed[0].notes[name] for name in ("wait_fraction", "restart_s") if name in fed[0].notes}
    yield from course.tell(
        rate(course, "loader", "loader_rate", "samples/s", "samples", part, conditions, params, extra=extra)
    )


def _phase(found: tuple[Measured, ...], phase: str) -> Measured | None:
    return next((each for each in found if each[0].params.get("phase") == phase), None)


def _notes(course: Course) -> dict[str, Scalar]:
    """What the last trial told of itself."""
    last = course.last
    return dict(last.trials[0].notes) if isinstance(last, Done) and last.trials else {}


def _work(spec: LoadingSpec, measure_s: float) -> Work:
    return Work(
        label="bench_loader",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4 * measure_s + 30.0,
        warmup_s=0.0,
    )


def _pinned_to_one_core(course: Course, known: _Known) -> Steps:
    """Tell where the worker may use one core of many: then it is not the loader that does not scale."""
    host = course.context.fingerprint.host.readings.get("cores_logical")
    there = host.value if host else None
    if known.cores == 1 and isinstance(there, int | float) and there > 1:
        yield from course.warn("loader_one_core", cores=1, host_cores=int(there))


BENCHMARKS_LOADER: tuple[Benchmark, ...] = (
    Benchmark(
        name="loader", group="loader", unit="samples/s", default_s=40.0, full_s=110.0, cpu_s=22.0, run=loader,
        unavailable=needs_fork,
    ),
)  # fmt: skip
