"""Dense and 2:4 sparse matrix products: the best rate of each number format over shapes.

Method: a survey of shapes (``workloads/bodies/shape_search.py``: spread, near the leaders, finalists interleaved) finds
the fastest; that one is measured anew in bursts of at most 25 ms with pauses (``bursts``), so that a power cap takes
hold late or not at all (where it does, the clock in band flags it). The chip's main format, whose shapes are searched
under load, is also measured cold (``burst``: after 10 s of idling, until a limit takes hold, with sides short enough
for many products until then) and in the last 30 s of 36 s of load (``sustained``, at the cap where there is one); a
smaller budget leaves both out. On a processor, and where two products are longer than a burst, the winner is measured
steadily (``steady``). Counted are 2 · m · n · k operations, for 2:4 sparse products those of the dense one.
FP8 is measured with sums promoted to FP32 and with fast
accumulation; sparse products with and without the compression of the operand. Inputs N(0,1); every result is checked
against float64.
Peers: mamf-finder (fixed grid, one long pass), gpu-fryer (saturated inputs), gpu-burn (one shape, no reference).
"""

from collections.abc import Callable, Generator
from dataclasses import replace

from gputuner.analysis.steady import rate_is_steady
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps, Unavailable
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed
from gputuner.experiments.course import Course
from gputuner.experiments.phases import free_part, last_part
from gputuner.experiments.precisions import has_tensor_fp16, support
from gputuner.model.cards import Support
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, Step, StepResult, Trial, Work
from gputuner.workloads.specs_matmul import ProductFormat, ProductSearchSpec, ProductSpec

SEARCH_S, BURSTS_S, SUSTAINED_S, BURST_S = 15.0, 2.5, 36.0, 0.2
WARM_UP_S = {"burst": 0.0, "sustained": 1.0}
BURST_ITERATION_S, BURSTS_ITERATION_S = 0.002, 0.011
"""A cap may take hold 35 ms after a cold start: a product in a burst should be short beside that; in bursts with pauses
one untimed and one timed make a burst."""
SIDES = (14336, 12288, 10240, 8192, 6144, 4096, 2048)
"""Sides that a product is cut to where it takes longer."""
EMULATED_S = 3.0
"""An emulated format is searched this long at most: nobody should use it."""
COLD_IDLE_S = 10.0
SETUP_S = 2.0
CPU_TOP, CPU_SEARCH_S, CPU_STEADY_S = 1024, 2.0, 1.0
SPARSE_SIDE = 8192


def _capability(machine: Machine) -> float | None:
    said = machine.card.compute_capability
    try:
        return float(said) if said else None
    except ValueError:
        return None


def _since(least: float, what: str) -> Callable[[Machine], Unavailable | None]:
    """Needs a card of at least this compute capability."""

    def unavailable(machine: Machine) -> Unavailable | None:
        if machine.card.is_cpu:
            return Unavailable(code="gpu_only")
        capability = _capability(machine)
        if capability is not None and capability < least:
            return Unavailable(code="chip_lacks", params={"what": what, "least": f"{least:.1f}"})
        return None

    return unavailable


def _int8(machine: Machine) -> Unavailable | None:
    """On processors torch multiplies INT8 as well."""
    return None if machine.card.is_cpu else _since(7.5, "int8")(machine)


def _fp16(machine: Machine) -> Unavailable | None:
    """On processors FP16 is emulated and may take a thousand times as long."""
    return Unavailable(code="too_slow_on_cpu") if machine.card.is_cpu else None


def main_format(course: Course) -> ProductFormat:
    """The format that a chip is bought for: BF16 where it is native, else FP16 on tensor cores, else FP32."""
    if course.context.card.is_cpu:
        return "fp32"
    if support(course.context, "bf16") is Support.NATIVE:
        return "bf16"
    return "fp16" if has_tensor_fp16(course.context) else "fp32"


def _emulated(course: Course, precision: ProductFormat) -> bool:
    return precision == "bf16" and support(course.context, "bf16") is Support.EMULATED


