"""A watched training that keeps its card busy, or its memory full: number format, layout, allocator, steps skipped."""

from gputuner.advice import snippets, watching_snippets
from gputuner.advice.making import make
from gputuner.advice.watching_seen import WatchedEvidence, gain_of_share
from gputuner.model.advice import Advice, Confidence
from gputuner.model.cards import Support
from gputuner.model.readings import Scalar
from gputuner.model.watched import WatchCause

BUSY = 0.3
"""Share of the time the card worked from which on its number format is worth a change."""
FULL = 0.95
"""Share of the memory from which on the next longer sample may not fit."""
SKIPPED = 0.2
"""Share of steps that the scaler skipped from which on they are more than its search for a scale (methods §5)."""
LEAST_SKIPPED = 20
SYSTEM = 0.15
"""Share of the time for taking and moving new memory from which on it is worth a word."""
SINCE = {"bf16": 8.0, "tf32": 8.0, "fp16_tensor": 7.0}
"""Compute capability from which on a chip has a format natively, where the catalogue does not know it."""


def precision_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.precision``: everything is computed in FP32 on a chip with faster formats. What it gains is measured."""
    main = seen.main
    worked = sum(seen.share(cause) for cause in (WatchCause.COMPUTE, WatchCause.MEMORY_BANDWIDTH, WatchCause.CARD_BUSY))
    worked += seen.share(WatchCause.POWER) + seen.share(WatchCause.HEAT)
    if main is None or not seen.cuda or worked < BUSY or main.autocast != "off" or main.parameter_dtype != "float32":
        return []
    name = _format(seen)
    if name is None:
        return []
    params: dict[str, Scalar] = {"precision": name, "worked": worked, "tf32": main.tf32_matmul is True}
    return [
        make(
            "watch.precision",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.COMPUTE),
            confidence=Confidence.MODEL,
            weight=20.0 * worked,
            snippet=snippets.precision(name, cpu=False),
        )
    ]


def tf32_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.tf32``: products in FP32 proper where the chip has TF32, and no autocast."""
    main = seen.main
    worked = seen.share(WatchCause.COMPUTE) + seen.share(WatchCause.CARD_BUSY) + seen.share(WatchCause.POWER)
    if main is None or not seen.cuda or main.tf32_matmul is not False or main.autocast != "off" or worked < BUSY:
        return []
    if not _native(seen, "tf32"):
        return []
    params: dict[str, Scalar] = {"worked": worked, "convolutions": main.tf32_cudnn is True}
    return [
        make(
            "watch.tf32",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.COMPUTE),
            confidence=Confidence.MODEL,
            weight=12.0 * worked,
            snippet=snippets.precision("tf32", cpu=False).splitlines()[0],
        )
    ]


def memory_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.memory_retried``: the allocator had to give its blocks back; ``watch.memory_full``: little is left."""
    main = seen.main
    taken = seen.sign("peak_of_limit") if main is not None and main.allocated_peak_bytes is not None else None
    if main is None or not seen.cuda:
        return []
    retries = main.retries or 0
    if retries == 0 and (taken is None or taken < FULL):
        return []
    params: dict[str, Scalar] = {"retries": retries, "steps": main.steps}
    if taken is not None:
        params["taken"] = taken
    if main.split_bytes is not None:
        params["split_bytes"] = main.split_bytes
    evidence, snippet = seen.ids("watch_memory_peak"), watching_snippets.expandable()
    weight = 25.0 if seen.spent.cause is WatchCause.MEMORY_CAPACITY else 8.0
    card, model = seen.card.uuid, Confidence.MODEL
    if retries:
        return [make("watch.memory_retried", card, params, evidence, confidence=model, weight=weight, snippet=snippet)]
    return [make("watch.memory_full", card, params, evidence, confidence=model, weight=weight)]


def faults_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.page_faults``: on a processor each step takes its memory from the system anew."""
    system, faulted = seen.sign("system_time"), seen.sign("faulted_bytes_per_step")
    if seen.cuda or system is None or faulted is None or seen.share(WatchCause.MEMORY_BANDWIDTH) < SYSTEM:
        return []
    params: dict[str, Scalar] = {"system": system, "bytes": faulted}
    return [
        make(
            "watch.page_faults",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.MEMORY_BANDWIDTH),
            confidence=Confidence.MODEL,
            gain=gain_of_share(system, 0.5),
            snippet=watching_snippets.kept_pages(),
        )
    ]


def skipped_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.skipped_steps``: the gradient scaler skips steps: gradients overflow, and nothing is learned in them."""
    main = seen.main
    if main is None or main.skipped_steps < LEAST_SKIPPED:
        return []
    share = main.skipped_steps / (main.steps + main.skipped_steps)
    if share < SKIPPED:
        return []
    params: dict[str, Scalar] = {"skipped": main.skipped_steps, "share": share}
    return [make("watch.skipped_steps", seen.card.uuid, params, seen.ids("watch_skipped"), weight=40.0)]


def _format(seen: WatchedEvidence) -> str | None:
    """The half format that this chip computes natively; None where none is known to be."""
    if _native(seen, "bf16"):
        return "bf16"
    return "fp16" if _native(seen, "fp16_tensor") else None


def _native(seen: WatchedEvidence, feature: str) -> bool:
    catalog = seen.card.catalog
    if catalog is not None and feature in catalog.features:
        return catalog.features[feature] is Support.NATIVE
    said = seen.card.compute_capability or "0"
    return float(said) >= SINCE[feature] if said.replace(".", "", 1).isdigit() else False
