"""Training rates of six models with random weights and synthetic input, as plain PyTorch runs them.

ResNet-50 v1.5 (He et al., arXiv 1512.03385; 224 px, SGD), BERT-large (Devlin et al., arXiv 1810.04805; question
answering, AdamW), EDSR ×2 (Lim et al., arXiv 1707.02921; patches of 48² low-resolution pixels, Adam), a decoder of
GPT-2 small's size (sequence 1024), a two-layer LSTM language model, and low-rank adapters on a decoder of Llama's 7 B
shape (checkpointing, sequence 2048).

Method: forward under autocast, backward, optimizer step; the first two steps are not timed, then warm-up until the rate
rests, then windows timed by events. The batch is the usual one, halved until a memory line says that it fits, and again
if it does not. Counted are samples (and tokens); ``model_flop_per_sample`` gives the operations that the model needs,
from which the share of peak follows. ResNet-50 is measured cold (10 s of idling before), sustained (the last 30 s of
36) and fed by a DataLoader; with ``--full`` every format, layout, several batches, and compiled.
Peers: Lambda's deeplearning-benchmark and NVIDIA's DeepLearningExamples (single runs, without spread), timm.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps, Unavailable
from gputuner.experiments.benchmarks.training_measure import BURST_S, COLD_IDLE_S, brisk, fitting, free_bytes, measure
from gputuner.experiments.course import Course
from gputuner.experiments.precisions import has_tensor_fp16, support, training_order
from gputuner.model.cards import Support
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.specs import Precision, ResNet50Spec
from gputuner.workloads.specs_training import (
    BertSpec,
    EdsrSpec,
    GptSpec,
    LlmSpec,
    LstmSpec,
    Training,
    memory_of,
)

RESNET_BATCH, RESNET_SWEEP = 512, (16, 64, 256, 1024)
RESNET_STEP_S, STEP_S = 0.12, 0.3
"""A step of the usual batch should take at most this, in seconds."""
SUSTAINED_S = 36.0
BERT_TOKENS = 32_768
"""Tokens per step at most: 64 sequences of 384."""
EDSR_BATCH = {"baseline": 256, "full": 64}
GPT_BATCH, LSTM_BATCH, LLM_TOKENS = 32, 1024, 8192
"""Of the LSTM and the 7 B decoder so many that a large card is busy for longer than the host launches a step: on an
H200 256 sequences and one of 2048 tokens were bound by the host (13.9 and 279 ms a step, spread 12 and 17 %)."""
LLM_STEP_S, LLM_S = 1.0, 20.0
"""A step of the 7 B decoder may take this long, and then so long is measured for an interval from twenty of them."""
COMPILED = Switches(compile=True)
GRAPHED = Switches(cuda_graph=True)
ORDER: tuple[Precision, ...] = ("fp32", "tf32", "fp16", "bf16")


def half(course: Course) -> Precision:
    """The format that people train in on this card: BF16 where it is native, else FP16 on tensor cores, else FP32."""
    return "fp32" if course.context.card.is_cpu else training_order(course.context)[0]


def native(course: Course) -> tuple[Precision, ...]:
    """All formats that the card computes in."""
    return tuple(p for p in ORDER if support(course.context, p) is Support.NATIVE)


def power_of_two(count: int) -> int:
    """The largest power of two up to ``count``, at least 1."""
    return 1 << max(0, count.bit_length() - 1)


def resnet50(course: Course, effort: Effort) -> Steps:
    """Cold and sustained (steady where there is no time for both), fed; ``full``: all formats, layouts and batches."""
    if course.context.card.is_cpu:
        small = ResNet50Spec(batch=8, precision="fp32", image=64)
        synthetic = yield from measure(course, "resnet50", small, effort.seconds(4.0))
        if synthetic:
            yield from _fed(course, replace(small, batch=synthetic.spec.batch), effort, synthetic.point.value)
        return
    usual = brisk(course, ResNet50Spec(batch=RESNET_BATCH, precision=half(course)), RESNET_STEP_S)
    usual = fitting(usual, free_bytes(course)) or usual
    if effort.whole:
        yield from measure(course, "resnet50", usual, BURST_S, "burst", idle_s=COLD_IDLE_S)
        warm = yield from measure(course, "resnet50", usual, SUSTAINED_S, "sustained")
    else:
        warm = yield from measure(course, "resnet50", usual, effort.seconds(SUSTAINED_S, 2.0))
    if warm is None:
        return
    yield from _fed(course, replace(usual, batch=warm.spec.batch), effort, warm.point.value)
    if effort.full:
        yield from _each(course, "resnet50", _resnet50_settings(course, usual), effort.seconds(3.0))


def _fed(course: Course, spec: ResNet50Spec, effort: Effort, synthetic: float) -> Steps:
    """The same training from a DataLoader; ``starvation_fraction``: the share of the rate that feeding costs."""
    spec = replace(spec, loader="fed")
    yield from measure(course, "resnet50", spec, effort.seconds(5.0, 1.0), "steady", synthetic=synthetic)


def _resnet50_settings(course: Course, usual: ResNet50Spec) -> Sequence[Training]:
    plain = [
        replace(usual, precision=precision, channels_last=last)
        for precision in native(course)
        for last in (True, False)
    ]
    batches = [replace(usual, batch=batch) for batch in RESNET_SWEEP if batch != usual.batch]
    return [*plain, *batches, replace(usual, switches=COMPILED)]


def _each(course: Course, benchmark: str, specs: Sequence[Training], measure_s: float) -> Steps:
    """A sweep; settings that come to the same batch, because larger ones do not fit, are measured once."""
    free = free_bytes(course)
    for spec in dict.fromkeys(fitting(spec, free) or spec for spec in specs):
        yield from measure(course, benchmark, spec, measure_s, "sweep")


def _bert(course: Course, precision: Precision, sequence: int) -> BertSpec:
    spec = BertSpec(batch=power_of_two(BERT_TOKENS // sequence), precision=precision, sequence=sequence)
    return brisk(course, spec, STEP_S)


def bert_large(course: Course, effort: Effort) -> Steps:
    """Sequences of 384 (as published), 128 and 512 tokens; then with 2:4 sparse weights where the chip has them.

    The step with sparse weights prunes and packs by many small kernels, more than a host launches while a fast card is
    busy: it is replayed as a CUDA graph, and launched as it comes only where it cannot be captured.
    """
    precision = half(course)
    dense = yield from measure(course, "bert-large", _bert(course, precision, 384), effort.seconds(7.0))
    for sequence in (128, 512):
        yield from measure(course, "bert-large", _bert(course, precision, sequence), effort.seconds(5.0))
    if dense and sparse_pipes(course) and precision in ("fp16", "bf16"):
        spec = replace(_bert(course, precision, 384), batch=dense.spec.batch, sparse=True)
        graphed = replace(spec, switches=GRAPHED)
        seconds = effort.seconds(5.0)
        yield from measure(course, "bert-large", graphed, seconds, dense=dense.point.value, otherwise=spec)
    if effort.full:
        others = [_bert(course, p, s) for p in native(course) if p != precision for s in (128, 384, 512)]
        batches = [replace(_bert(course, precision, 384), batch=batch) for batch in (4, 16, 128)]
        compiled = replace(_bert(course, precision, 384), switches=COMPILED)
        yield from _each(course, "bert-large", [*others, *batches, compiled], effort.seconds(3.0))


def sparse_pipes(course: Course) -> bool:
    """Whether the chip multiplies 2:4 sparse operands: by the catalogue, else from compute capability 8.0 on."""
    card = course.context.card
    if card.is_cpu:
        return False
    if card.catalog and "sparsity_2_4" in card.catalog.features:
        return card.catalog.features["sparsity_2_4"] is Support.NATIVE
    said = card.compute_capability or str(course.context.worker.get("capability", ""))
    return said.partition(".")[0].isdigit() and int(said.partition(".")[0]) >= 8


def edsr(course: Course, effort: Effort) -> Steps:
    """The baseline and the full network."""
    if course.context.card.is_cpu:
        yield from measure(course, "edsr", EdsrSpec(batch=2, precision="fp32"), effort.seconds(4.0))
        return
    precision = half(course)
    most = [EdsrSpec(batch=EDSR_BATCH[v], precision=precision, variant=v) for v in ("baseline", "full")]
    usual = [brisk(course, spec, STEP_S) for spec in most]
    for spec in usual:
        yield from measure(course, "edsr", spec, effort.seconds(4.0))
    if effort.full:
        others = [replace(spec, precision=p) for spec in usual for p in native(course) if p != precision]
        paper = [replace(spec, batch=16) for spec in usual]
        plain = [replace(spec, channels_last=False) for spec in usual]
        compiled = [replace(spec, switches=COMPILED) for spec in usual]
        yield from _each(course, "edsr", [*others, *paper, *plain, *compiled], effort.seconds(3.0))


def gpt(course: Course, effort: Effort) -> Steps:
    """Sequences of 1024 tokens."""
    if course.context.card.is_cpu:
        yield from measure(course, "gpt", GptSpec(batch=1, precision="fp32", sequence=128), effort.seconds(4.0))
        return
    precision = half(course)
    usual = brisk(course, GptSpec(batch=GPT_BATCH, precision=precision), STEP_S)
    yield from measure(course, "gpt", usual, effort.seconds(6.0))
    if effort.full:
        others = [replace(usual, precision=p) for p in native(course) if p != precision]
        batches = [replace(usual, batch=batch) for batch in (1, 4, 16, 64)]
        yield from _each(course, "gpt", [*others, *batches, replace(usual, switches=COMPILED)], effort.seconds(3.0))


def lstm(course: Course, effort: Effort) -> Steps:
    """Sequences of 64 tokens; without BF16, in which cuDNN's recurrent layers do not run under autocast."""
    if course.context.card.is_cpu:
        yield from measure(course, "lstm", LstmSpec(batch=4, precision="fp32", sequence=32), effort.seconds(3.0))
        return
    precision: Precision = "fp16" if has_tensor_fp16(course.context) else "fp32"
    usual = brisk(course, LstmSpec(batch=LSTM_BATCH, precision=precision), STEP_S)
    yield from measure(course, "lstm", usual, effort.seconds(3.0))
    if effort.full:
        others = [replace(usual, precision=p) for p in native(course) if p not in (precision, "bf16")]
        batches = [replace(usual, batch=batch) for batch in (16, 64, 256) if batch != usual.batch]
        yield from _each(course, "lstm", [*others, *batches], effort.seconds(3.0))


