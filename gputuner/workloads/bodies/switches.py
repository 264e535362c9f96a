"""Switches of a training beside number format and layout: one set, which specs (parent) and bodies (worker) share.

No torch is imported here; ``training_switches`` applies them.
"""

from dataclasses import dataclass, fields

ATTENTION = ("flash", "efficient", "cudnn", "math")
"""Backends of ``scaled_dot_product_attention``."""
OPTIMIZERS = ("plain", "foreach", "fused")
"""How an optimizer steps: one weight after the other, groups of them at once, or all in one kernel."""
ACCUMULATE = "accumulate"
"""Param of any training beside its switches: batches for each optimizer step."""
EXPANDABLE = "expandable_segments:True"
ALLOCATOR_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
"""The allocator's environment variable, by its old and its new name (torch 2.9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """All as torch and the training have them by default, where nothing else is said."""

    compile: bool = False
    """``torch.compile`` the model. It compiles in the first step, which is not timed."""
    fp16_accumulate: bool = False
    """cuBLAS may add up products of FP16 matrices in FP16 (torch 2.7)."""
    sdpa: str = ""
    """The only backend of attention that is allowed; empty: torch chooses."""
    checkpointing: "bool | None" = None
    """Keep only the inputs of the model's blocks for the backward pass; None: as the training has it."""
    optimizer_kind: str = ""
    """One of ``OPTIMIZERS``; empty: as the training has it."""
    expandable_segments: bool = False
    """The allocator's segments grow. Set in the worker's environment before torch is imported."""
    autotune: bool = False
    """cuDNN's autotuner; torch has it off. On an H200 it gained nothing for ResNet-50 and cost 5 to 20 s for each new
    shape."""
    cuda_graph: bool = False
    """The whole step is captured in a CUDA graph and replayed."""

    def params(self) -> "dict[str, bool | str]":
        """Those that differ from the default, as they cross the wire."""
        return {
            each.name: value for each in fields(self) if (value := getattr(self, each.name)) not in ("", None, False)
            or (each.name == "checkpointing" and value is False)
        }  # fmt: skip

    def environment(self) -> "tuple[tuple[str, str], ...]":
        """Variables that the worker's process needs from its start."""
        return tuple((name, EXPANDABLE) for name in ALLOCATOR_VARIABLES) if self.expandable_segments else ()


AS_IS = Switches()
NAMES = tuple(each.name for each in fields(Switches))
