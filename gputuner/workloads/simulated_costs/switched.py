"""Switches of a training on a simulated card: those whose effect follows from the card's facts; the others are refused.

Compiled: the shares of traffic and launches that fusing leaves are the training's own. FP16 accumulation: the ratio of
the sheet's two tensor rates, where the training's work is matrix products. A captured step is launched once.
Checkpointing: one more forward pass, a third of forward and backward (Chen et al., arXiv 1604.06174), and only the
inputs of the blocks beside one block's own are kept. How attention backends, optimizers, the allocator and cuDNN's
autotuner act is not in a sheet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gputuner.catalog.facts import CardFacts
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import NAMES
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError

MODELLED = frozenset({"compile", "fp16_accumulate", "checkpointing", "cuda_graph"})
ONE_MORE_FORWARD = 4.0 / 3.0
GRAPH_LAUNCH_S = 20e-6
"""One launch of a captured step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """Factors on what a training costs without the switches."""

    compute: float = 1.0
    """Of the time in products."""
    again: float = 1.0
    """Of operations and traffic: what is computed twice."""
    kept: float = 1.0
    """Of the bytes kept per sample."""
    graph: bool = False

    def host_s(self, seconds: float) -> float:
        """For which launching a step keeps the host busy."""
        return GRAPH_LAUNCH_S if self.graph else seconds


def switched(
    facts: CardFacts, params: Mapping[str, Scalar], *, products: bool, kept: float | None, own: bool = False
) -> Switched:
    """What the switches among ``params`` do.

    Args:
        facts: of the card.
        params: of the trial.
        products: the training's work is matrix products (not convolutions).
        kept: share of the bytes per sample that checkpointing leaves; None: not known.
        own: the training is checkpointed by itself already.

    Raises:
        UnsupportedOnChipError: one of them cannot be simulated, or the chip or format has no such thing.
    """
    asked = [name for name in NAMES if params.get(name)]
    unknown = [name for name in asked if name not in MODELLED]
    if unknown:
        raise UnsupportedOnChipError(f"a simulated card cannot tell what {unknown[0].replace('_', ' ')} does")
    compute, again, share = 1.0, 1.0, 1.0
    if "fp16_accumulate" in asked:
        if params.get("precision") != "fp16":
            raise UnsupportedOnChipError("FP16 accumulation changes products of FP16 matrices only")
        wide, narrow = facts.fp16_tensor_fp32acc_tflops, facts.fp16_tensor_fp16acc_tflops
        compute = wide / narrow if products and wide and narrow else 1.0
    if "checkpointing" in asked and not own:
        if kept is None:
            raise UnsupportedOnChipError("a simulated card cannot tell what checkpointing saves of this training")
        again, share = ONE_MORE_FORWARD, kept
    return Switched(compute=compute, again=again, kept=share, graph="cuda_graph" in asked)
