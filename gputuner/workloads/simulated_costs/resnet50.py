"""Training steps of ResNet-50 on a simulated card: time by roofline, memory by the recorded line."""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import NAMES
from gputuner.workloads.bodies.training_shapes import resnet50_flop
from gputuner.workloads.simulated_costs.chip import (
    PROCESSOR_CHIP,
    conversion_time,
    converted,
    dual_issue,
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost
from gputuner.workloads.simulated_costs.switched import switched

TRAINING_FLOP = 49e9
"""Tensor work of one ResNet-50 sample at 224 px, as peak rates would do it (its 24.6 GFLOP at half of the peak); with
``TRAINING_BYTES`` fitted to published 3090 and 4090 rates (826 and 1301 images/s, AMP)."""
TRAINING_BYTES = 0.45e9
FIXED_S = 3.5e-3
"""Step time that does not shrink with the batch (H200 recording: 3.2–3.9 ms over batch 16 … 128)."""
GAP_S = 1.8e-3
"""Of it between kernels: the profiler saw the card busy for 1.7 ms and 0.40 ms a sample (H200 recording)."""
PROCESSOR_FIXED_S = 0.11
"""The same on a processor (two cores: 18, 24, 28 and 29 images/s of 64 px at batch 4, 8, 16 and 32)."""

MEMORY_LINE: dict[str, tuple[float, float]] = {
    "fp32": (301.9e6, 86_673_586.0),
    "tf32": (301.9e6, 86_673_586.0),
    "fp16": (350.2e6, 44_732_000.0),
    "bf16": (360.4e6, 44_721_510.0),
}
"""Peak allocated bytes of ResNet-50 at 224 px: fixed part, and per sample (H200 recording, batch 128 and 512)."""
RESERVED_OVER_ALLOCATED = 1.22
UNRELEASABLE = 1.014
"""Room for fragmentation that the allocator cannot give back (methods §3: predicted 568, true 560)."""

_HOST_S = {"fp32": 12.9e-3, "tf32": 12.9e-3, "fp16": 15.0e-3, "bf16": 19.6e-3}
"""Launching one step takes the host this long (H200 recording, small batches)."""
COMPILED_TRAFFIC, COMPILED_HOST = 0.75, 0.5
"""What fusing the elementwise work leaves of traffic and launches."""
FED_WORKERS = 8
FED_RATE = 6500.0
"""Images/s that eight loader processes collate and hand over, bytes of 224 px."""
_WIDE_CHIP = {"bf16": 1.38, "fp16": 1.09}
"""Hopper: how much slower AMP steps ran than the model says (H200 recording: 2526 and 3125 images/s)."""


def resnet50(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One training step."""
    facts, model = card.facts, card.model
    precision = precision_of(facts, params)
    batch, image = int(params["batch"]), int(params.get("image", 224))
    channels_last = bool(params.get("channels_last", False))
    half = precision in {"fp16", "bf16"}
    tensor = on_tensor_pipes(facts, precision)
    slowness = _slowness(card, precision)
    scale = batch * (image / 224) ** 2 * slowness
    plain = 1.4 if dual_issue(facts) else 0.65
    flop = TRAINING_FLOP * (1.0 if tensor else plain) * (0.7 if half and channels_last and tensor else 1.0)
    narrow = half and not converted(facts, precision)
    traffic = TRAINING_BYTES * (1.0 if narrow else 1.3) * (0.65 if narrow and channels_last else 1.0)
    again = conversion_time(facts, precision)
    fixed, per_sample = MEMORY_LINE[precision]
    host_s = _HOST_S[precision] * (1.0 if facts.passive else 0.75)
    switches = switched(facts, params, products=False, kept=None)
    notes: dict[str, Scalar] = {name: value for name, value in params.items() if name in NAMES}
    if params.get("compile"):
        traffic, host_s = traffic * COMPILED_TRAFFIC, host_s * COMPILED_HOST
    host_s = switches.host_s(host_s)
    if params.get("loader") == "fed":
        host_s = max(host_s, batch * (image / 224) ** 2 / FED_RATE)
        notes |= {"loader_workers": FED_WORKERS, "copied_bytes": batch * (3 * image * image + 8)}
    allocated = int(fixed + per_sample * batch * (image / 224) ** 2)
    return Cost(
        load=Load(
            compute_cycles=again * flop * scale / flop_per_cycle(facts, precision),
            dram_bytes=again * traffic * scale * model.copy_efficiency,
            fixed_s=PROCESSOR_FIXED_S if facts.chip == PROCESSOR_CHIP else FIXED_S - GAP_S,
            gap_s=0.0 if facts.chip == PROCESSOR_CHIP else GAP_S,
            host_s=host_s,
            activity=1.15 / slowness if tensor else 0.75,
            stall_activity=0.2,
            overlapped=False,
            tensor=tensor,
        ),
        work={"samples": float(batch)},
        allocated_bytes=allocated,
        reserved_bytes=int(allocated * RESERVED_OVER_ALLOCATED) + _autotuner(batch, half),
        noise=0.006,
        notes={
            "channels_last": channels_last,
            "emulated": emulated(facts, precision),
            "kernel": "simulated",
            "loss_finite": True,
            "optimizer": "sgd_momentum",
            "convolutional": True,
            "model_flop_per_sample": resnet50_flop(image),
            **notes,
        },
    )


def _slowness(card: SimulatedCard, precision: str) -> float:
    """Factor on what peak rates predict: wide chips, and BF16 kernels that are less tuned than FP16 ones."""
    if card.facts.chip in {"GH100", "GB100"}:
        wide = card.model.training_factor
        return wide * _WIDE_CHIP.get(precision, 1.0) if precision != "fp32" else wide**0.5
    return card.model.training_factor * (1.04 if precision == "bf16" else 1.0)


def _autotuner(batch: int, half: bool) -> int:
    """At tiny batches cuDNN's autotuner reserves far more than is needed (recorded up to 6 GiB)."""
    return 2**30 if half and batch == 1 else 0
