"""Specs of inference: a decoder that reads prompts and writes tokens."""

from dataclasses import dataclass
from typing import ClassVar

from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.training_shapes import LLM, LlmShape
from gputuner.workloads.specs import ELEMENT_BYTES, Precision, check_precision, check_range
from gputuner.workloads.specs_training import WORKSPACE_BYTES, Decoder

KEPT_PER_WIDTH = 24
"""Numbers per token and unit of width that a prefill holds at once: the stream, its projections and the gated part."""


def decode_bytes_needed(shape: LlmShape, element: int, tokens: int) -> float:
    """Memory to decode with ``tokens`` in the cache, ``element`` bytes per number."""
    cache = 2.0 * shape.layers * shape.width
    return element * (shape.parameters + tokens * (cache + KEPT_PER_WIDTH * shape.width)) + WORKSPACE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSpec:
    """Prefill and decode at each of ``contexts`` tokens, in ascending order, as one survey."""

    workload: ClassVar[str] = "decode"
    contexts: tuple[int, ...]
    precision: Precision = "bf16"
    batch: int = 1
    model: Decoder = "7b"
    eager: bool = False
    """Launch each kernel of a decode step by itself instead of replaying a CUDA graph."""

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 16)
        for context in self.contexts:
            check_range("context", context, 2, 1 << 20)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "contexts": " ".join(map(str, self.contexts)),
            "precision": self.precision,
            "batch": self.batch,
            "model": self.model,
            **({"eager": True} if self.eager else {}),
        }

    def needed_bytes(self) -> float:
        """Memory at the longest context: weights, cache, and what a prefill holds at once."""
        return decode_bytes_needed(LLM[self.model], ELEMENT_BYTES[self.precision], self.batch * max(self.contexts))
