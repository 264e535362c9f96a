"""Which number formats a card computes in: natively, by emulation, or not at all."""

from gputuner.analysis.roofline import lacks_tensor_cores
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import Support
from gputuner.workloads.specs import Precision


def support(context: PlanContext, precision: Precision) -> Support:
    """How the card of ``context`` offers ``precision``.

    The catalogue's word comes first, then compute capability: BF16 and TF32 from 8.0 on, FP16 tensor cores from 7.0;
    before, BF16 is emulated (what PyTorch calls supported counts emulation) and TF32 absent. On a CPU BF16 counts as
    emulated only where the worker says so; TF32 does not exist there.
    """
    card = context.card
    if precision == "fp32":
        return Support.NATIVE
    if card.is_cpu:
        if precision == "tf32":
            return Support.ABSENT
        native = context.worker.get("bf16_native")
        return Support.EMULATED if precision == "fp16" or native is False else Support.NATIVE
    key = "fp16_tensor" if precision == "fp16" else precision
    if card.catalog and key in card.catalog.features:
        said = card.catalog.features[key]
        return Support.NATIVE if precision == "fp16" and said is Support.ABSENT else said
    capability = _capability(context)
    if capability is None or capability >= 8.0:
        return Support.NATIVE
    if precision == "tf32":
        return Support.ABSENT
    return Support.EMULATED if precision == "bf16" else Support.NATIVE


def has_tensor_fp16(context: PlanContext) -> bool:
    """Whether FP16 runs on tensor cores (else it saves memory at best)."""
    card = context.card
    if card.is_cpu:
        return False
    if card.catalog and "fp16_tensor" in card.catalog.features:
        return card.catalog.features["fp16_tensor"] is Support.NATIVE
    capability = _capability(context)
    return capability is None or (capability >= 7.0 and not lacks_tensor_cores(card.name, f"{capability:.1f}"))


def matmul_order(context: PlanContext) -> tuple[Precision, ...]:
    """Formats for the matmul, most telling first; those that the chip lacks are left out."""
    if context.card.is_cpu:
        return ("fp32", "bf16", "fp16")
    first: tuple[Precision, ...] = ("bf16", "fp16") if support(context, "bf16") is Support.NATIVE else ("fp16", "bf16")
    order: tuple[Precision, ...] = (*first, "fp32", "tf32")
    return tuple(p for p in order if support(context, p) is not Support.ABSENT)


def burst_order(context: PlanContext) -> tuple[Precision, ...]:
    """Formats whose cold rate is measured: FP16 runs in the same units as a native BF16 and is left out then."""
    order = matmul_order(context)
    if context.card.is_cpu:
        return order[:1]
    twin = support(context, "bf16") is Support.NATIVE
    return tuple(p for p in order if support(context, p) is Support.NATIVE and not (twin and p == "fp16"))


def training_order(context: PlanContext) -> tuple[Precision, ...]:
    """Formats for the training, best guess first; only native ones."""
    if context.card.is_cpu:
        return ("bf16", "fp32") if context.worker.get("bf16_native") is True else ("fp32", "bf16")
    order: tuple[Precision, ...] = ("bf16", "tf32", "fp16", "fp32")
    if support(context, "bf16") is not Support.NATIVE:
        order = ("fp16", "fp32") if has_tensor_fp16(context) else ("fp32", "fp16")
    return tuple(p for p in order if support(context, p) is Support.NATIVE)


def _capability(context: PlanContext) -> float | None:
    said = context.card.compute_capability or context.worker.get("capability")
    try:
        return float(said) if isinstance(said, str) else None
    except ValueError:
        return None
