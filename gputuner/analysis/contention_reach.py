"""How hard a pressure probe presses alone: its FLOP/s or bytes/s over the card's peak (methods §2)."""

from collections.abc import Mapping

from gputuner.analysis.contention_pressure import DRAM, PCIE, SLICES, SM, TENSOR
from gputuner.analysis.roofline import card_peak_at_clock, link_peak
from gputuner.model.cards import CardInfo
from gputuner.model.points import Conditions
from gputuner.model.steps import Trial

FULL = 0.8
"""Of the peak: a probe that never pauses and reaches less does not press as hard as it could."""
FORMATS = {"bfloat16": "bf16", "float16": "fp16"}
MHZ = 1e6


def reached(
    probe: str, trial: Trial, card: CardInfo, published: Mapping[str, float], conditions: Conditions | None
) -> float | None:
    """Share of the card's peak that a probe reached alone; None: the peak is not known.

    Products against the SMs at the clock they ran, in FP32 or the probe's own half precision; a stream against the
    sheet's memory bandwidth, of which a copy reaches about 90 %; copies over the link, both directions, against twice
    its peak. Of the last cache and of a processor no peak is documented.
    """
    steps = sorted(trial.iteration_s)
    if not steps or conditions is None:
        return None
    step_s = steps[len(steps) // 2]
    if probe in (SLICES, SM, TENSOR):
        done, peak = trial.work.get("flop"), _flops(probe, trial, card, conditions)
    else:
        done = trial.work.get("bytes")
        peak = {DRAM: published.get("peak_bandwidth"), PCIE: _link(conditions)}.get(probe)
    return done / step_s / peak if done and peak else None


def _flops(probe: str, trial: Trial, card: CardInfo, conditions: Conditions) -> float | None:
    kind = str(trial.notes.get("format", "")) if probe == TENSOR else ""
    precision = FORMATS.get(kind) if probe == TENSOR else "fp32"
    if precision is None or conditions.sm_clock_mhz is None:
        return None
    return card_peak_at_clock(
        name=card.name,
        capability=card.compute_capability,
        sm_count=card.sm_count,
        precision=precision,
        clock_hz=conditions.sm_clock_mhz * MHZ,
    )


def _link(conditions: Conditions) -> float | None:
    if conditions.pcie_generation is None or conditions.pcie_width is None:
        return None
    one_way = link_peak(conditions.pcie_generation, conditions.pcie_width)
    return None if one_way is None else 2.0 * one_way
