"""Gradient accumulation that keeps the effective batch exactly."""

from dataclasses import dataclass, replace

from gputuner.advice.batch import usable_batch
from gputuner.advice.data_set import DataSet, Epoch, data_set
from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import make, setting_of
from gputuner.advice.snippets import accumulate
from gputuner.analysis.memory import fit_memory_line
from gputuner.analysis.throughput import FASTEST_WITHIN
from gputuner.model.advice import Advice, Confidence
from gputuner.model.change import Change
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

LARGER_BY = 1.3
"""A larger micro batch with another effective batch is named from this factor on."""

SMALL = 4
"""A micro batch below a quarter of what fits (an effective batch with few divisors) is not worth proposing."""
SAVED = 0.1
"""Least share of the memory that a split saves to be worth a word."""


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
    """``batch.accumulate``: needed where the effective batch does not fit safely (or only behind a cliff in rate).

    Where it fits but a measured smaller batch that divides it is as fast (within 1.5 %), the same split saves memory
    at no cost (``needed`` False). Nothing is said where the effective batch has no suitable divisor.
    """
    found: list[Advice] = []
    effective = evidence.effective_batch
    for workload in evidence.workloads():
        best = best_setting(evidence, workload)
        if best is None:
            continue
        setting, points = best
        usable = usable_batch(evidence, workload, setting)
        safe = evidence.last("batch_safe", precision=setting[0], channels_last=setting[1])
        if safe is None or usable is None:
            continue
        largest, slower = usable
        needed = safe.value < effective or (slower and largest < effective)
        pair = _needed(effective, largest) if needed else _saving(effective, points)
        own = data_set(evidence, workload)
        if pair is not None and (pair.micro > 1 or not own.batch_norm):
            found.append(_advice(evidence, workload, setting[0], points, pair, safe, largest, needed, own))
    return found


def _needed(effective: int, largest: int) -> Split | None:
    pair = split(effective, largest)
    return pair if SMALL * pair.micro >= largest else None


def _saving(effective: int, points: dict[int, Point]) -> Split | None:
    """The smallest measured batch that divides the effective one, is as fast as any, and really needs less memory."""
    least = (1.0 - FASTEST_WITHIN) * max(point.value for point in points.values())
    fitting = [b for b, point in points.items() if b < effective and effective % b == 0 and point.value >= least]
    if not fitting:
        return None
    micro = min(fitting)
    peaks = _peaks(points, micro, effective)
    if peaks is None or peaks[0] > (1.0 - SAVED) * peaks[1]:
        return None
    return Split(micro=micro, steps=effective // micro)


def _peaks(points: dict[int, Point], micro: int, effective: int) -> tuple[float, float] | None:
    """Peak memory (bytes) of both batches: measured where it was, else from the memory line."""
    peaks = {b: float(p.extra["allocated_peak_bytes"]) for b, p in points.items() if "allocated_peak_bytes" in p.extra}
    line = fit_memory_line(list(peaks), list(peaks.values()))
    straight = line is not None and line.is_line
    told = [peaks.get(b, line.at(b) if line is not None and straight else None) for b in (micro, effective)]
    first, second = told
    return None if first is None or second is None else (first, second)


def _epoch(own: DataSet, pair: Split) -> dict[str, Scalar]:
    """Micro batches, windows and optimizer steps of an epoch, where the size of the data set is known.

    A lonely last sample is dropped, so the epoch ends one earlier.
    """
    if own.samples is None:
        return {}
    lonely = own.lonely(pair.micro)
    epoch = Epoch(samples=own.samples - lonely, micro=pair.micro, steps=pair.steps)
    params: dict[str, Scalar] = {
        "data_set": own.samples,
        "micro_batches": epoch.micro_batches,
        "last_micro": epoch.last_micro,
        "epoch_steps": epoch.updates,
    }
    windows: dict[str, Scalar] = (
        {"full_windows": epoch.full_windows, "rest": epoch.rest} if epoch.rest else {"even_windows": epoch.full_windows}
    )
    return {**params, **windows, **({"remainder_one": pair.micro} if lonely else {})}


def _at_once(evidence: Evidence, safe: Point, workload: str) -> dict[str, Scalar]:
    """Why the effective batch is not taken at once: its owner would not, it does not fit safely, or it is slow."""
    effective = evidence.effective_batch
    asked = [p.extra["asked_most"] for p in evidence.of("batch_limit") if "asked_most" in p.extra]
    if asked and int(asked[-1]) < effective and safe.workload == workload:
        return {"asked_most": asked[-1]}
    return {"does_not_fit" if safe.value < effective else "slow_at_once": effective}


def _advice(
    evidence: Evidence,
    workload: str,
    precision: str,
    points: dict[int, Point],
    pair: Split,
    safe: Point,
    largest: int,
    needed: bool,
    own: DataSet,
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
    params |= _epoch(own, pair)
    if needed:
        params |= _at_once(evidence, safe, workload)
        params["largest"] = largest
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
    peaks = _peaks(points, pair.micro, evidence.effective_batch)
    if peaks is not None:
        params |= {"memory_micro_bytes": int(peaks[0]), "memory_effective_bytes": int(peaks[1])}
    tried = safe.params.get("verified") is True if needed else evidence.effective_batch in points
    used = [points[b] for b in (pair.micro, evidence.effective_batch) if b in points]
    return make(
        "batch.accumulate",
        evidence.card.uuid,
        params,
        [safe, *used],
        confidence=Confidence.MEASURED if tried else Confidence.MODEL,
        weight=8.0 if needed else 1.5,
        snippet=accumulate(pair.micro, pair.steps, precision, cpu=evidence.card.is_cpu, lonely=own.lonely(pair.micro)),
        change=None if {"does_not_fit", "asked_most"} & set(params) else _change(workload, points, pair, needed),
    )


def _change(workload: str, points: dict[int, Point], pair: Split, needed: bool) -> Change:
    """From the effective batch at once to the split; if that is not needed, it is to save memory."""
    whole = replace(setting_of(next(iter(points.values()))), batch=pair.micro * pair.steps)
    split_up = replace(whole, batch=pair.micro, accumulate=pair.steps)
    return Change(workload=workload, base=whole, advised=split_up, aim="rate" if needed else "memory")
