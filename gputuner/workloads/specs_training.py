"""Specs of the trainings beside ResNet-50, each with the memory that it needs.

Memory is a line over the batch: weights, gradients and the optimizer's state, and per sample what is kept for the
backward pass. The latter was counted with torch's hooks on saved tensors (per token, layer and unit of width 36 bytes
in half precision and 64 in FP32 for BERT and GPT-2; 2 for the checkpointed decoder; 4 and 8 per pixel, block and
channel of EDSR; 46 and 68 for the LSTM), the scores and their gradients added. It sizes the first trial; the trial's
own peak is what is told.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import AS_IS, Switches
from gputuner.workloads.bodies.training_shapes import (
    EDSR,
    LLM,
    LORA_RANK,
    BertShape,
    GptShape,
    LstmShape,
    resnet50_flop,
)
from gputuner.workloads.specs import Precision, ResNet50Spec, check_precision, check_range, check_switches

Variant = Literal["baseline", "full"]
Decoder = Literal["7b", "1b", "125m"]
WORKSPACE_BYTES = 256 << 20
"""Workspaces of the libraries and rounding of the allocator."""
STATE_BYTES = 16
"""Per trained weight under Adam: weight, gradient and two moments, FP32 each (methods as ZeRO, arXiv 1910.02054)."""
HALF_COPY_BYTES = 2
"""Per weight: what autocast keeps in half precision for the backward pass."""
SCORE_BYTES = 12
"""Per score of a token: in half precision, in FP32 for the loss, and gradients of both."""
NF4_BYTES = 0.5625
"""Per weight: 4 bits, and an FP32 scale for each 64 of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine:
    """Peak memory ≈ ``fixed_bytes`` + batch × ``sample_bytes``."""

    fixed_bytes: float
    sample_bytes: float

    def largest(self, room_bytes: float) -> int:
        """Largest batch that fits into ``room_bytes``; 0: none."""
        return max(0, int((room_bytes - self.fixed_bytes) / self.sample_bytes))


def _half(precision: Precision) -> bool:
    return precision in ("fp16", "bf16")


