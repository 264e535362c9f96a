"""Gradient accumulation that keeps the effective batch exactly."""

from dataclasses import dataclass

from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import make
from gputuner.advice.snippets import accumulate
from gputuner.analysis.memory import fit_memory_line
from gputuner.model.advice import Advice, Confidence
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

LARGER_BY = 1.3
"""A larger micro batch with another effective batch is named from this factor on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """An effective batch as ``micro`` × ``steps``; the other pair fills memory better but changes it."""

    micro: int
    steps: int
    other_micro: int | None = None
    other_steps: int | None = None

    @property
    def other_change(self) -> float | None:
        """Relative change of the effective batch with the other pair."""
        if self.other_micro is None or self.other_steps is None:
            return None
        return self.other_micro * self.other_steps / (self.micro * self.steps) - 1.0


def split(effective: int, largest: int) -> Split:
    """The largest micro batch up to ``largest`` that divides ``effective``, never another effective batch silently.

    Raises:
        ValueError: not even one sample fits.
    """
    if largest < 1 or effective < 1:
        raise ValueError("not even one sample fits")
    micro = max(d for d in range(1, min(effective, largest) + 1) if effective % d == 0)
    if largest >= effective or largest < LARGER_BY * micro:
        return Split(micro=micro, steps=effective // micro)
    return Split(
        micro=micro, steps=effective // micro, other_micro=largest, other_steps=max(1, -(-effective // largest))
    )


def accumulate_rule(evidence: Evidence) -> list[Advice]:
    """``batch.accumulate``: needed where the effective batch does not fit safely.

    Where it fits but a smaller batch reaches the same rate, the same split saves memory at no cost (``needed`` False).
    """
    found: list[Advice] = []
    effective = evidence.effective_batch
    for workload in evidence.workloads():
        best = best_setting(evidence, workload)
        if best is None:
            continue
        (precision, channels_last), points = best
        safe = evidence.last("batch_safe", precision=precision, channels_last=channels_last)
        quickest = evidence.last("batch_fastest", precision=precision, channels_last=channels_last)
        if safe is None or safe.value < 1:
            continue
        needed = safe.value < effective
        if not needed and (quickest is None or quickest.value > effective / 2):
            continue
        largest = int(safe.value) if needed or quickest is None else int(quickest.value)
        found.append(_advice(evidence, workload, precision, points, split(effective, largest), safe, quickest, needed))
    return found


def _advice(
    evidence: Evidence,
    workload: str,
    precision: str,
    points: dict[int, Point],
    pair: Split,
    safe: Point,
    quickest: Point | None,
    needed: bool,
) -> Advice:
    params: dict[str, Scalar] = {
        "workload": workload,
        "precision": precision,
        "effective": evidence.effective_batch,
        "micro": pair.micro,
        "steps": pair.steps,
        "safe": int(safe.value),
        "needed": needed,
    }
    change = pair.other_change
    if pair.other_micro is not None and pair.other_steps is not None and change is not None:
        params |= {
            "other_micro": pair.other_micro,
            "other_steps": pair.other_steps,
            "other_effective": pair.other_micro * pair.other_steps,
            "other_change": change,
        }
    if pair.micro in points:
        params["rate"] = points[pair.micro].value
    peaks = {b: float(p.extra["allocated_peak_bytes"]) for b, p in points.items() if "allocated_peak_bytes" in p.extra}
    line = fit_memory_line(list(peaks), list(peaks.values()))
    if line is not None and line.is_line:
        params["memory_micro_bytes"] = int(line.at(pair.micro))
        params["memory_effective_bytes"] = int(line.at(evidence.effective_batch))
    verified = safe.params.get("verified") is True
    return make(
        "batch.accumulate",
        evidence.card.uuid,
        params,
        [safe, *([quickest] if quickest else []), *([points[pair.micro]] if pair.micro in points else [])],
        confidence=Confidence.MEASURED if verified else Confidence.MODEL,
        weight=8.0 if needed else 1.5,
        snippet=accumulate(pair.micro, pair.steps),
    )
