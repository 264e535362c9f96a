"""Convolutions of ResNet-50: 3 × 3 and 1 × 1 at the sizes of its stages, forward and backward, in both layouts.

Counted: 2·B·K·C·R·S·P·Q operations forward, twice that backward (gradients of input and weight). Batch 256, in the
format that people train in and in TF32 (FP32 where the chip has none); cuDNN by its heuristics, as torch has it by
default. Timed by events over windows after a warm-up; slices of result and gradients checked against float64.
"""

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed
from gputuner.experiments.benchmarks.training import half
from gputuner.experiments.course import Course
from gputuner.experiments.precisions import support
from gputuner.model.cards import Support
from gputuner.model.steps import Work
from gputuner.workloads.specs import Precision
from gputuner.workloads.specs_operations import ConvShape, ConvSpec


def _shape(kernel: int, channels: int, filters: int, image: int) -> ConvShape:
    return ConvShape(kernel=kernel, channels=channels, filters=filters, image=image)


SHAPES = (_shape(3, 64, 64, 56), _shape(3, 256, 256, 14), _shape(1, 64, 256, 56), _shape(1, 1024, 256, 14))
FULL_SHAPES = (
    *SHAPES, _shape(3, 128, 128, 28), _shape(3, 512, 512, 7), _shape(1, 256, 64, 56), _shape(1, 512, 128, 28),
    _shape(1, 256, 1024, 14), _shape(1, 512, 2048, 7),
)  # fmt: skip
CPU_SHAPES = (_shape(3, 64, 64, 28), _shape(1, 256, 64, 28))
MEASURE_S, FULL_MEASURE_S, CPU_S = 13.0, 60.0, 4.0
BATCH, CPU_BATCH = 256, 4


def formats(course: Course, *, full: bool) -> tuple[Precision, ...]:
    """In which formats: half precision, and FP32 as the chip does it fastest; with ``full`` all that are native."""
    if course.context.card.is_cpu:
        return ("fp32",)
    tf32 = support(course.context, "tf32") is Support.NATIVE
    if not full:
        return (half(course), "tf32" if tf32 else "fp32")
    order: tuple[Precision, ...] = ("bf16", "fp16", "tf32", "fp32")
    return tuple(p for p in order if support(course.context, p) is Support.NATIVE)


def conv(course: Course, effort: Effort) -> Steps:
    """One trial for each format."""
    cpu = course.context.card.is_cpu
    shapes = CPU_SHAPES if cpu else FULL_SHAPES if effort.full else SHAPES
    usual_s = CPU_S if cpu else FULL_MEASURE_S if effort.full else MEASURE_S
    measure_s = effort.seconds(usual_s, 1.0)
    for precision in dict.fromkeys(formats(course, full=effort.full)):
        spec = ConvSpec(shapes=shapes, precision=precision, batch=CPU_BATCH if cpu else BATCH)
        work = Work(
            label="bench_conv",
            workload=spec.workload,
            params=spec.params(),
            measure_s=measure_s,
            budget_s=2 * measure_s + 60.0,
        )
        for part, conditions in (yield from surveyed(course, "conv", work)):
            yield from course.tell(
                rate(course, "conv", "conv_rate", "FLOP/s", "flop", part, conditions, dict(part.params))
            )


BENCHMARKS_CONV: tuple[Benchmark, ...] = (
    Benchmark(name="conv", group="conv", unit="FLOP/s", default_s=24.0, full_s=190.0, cpu_s=6.0, run=conv),
)