def _adam(parameters: int, precision: Precision) -> float:
    return parameters * (STATE_BYTES + (HALF_COPY_BYTES if _half(precision) else 0)) + WORKSPACE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class BertSpec:
    """One training step of BERT-large, question answering over ``sequence`` tokens, AdamW."""

    workload: ClassVar[str] = "bert"
    batch: int
    precision: Precision = "bf16"
    sequence: int = 384
    sparse: bool = False
    """Weights 2:4 sparse, pruned anew in each step."""
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what the network cannot take."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_switches(self.switches)
        check_range("sequence", self.sequence, 2, BertShape().positions)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "sequence": self.sequence,
            **({"sparse": True} if self.sparse else {}),
            **self.switches.params(),
        }

    def memory(self) -> MemoryLine:
        """Memory that it needs."""
        shape = BertShape()
        token = (37 if _half(self.precision) else 65) * shape.layers * shape.width
        return MemoryLine(
            fixed_bytes=_adam(shape.parameters, self.precision), sample_bytes=float(token * self.sequence)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EdsrSpec:
    """One training step of EDSR ×2 on patches of 48² low-resolution pixels, L1 loss, Adam."""

    workload: ClassVar[str] = "edsr"
    batch: int
    precision: Precision = "bf16"
    variant: Variant = "baseline"
    patch: int = 48
    channels_last: bool = True
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what the network cannot take."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_switches(self.switches)
        check_range("patch", self.patch, 8, 1024)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "variant": self.variant,
            "patch": self.patch,
            "channels_last": self.channels_last,
            **self.switches.params(),
        }

    def memory(self) -> MemoryLine:
        """Memory that it needs."""
        shape = EDSR[self.variant]
        pixel = (4 * shape.blocks + 26) * shape.channels * (1 if _half(self.precision) else 2)
        return MemoryLine(
            fixed_bytes=_adam(shape.parameters, self.precision), sample_bytes=float(pixel * self.patch**2)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GptSpec:
    """One training step of a decoder of GPT-2 small's size, AdamW."""

    workload: ClassVar[str] = "gpt"
    batch: int
    precision: Precision = "bf16"
    sequence: int = 1024
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what the network cannot take."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_switches(self.switches)
        check_range("sequence", self.sequence, 2, GptShape().positions)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "sequence": self.sequence,
            **self.switches.params(),
        }

    def memory(self) -> MemoryLine:
        """Memory that it needs."""
        shape = GptShape()
        token = (37 if _half(self.precision) else 65) * shape.layers * shape.width + SCORE_BYTES * shape.vocabulary
        return MemoryLine(
            fixed_bytes=_adam(shape.parameters, self.precision), sample_bytes=float(token * self.sequence)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LstmSpec:
    """One training step of a language model of two LSTM layers, 1024 wide, AdamW."""

    workload: ClassVar[str] = "lstm"
    batch: int
    precision: Precision = "bf16"
    sequence: int = 64
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_switches(self.switches)
        check_range("sequence", self.sequence, 2, 4096)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "sequence": self.sequence,
            **self.switches.params(),
        }

    def memory(self) -> MemoryLine:
        """Memory that it needs."""
        shape = LstmShape()
        token = (46 if _half(self.precision) else 68) * shape.layers * shape.width + SCORE_BYTES * shape.vocabulary
        return MemoryLine(
            fixed_bytes=_adam(shape.parameters, self.precision), sample_bytes=float(token * self.sequence)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSpec:
    """One training step of low-rank adapters on a 7 B decoder with checkpointing; ``quantised``: weights in 4 bits."""

    workload: ClassVar[str] = "llm"
    batch: int
    precision: Precision = "bf16"
    sequence: int = 2048
    quantised: bool = False
    model: Decoder = "7b"
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 16)
        check_switches(self.switches)
        check_range("sequence", self.sequence, 2, 1 << 17)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "sequence": self.sequence,
            "model": self.model,
            "quantised": self.quantised,
            **self.switches.params(),
        }

    def memory(self) -> MemoryLine:
        """Memory that it needs: per token the layers' inputs, the scores, and one layer that is computed again."""
        shape = LLM[self.model]
        element = 2 if _half(self.precision) else 4
        outside = 2 * shape.width * shape.vocabulary
        inside = shape.layers * shape.layer_weights
        stored = element * outside + (NF4_BYTES if self.quantised else element) * inside
        again = 18 * element * shape.width
        token = element * shape.layers * shape.width + SCORE_BYTES * shape.vocabulary + again
        fixed = stored + _adam(shape.adapters(LORA_RANK), self.precision)
        if self.quantised:
            fixed += element * shape.width * shape.feed_forward  # the weight that is being unpacked
        return MemoryLine(fixed_bytes=fixed, sample_bytes=float(token * self.sequence))


Training = ResNet50Spec | BertSpec | EdsrSpec | GptSpec | LstmSpec | LlmSpec


def memory_of(spec: Training) -> MemoryLine:
    """Memory that a training needs; of ResNet-50 as recorded on an H200 at 224 px (44.7 MB per image in half)."""
    if not isinstance(spec, ResNet50Spec):
        return spec.memory()
    fixed, image = (360.4e6, 44.73e6) if _half(spec.precision) else (301.9e6, 86.67e6)
    return MemoryLine(fixed_bytes=fixed, sample_bytes=image * (spec.image / 224) ** 2)


def flop_of(spec: Training) -> float:
    """Operations that one training sample needs."""
    match spec:
        case ResNet50Spec():
            return resnet50_flop(spec.image)
        case BertSpec():
            return BertShape().flop(spec.sequence)
        case GptSpec():
            return GptShape().flop(spec.sequence)
        case LstmSpec():
            return LstmShape().flop(spec.sequence)
        case EdsrSpec():
            return EDSR[spec.variant].flop(spec.patch)
        case LlmSpec():
            return LLM[spec.model].adapter_flop(spec.sequence, LORA_RANK)
