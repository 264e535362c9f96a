"""Attention: rate and peak memory of each backend over the length of the sequence, forward and with backward pass.

Causal, 16 heads of 128, batch × sequence = 16384 tokens, in the format that people train in (BF16 where it is native).
Counted as FlashAttention-2 does (arXiv 2307.08691): 4·b·h·s²·d operations forward, half of it under the causal mask;
2.5 times that backward. Timed by events over windows after a warm-up; output and gradients checked against float64.
``math`` writes the whole score matrix: where that would not fit the setting is left out, with its need told.
"""

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed
from gputuner.experiments.benchmarks.training import half
from gputuner.experiments.course import Course
from gputuner.model.steps import Work
from gputuner.workloads.specs_operations import AttentionSpec

SEQUENCES = (1024, 4096, 16384)
FULL_SEQUENCES = (1024, 2048, 4096, 8192, 16384, 32768)
MEASURE_S, FULL_MEASURE_S, CPU_S = 36.0, 160.0, 5.0
CPU_SPEC = AttentionSpec(sequences=(256, 1024), precision="fp32", backends=("flash", "math"), heads=4, tokens=1024)


def attention(course: Course, effort: Effort) -> Steps:
    """All lengths, backends and directions in one trial."""
    if course.context.card.is_cpu:
        spec, usual_s = CPU_SPEC, CPU_S
    else:
        sequences = FULL_SEQUENCES if effort.full else SEQUENCES
        spec = AttentionSpec(sequences=sequences, precision=half(course))
        usual_s = FULL_MEASURE_S if effort.full else MEASURE_S
    measure_s = effort.seconds(usual_s, 2.0)
    work = Work(
        label="bench_attention",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=2 * measure_s + 60.0,
    )
    for part, conditions in (yield from surveyed(course, "attention", work)):
        yield from course.tell(
            rate(course, "attention", "attention_rate", "FLOP/s", "flop", part, conditions, dict(part.params))
        )


BENCHMARKS_ATTENTION: tuple[Benchmark, ...] = (
    Benchmark(
        name="attention",
        group="attention",
        unit="FLOP/s",
        default_s=44.0,
        full_s=175.0,
        cpu_s=8.0,
        run=attention,
    ),
)