def _llm(course: Course, precision: Precision, sequence: int, *, quantised: bool) -> LlmSpec:
    batch = max(1, LLM_TOKENS // sequence)
    spec = LlmSpec(batch=batch, precision=precision, sequence=sequence, quantised=quantised)
    return brisk(course, spec, LLM_STEP_S)


def llm_7b(course: Course, effort: Effort) -> Steps:
    """Four sequences of 2048 tokens at once where they fit and a step is not too long; in 4 bits where half precision
    does not fit. With ``full`` up to 8192, and both.
    """
    precision = half(course)
    quantised = fitting(_llm(course, precision, 2048, quantised=False), free_bytes(course)) is None
    usual = _llm(course, precision, 2048, quantised=quantised)
    found = yield from measure(course, "llm-7b", usual, effort.seconds(LLM_S))
    if not found or not effort.full:
        return
    settings = [_llm(course, precision, sequence, quantised=quantised) for sequence in (4096, 8192)]
    settings += [replace(usual, batch=batch) for batch in (1, 2, 4, 8) if batch != found.spec.batch]
    if not quantised and not _lacks(course, "bitsandbytes"):
        settings.append(_llm(course, precision, 2048, quantised=True))
    yield from _each(course, "llm-7b", settings, effort.seconds(8.0))


def _lacks(course: Course, package: str) -> bool:
    return Machine.of(course.context).lacks(package)


def not_on_cpu(machine: Machine) -> Unavailable | None:
    """Would take minutes on a processor."""
    return Unavailable(code="too_slow_on_cpu") if machine.card.is_cpu else None


def memory_for(spec: Training, machine: Machine) -> Unavailable | None:
    """Unavailable where one sample of ``spec`` does not fit the card."""
    has, line = machine.card.memory_total_bytes, memory_of(spec)
    needs = int(line.fixed_bytes + line.sample_bytes)
    if has is None or needs <= has:
        return None
    return Unavailable(code="memory_too_small", params={"needs_bytes": needs, "has_bytes": has})


def _large(spec: Training, machine: Machine) -> Unavailable | None:
    return not_on_cpu(machine) or memory_for(spec, machine)


def llm_unavailable(machine: Machine) -> Unavailable | None:
    """A processor, a card too small for the weights in half precision and without bitsandbytes, or even in 4 bits."""
    wide = _large(LlmSpec(batch=1), machine)
    if wide is None or wide.code != "memory_too_small":
        return wide
    return wide if machine.lacks("bitsandbytes") else memory_for(LlmSpec(batch=1, quantised=True), machine)


BENCHMARKS_TRAINING: tuple[Benchmark, ...] = (
    Benchmark(
        name="resnet50", group="training", unit="samples/s", default_s=68.0, full_s=240.0, cpu_s=20.0, run=resnet50
    ),
    Benchmark(
        name="bert-large",
        group="training",
        unit="samples/s",
        default_s=52.0,
        full_s=260.0,
        cpu_s=0.0,
        run=bert_large,
        unavailable=partial(_large, BertSpec(batch=1)),
    ),
    Benchmark(name="edsr", group="training", unit="samples/s", default_s=20.0, full_s=260.0, cpu_s=9.0, run=edsr),
    Benchmark(name="gpt", group="training", unit="samples/s", default_s=16.0, full_s=140.0, cpu_s=15.0, run=gpt),
    Benchmark(name="lstm", group="training", unit="samples/s", default_s=9.0, full_s=60.0, cpu_s=8.0, run=lstm),
    Benchmark(
        name="llm-7b",
        group="training",
        unit="samples/s",
        default_s=36.0,
        full_s=180.0,
        cpu_s=0.0,
        run=llm_7b,
        unavailable=llm_unavailable,
    ),
)
