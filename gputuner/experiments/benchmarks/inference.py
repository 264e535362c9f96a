"""Inference of a decoder of Llama's shape with random weights: reading prompts and writing tokens.

Prefill: a whole prompt at once, tokens/s, bound by arithmetic. Decode: one further token behind a context of a given
length, tokens/s, bound by the memory, since every step reads all weights (13.2 GB at 7 B in half precision: a card with
1 TB/s writes 76 tokens/s at the very most). ``bytes_per_token`` and ``model_flop_per_token`` give the roofline. Each
decode step is replayed as a CUDA graph, at one fixed length of context; the scores with cache are compared with those
without. The 7 B shape where it fits, else 1 B; a processor takes 134 M parameters. Batch 1, as one user sees it; with
``--full`` also 8 and 32, longer contexts, and launched kernel by kernel.
Peers: llama.cpp's llama-bench (pp512, tg128) counts the same two stages.
"""

from collections.abc import Generator

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.training import half
from gputuner.experiments.benchmarks.training_measure import USABLE, free_bytes
from gputuner.experiments.course import Course
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult, Work
from gputuner.workloads.specs import Precision
from gputuner.workloads.specs_inference import DecodeSpec
from gputuner.workloads.specs_training import Decoder

CONTEXTS = (512, 2048, 8192)
FULL_CONTEXTS = (128, 512, 2048, 8192, 16384, 32768)
MODELS: tuple[Decoder, ...] = ("7b", "1b", "125m")
SETUP_S = 4.0


def largest(
    precision: Precision, contexts: tuple[int, ...], batch: int, free: int | None, *, eager: bool = False
) -> DecodeSpec | None:
    """The largest decoder that fits with the shortest context, and the contexts that fit with it; None: none does."""
    room = float("inf") if free is None else USABLE * free
    for model in MODELS:
        fit = tuple(
            context
            for context in contexts
            if DecodeSpec(contexts=(context,), precision=precision, batch=batch, model=model).needed_bytes() <= room
        )
        if fit:
            return DecodeSpec(contexts=fit, precision=precision, batch=batch, model=model, eager=eager)
    return None


def decode(course: Course, effort: Effort) -> Steps:
    """Prefill and decode over contexts."""
    free, precision = free_bytes(course), half(course)
    if course.context.card.is_cpu:
        small = DecodeSpec(contexts=(64, 256), precision="fp32", model="125m")
        yield from _survey(course, small, effort.seconds(4.0))
        return
    yield from _fitted(course, largest(precision, CONTEXTS, 1, free), effort.seconds(16.0, 3.0))
    if effort.full:
        for batch in (1, 8, 32):
            spec = largest(precision, FULL_CONTEXTS, batch, free)
            yield from _fitted(course, spec, effort.seconds(24.0))
        yield from _fitted(course, largest(precision, CONTEXTS, 1, free, eager=True), effort.seconds(12.0))


def _fitted(course: Course, spec: DecodeSpec | None, measure_s: float) -> Steps:
    if spec is None:
        yield from course.warn("benchmark_failed", benchmark="decode", reason="memory_too_small")
        return
    yield from _survey(course, spec, measure_s)


def _survey(course: Course, spec: DecodeSpec, measure_s: float) -> Generator[Step, StepResult, None]:
    work = Work(
        label="bench_decode",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4 * measure_s + 30.0,
    )
    result = yield from course.attempt(work, SETUP_S + measure_s)
    match result:
        case Done(trials=(trial, *_)) if trial.parts:
            yield from course.tell(*_points(course, spec, result))
        case _:
            yield from failed(course, "decode", result)


def _points(course: Course, spec: DecodeSpec, done: Done) -> tuple[Point, ...]:
    (trial,) = done.trials
    points: list[Point] = []
    for place, part in enumerate(trial.parts):
        if not part.iteration_s:
            continue
        stage = str(part.params["stage"])
        named: dict[str, Scalar] = {name: value for name, value in part.params.items() if name != "stage"}
        params: dict[str, Scalar] = {"model": spec.model, **named, **({"eager": True} if spec.eager else {})}
        conditions = done.part_conditions[place] if place < len(done.part_conditions) else None
        points.append(
            rate(course, "decode", f"{stage}_rate", "tokens/s", "tokens", part, conditions, params,
                 extra={name: value for name, value in trial.memory.items() if name == "allocated_peak_bytes"})
        )  # fmt: skip
    return tuple(points)


BENCHMARKS_INFERENCE: tuple[Benchmark, ...] = (
    Benchmark(name="decode", group="inference", unit="tokens/s", default_s=22.0, full_s=140.0, cpu_s=11.0, run=decode),
)
