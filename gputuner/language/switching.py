"""The words of the comparison of switches: warnings, what is left out, and settings of a training in one line."""

from collections.abc import Mapping
from typing import cast

from gputuner.language.steps import settings
from gputuner.language.words import N_, _
from gputuner.model.readings import Scalar

WARNINGS: dict[str, str] = {
    "switch_batch_halved": N_("{workload} does not fit in FP32 at batch {batch}; everything is compared at {half}."),
    "modules_unknown": N_("How long single modules of {workload} take is not known: {reason}."),
    "switch_unavailable": N_("{setting} was left out for {workload}: {reason}."),
}
STAGES: dict[str, str] = {
    "switch_channels_last": N_("the channels-last layout"),
    "switch_compile": N_("torch.compile"),
    "switch_optimizer_kind": N_("another way of stepping the optimizer"),
    "switch_cuda_graph": N_("the step as a CUDA graph"),
    "switch_fp16_accumulate": N_("accumulation in FP16"),
    "switch_sdpa": N_("another attention backend"),
    "switch_autotune": N_("cuDNN's autotuner"),
    "switch_checkpointing": N_("gradient checkpointing"),
    "switch_expandable_segments": N_("expandable segments of the allocator"),
    "switch_together": N_("all gains together"),
    "switch_again": N_("measuring a gain once more"),
    "switch_modules": N_("the time of single modules"),
}
REASONS: dict[str, str] = {
    "out_of_memory": N_("it does not fit in memory"),
    "lost": N_("the measuring process was lost"),
}
NAMES = (
    "precision",
    "channels_last",
    "compile",
    "fp16_accumulate",
    "sdpa",
    "checkpointing",
    "optimizer_kind",
    "expandable_segments",
    "autotune",
    "cuda_graph",
)


def setting(params: Mapping[str, object], prefix: str = "") -> str:
    """Format, layout and switches among ``params`` in one line; of those whose names begin with ``prefix``."""
    own = {name: params[prefix + name] for name in NAMES if prefix + name in params}
    return settings(cast(Mapping[str, Scalar], own))


def named(params: Mapping[str, object]) -> dict[str, object]:
    """What a warning of this comparison says besides its values."""
    why = str(params.get("reason", ""))
    return {"setting": setting(params), "reason": _(REASONS[why]) if why in REASONS else why}
