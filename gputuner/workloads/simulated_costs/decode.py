"""Inference of a decoder on a simulated card: prefill bound by the pipes, decode by the memory."""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.training_shapes import LLM
from gputuner.workloads.simulated_costs.chip import (
    STORAGE_BYTES,
    dual_issue,
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost, Setting
from gputuner.workloads.specs_inference import decode_bytes_needed

LAYER_S = 20e-6
"""Per layer of a decode step that no clock shortens: about ten small kernels."""
EAGER_LAYER_S = 130e-6
"""Per layer to launch without a graph."""
PREFILL_BYTES = 200.0
"""Traffic of a prefill per token, layer and unit of width."""
DECODE_SHARE = 0.92
"""Share of the copy rate at which weights are read."""


def decode(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Prefill and decode at each context, as the real survey goes."""
    facts = card.facts
    precision, batch = precision_of(facts, params), int(params["batch"])
    eager = bool(params.get("eager", False))
    shape, contexts = LLM[str(params["model"])], [int(context) for context in str(params["contexts"]).split()]
    element, tensor = STORAGE_BYTES[precision], on_tensor_pipes(facts, precision)
    rate = flop_per_cycle(facts, precision) * (0.85 if tensor else 0.7 if dual_issue(facts) else 0.85)
    held = int(decode_bytes_needed(shape, element, batch * max(contexts)))

    def setting(stage: str, context: int, load: Load, work: dict[str, float], notes: dict[str, Scalar]) -> Setting:
        named: dict[str, Scalar] = {"stage": stage, "context": context, "batch": batch, "precision": precision}
        cost = Cost(
            load=load,
            work=work,
            allocated_bytes=held,
            reserved_bytes=held,
            noise=0.004,
            relative_error=4e-3 if stage == "decode" else None,
            notes={"kernel": "simulated", "emulated": emulated(facts, precision), **notes},
        )
        return Setting(params=named, cost=cost)

    settings: list[Setting] = []
    for context in contexts:
        flop = shape.prefill_flop(context)
        load = Load(
            compute_cycles=batch * flop / rate,
            dram_bytes=element * shape.product_weights + PREFILL_BYTES * batch * context * shape.layers * shape.width,
            fixed_s=1e-3,
            host_s=EAGER_LAYER_S * shape.layers,
            activity=1.0 if tensor else 0.7,
            stall_activity=0.2,
            overlapped=False,
            tensor=tensor,
        )
        work = {
            "tokens": float(batch * context),
            "flop": batch * flop,
            "bytes": shape.prefill_bytes(context, batch, element),
        }
        settings.append(setting("prefill", context, load, work, {"model_flop_per_token": flop / context}))
        moved = shape.decode_bytes(context, batch, element)
        load = Load(
            compute_cycles=batch * shape.decode_flop(context) / rate,
            dram_bytes=moved / DECODE_SHARE,
            fixed_s=LAYER_S * shape.layers,
            host_s=EAGER_LAYER_S * shape.layers if eager else 1e-4,
            activity=0.35,
            tensor=tensor,
        )
        told: dict[str, Scalar] = {
            "cuda_graph": not eager,
            "model_flop_per_token": shape.decode_flop(context),
            "bytes_per_token": moved / batch,
        }
        work = {"tokens": float(batch), "flop": batch * shape.decode_flop(context), "bytes": moved}
        settings.append(setting("decode", context, load, work, told))
    return tuple(settings)
