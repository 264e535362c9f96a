"""Attention, convolutions and launches on a simulated card."""

from collections.abc import Mapping
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load, iteration_s
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.burst_timing import PHASE, fits_bursts
from gputuner.workloads.simulated_costs.chip import (
    PROCESSOR_CHIP,
    STORAGE_BYTES,
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    plain_efficiency,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError

FUSED_SHARE: dict[str, dict[str, float]] = {
    "flash": {"GH100": 0.40, "GB100": 0.35},
    "cudnn": {"GH100": 0.66, "GB100": 0.62},
    "efficient": {"GH100": 0.30, "GB100": 0.25},
}
"""Reachable share of the tensor peak (FlashAttention-2 reaches 350, cuDNN above 600 TFLOP/s on an H100); on other chips
``USUAL_FUSED``."""
USUAL_FUSED = {"flash": 0.72, "cudnn": 0.74, "efficient": 0.5}
BACKWARD_SHARE = 0.8
"""Of the forward pass's share."""
SCORE_TRAFFIC = {"forward": 40.0, "forward_backward": 110.0}
"""Bytes that ``math`` moves for each score: FP32 scores, mask, softmax and products, each read and written."""
LEAST_TENSORS = {"forward": 4.0, "forward_backward": 12.0}
"""Tensors of the size of the queries that must be moved: those read and those written, each once."""
SCORE_BYTES = {"forward": 14, "forward_backward": 22}
CONV_SHARE = {(3, True): 0.78, (3, False): 0.5, (1, True): 0.72, (1, False): 0.5}
"""Reachable share of the peak by kernel and layout (channels-last or not)."""
ENQUEUE_S, DEVICE_S, GRAPH_S, ROUND_TRIP_S, DISPATCH_S = 3.4e-6, 1.5e-6, 1.3e-6, 9e-6, 0.9e-6
DISPATCHES = 1000
ERRORS = {"fp32": 3e-7, "tf32": 4e-4, "fp16": 3e-4, "bf16": 2.5e-3}


def attention(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Lengths × backends × directions; what does not fit or the chip lacks is left out."""
    facts = card.facts
    precision = precision_of(facts, params)
    heads, head_dim, tokens = int(params["heads"]), int(params["head_dim"]), int(params["tokens"])
    causal = 0.5 if params.get("causal", True) else 1.0
    settings: list[Setting] = []
    for sequence in map(int, str(params["sequences"]).split()):
        batch = max(1, tokens // sequence)
        scores = float(batch * heads * sequence**2)
        held = 8 * batch * sequence * heads * head_dim * STORAGE_BYTES[precision]
        for backend in str(params["backends"]).split():
            if backend != "math" and (not on_tensor_pipes(facts, precision) or _lacks(card, backend)):
                continue
            for direction, passes in (("forward", 1.0), ("forward_backward", 3.5)):
                need = held + (int(SCORE_BYTES[direction] * scores) if backend == "math" else 0)
                if need > card.free_bytes:
                    continue
                flop = 4.0 * scores * head_dim * causal * passes
                named: dict[str, Scalar] = {
                    "backend": backend, "direction": direction, "sequence": sequence, "batch": batch, "heads": heads,
                    "head_dim": head_dim, "causal": bool(params.get("causal", True)), "precision": precision,
                }  # fmt: skip
                tensor_bytes = batch * sequence * heads * head_dim * STORAGE_BYTES[precision]
                work = {"flop": flop}
                if backend != "math":
                    work["bytes"] = tensor_bytes * LEAST_TENSORS[direction]
                cost = _attention(card, precision, backend, direction, work, scores, need)
                settings.append(in_bursts(card, Setting(params=named, cost=cost)))
    if not settings:
        raise UnsupportedOnChipError("no length fits")
    return tuple(settings)


def _lacks(card: SimulatedCard, backend: str) -> bool:
    """Flash and cuDNN's kernels came with Ampere."""
    return backend != "efficient" and card.facts.bf16_tensor_tflops is None


def _attention(
    card: SimulatedCard,
    precision: str,
    backend: str,
    direction: str,
    work: dict[str, float],
    scores: float,
    held: int,
) -> Cost:
    facts, flop = card.facts, work["flop"]
    if backend == "math":
        share, traffic, rate = 0.7, SCORE_TRAFFIC[direction] * scores, flop_per_cycle(facts, "fp32")
        flop *= 2.0  # no score is skipped
    else:
        share = FUSED_SHARE[backend].get(facts.chip, USUAL_FUSED[backend])
        share *= BACKWARD_SHARE if direction != "forward" else 1.0
        traffic, rate = float(held), flop_per_cycle(facts, precision)
    return Cost(
        load=Load(
            compute_cycles=flop / (rate * share),
            dram_bytes=traffic,
            fixed_s=5e-6,
            host_s=20e-6 if direction == "forward" else 120e-6,
            activity=0.8 if backend != "math" else 0.5,
            overlapped=backend != "math",
            tensor=backend != "math",
        ),
        work=work,
        allocated_bytes=held,
        reserved_bytes=held,
        noise=0.004,
        relative_error=ERRORS[precision],
        notes={"kernel": "simulated", "allocated_peak_bytes": held, "emulated": emulated(facts, precision)},
    )


def conv(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Shapes × layouts × directions."""
    facts = card.facts
    precision, batch = precision_of(facts, params), int(params["batch"])
    tensor, size = on_tensor_pipes(facts, precision), STORAGE_BYTES[precision]
    settings: list[Setting] = []
    for name in str(params["shapes"]).split():
        kernel, _, channels, filters, image = map(int, name.replace("x", "-").split("-"))
        pixels = batch * image**2
        held = size * (2 * pixels * (channels + filters) + 2 * kernel**2 * channels * filters)
        for last in (True, False):
            for direction, passes in (("forward", 1.0), ("backward", 2.0)):
                flop = 2.0 * pixels * kernel**2 * channels * filters * passes
                share = CONV_SHARE[kernel if kernel == 1 else 3, last] if tensor else plain_efficiency(facts)
                moved = size * pixels * (channels + filters) * passes * (1.0 if last or not tensor else 2.0)
                inputs = passes * (pixels * channels + kernel**2 * channels * filters)
                cost = Cost(
                    load=Load(
                        compute_cycles=flop / (flop_per_cycle(facts, precision) * share),
                        dram_bytes=moved,
                        fixed_s=5e-6,
                        host_s=12e-6 if direction == "forward" else 30e-6,
                        activity=0.85 if tensor else 0.62,
                        tensor=tensor,
                    ),
                    work={"flop": flop, "bytes": size * (inputs + pixels * filters)},
                    allocated_bytes=held,
                    reserved_bytes=held,
                    noise=0.004,
                    relative_error=ERRORS[precision],
                    notes={"kernel": "simulated", "emulated": emulated(facts, precision)},
                )
                named: dict[str, Scalar] = {
                    "shape": name, "direction": direction, "channels_last": last, "batch": batch,
                    "precision": precision,
                }  # fmt: skip
                settings.append(in_bursts(card, Setting(params=named, cost=cost)))
    return tuple(settings)


def in_bursts(card: SimulatedCard, setting: Setting) -> Setting:
    """The setting timed as the body times it: in bursts, where an iteration is short enough."""
    if card.facts.chip == PROCESSOR_CHIP:
        return setting
    awake_hz, bandwidth = card.model.clock_max_mhz * 1e6, card.physics.bandwidth * card.physics.memory_rate
    if not fits_bursts(iteration_s(setting.cost.load, awake_hz, bandwidth)):
        return setting
    return replace(setting, params={**setting.params, "phase": PHASE}, bursts=True)


def launch(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Each way to launch; the host is the same for all cards."""
    kernels = int(params["kernels"])
    ways: dict[str, tuple[int, float, float]] = {
        "dispatch": (DISPATCHES, DISPATCHES * DISPATCH_S, 0.0),
        "enqueue": (kernels, kernels * ENQUEUE_S, kernels * DEVICE_S),
        "back_to_back": (kernels, kernels * ENQUEUE_S, kernels * DEVICE_S),
        "device": (kernels, 0.0, kernels * DEVICE_S),
        "round_trip": (1, ROUND_TRIP_S, DEVICE_S),
        "graph": (kernels, 6e-6, kernels * GRAPH_S),
    }
    return tuple(
        Setting(
            params={"mode": mode},
            cost=Cost(
                load=Load(
                    compute_cycles=0.0, dram_bytes=0.0, fixed_s=max(busy_s, 1e-9), host_s=host_s, activity=0.1,
                    tensor=False,
                ),
                work={"calls": float(calls)},
                allocated_bytes=0,
                reserved_bytes=0,
                noise=0.01,
                relative_error=0.0,
                notes={"kernel": "simulated"},
            ),
        )
        for mode, (calls, host_s, busy_s) in ways.items()
    )  # fmt: skip