def _gemm(precision: ProductFormat, name: str) -> Callable[[Course, Effort], Steps]:
    """Search, then the winner in bursts (a processor: steadily); the main format also cold and sustained."""

    def run(course: Course, effort: Effort) -> Steps:
        for fast in (False, True) if precision == "fp8" else (False,):
            found = yield from _search(course, name, precision, effort, fast)
            if found is None:
                return
            winner, flop_per_s = found
            if course.context.card.is_cpu:
                yield from _measure(course, name, winner, effort.seconds(CPU_STEADY_S), "steady")
                continue
            yield from _in_bursts(course, name, cut(winner, flop_per_s, BURSTS_ITERATION_S), effort)
            if precision == main_format(course) and effort.whole:
                short = cut(winner, flop_per_s, BURST_ITERATION_S)
                yield from _measure(course, name, short, BURST_S, "burst", idle_s=COLD_IDLE_S)
                yield from _measure(course, name, winner, SUSTAINED_S, "sustained")

    return run


def _search(
    course: Course, name: str, precision: ProductFormat, effort: Effort, fast: bool
) -> Generator[Step, StepResult, tuple[ProductSpec, float] | None]:
    """The fastest shape and its rate in FLOP/s."""
    cpu = course.context.card.is_cpu
    free = course.context.free_bytes
    bursts = not cpu and precision != main_format(course)
    largest = CPU_TOP if cpu else 16384
    spec = ProductSearchSpec.fitting(precision, free, largest=largest, fast_accumulate=fast, bursts=bursts)
    usual_s = CPU_SEARCH_S if cpu else EMULATED_S if _emulated(course, precision) else SEARCH_S
    seconds = effort.seconds(usual_s, 1.0) * (3.0 if effort.full and not cpu else 1.0)
    work = Work(
        label="bench_matmul_search",
        workload=spec.workload,
        params=spec.params(),
        measure_s=seconds,
        budget_s=seconds + 20.0,
    )
    result = yield from course.attempt(work, seconds + SETUP_S)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].parts:
        yield from failed(course, name, result)
        return None
    best = result.trials[0].parts[0]
    told: dict[str, Scalar] = {"precision": precision, "phase": "search"}
    if fast:
        told["fast_accumulate"] = True
    conditions = result.part_conditions[0] if result.part_conditions else result.conditions
    extra: dict[str, Scalar] = {"shapes_tried": result.trials[0].notes.get("shapes_tried", len(result.trials[0].parts))}
    point = _point(course, name, best, conditions, {**told, **_shape(best)}, extra)
    yield from course.tell(point)
    m, n, k = (int(best.params[side]) for side in "mnk")
    transposed = bool(best.params.get("transposed"))
    return ProductSpec(precision=precision, m=m, n=n, k=k, transposed=transposed, fast_accumulate=fast), point.value


def cut(spec: ProductSpec, flop_per_s: float, longest_s: float) -> ProductSpec:
    """The shape, or with sides cut so that a product takes at most ``longest_s``, as far as ``SIDES`` go."""

    def seconds(made: ProductSpec) -> float:
        return 2.0 * made.m * made.n * made.k / flop_per_s

    sizes = (spec, *(replace(spec, m=min(spec.m, s), n=min(spec.n, s), k=min(spec.k, s)) for s in SIDES))
    return next((made for made in sizes if seconds(made) <= longest_s), sizes[-1])


def _shape(part: Part) -> dict[str, Scalar]:
    return {name: part.params[name] for name in ("m", "n", "k", "transposed") if name in part.params}


def _point(
    course: Course,
    name: str,
    measured: Trial | Part,
    conditions: Conditions | None,
    params: dict[str, Scalar],
    extra: dict[str, Scalar] | None = None,
) -> Point:
    flags = (Flag.EMULATED,) if measured.notes.get("emulated") is True else ()
    return rate(course, name, "matmul_rate", "FLOP/s", "flop", measured, conditions, params, flags=flags, extra=extra)


def _in_bursts(
    course: Course, name: str, spec: ProductSpec, effort: Effort
) -> Generator[Step, StepResult, Point | None]:
    """One shape in bursts with pauses; tells its point."""
    spec = replace(spec, bursts=True)
    measure_s = effort.seconds(BURSTS_S)
    work = Work(
        label="bench_matmul",
        workload=spec.workload,
        params=spec.asked(),
        measure_s=measure_s,
        budget_s=4 * measure_s + 20.0,
    )
    for part, conditions in (yield from surveyed(course, name, work)):
        params: dict[str, Scalar] = {**spec.params(), "phase": part.params.get("phase", "steady")}
        point = _point(course, name, part, conditions, params)
        yield from course.tell(point)
        return point
    return None


def _measure(
    course: Course, name: str, spec: ProductSpec, measure_s: float, phase: str, *, idle_s: float = 0.0
) -> Generator[Step, StepResult, Point | None]:
    """One shape for ``measure_s`` seconds; tells its point."""
    work = Work(
        label="bench_matmul",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4 * measure_s + 20.0,
        idle_before_s=idle_s,
        warmup_s=None if course.context.card.is_cpu else min(WARM_UP_S.get(phase, 0.0), measure_s),
    )
    result = yield from course.attempt(work, idle_s + WARM_UP_S.get(phase, 0.0) + measure_s + SETUP_S)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        yield from failed(course, name, result)
        return None
    trial, conditions = _phase_part(result.trials[0], result.conditions, phase)
    params: dict[str, Scalar] = {**spec.params(), "phase": phase}
    point = _point(course, name, trial, conditions, params)
    yield from course.tell(point)
    return point


def _phase_part(trial: Trial, conditions: Conditions | None, phase: str) -> tuple[Trial, Conditions | None]:
    """Of a burst the stretch before a limit took hold, of a sustained load its last part."""
    if phase == "sustained":
        part = last_part(trial)
        return replace(trial, iteration_s=part, steady=rate_is_steady(part)), conditions
    if phase != "burst":
        return trial, conditions
    return free_part(trial, conditions)


def _sparse(course: Course, effort: Effort) -> Steps:
    """FP16 (or BF16) and INT8 at a large square, with and without the compression of the operand."""
    for precision in ("fp16", "int8"):
        for counted in (False, True):
            spec = ProductSpec(
                precision=precision, m=SPARSE_SIDE, n=SPARSE_SIDE, k=SPARSE_SIDE, sparse=True, setup_counted=counted
            )
            point = yield from _in_bursts(course, "gemm-sparse", spec, effort)
            if point is None:
                break


def _benchmark(
    precision: ProductFormat,
    *,
    cpu_s: float = 6.0,
    default_s: float = 22.0,
    unavailable: Callable[[Machine], Unavailable | None] | None = None,
) -> Benchmark:
    name = f"gemm-{precision}"
    plain = Benchmark(
        name=name,
        group="gemm",
        unit="FLOP/s",
        default_s=default_s,
        full_s=52.0 + (default_s - 22.0),
        cpu_s=cpu_s,
        run=_gemm(precision, name),
    )
    return replace(plain, unavailable=unavailable) if unavailable else plain


BENCHMARKS_GEMM: tuple[Benchmark, ...] = (
    _benchmark("bf16", default_s=76.0),
    _benchmark("fp16", unavailable=_fp16),
    _benchmark("fp16-acc16", unavailable=_since(7.0, "fp16_tensor")),
    _benchmark("tf32", unavailable=_since(8.0, "tf32")),
    _benchmark("fp32"),
    _benchmark("fp64"),
    _benchmark("fp8", default_s=43.0, unavailable=_since(8.9, "fp8")),
    _benchmark("int8", unavailable=_int8),
    Benchmark(
        name="gemm-sparse",
        group="gemm",
        unit="FLOP/s",
        default_s=20.0,
        full_s=20.0,
        cpu_s=0.0,
        run=_sparse,
        unavailable=_since(8.0, "sparsity_2_4"),
    ),
)
