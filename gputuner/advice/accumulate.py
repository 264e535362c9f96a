"""Gradient accumulation that keeps the effective batch exactly."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from gputuner.advice.batch import usable_batch
from gputuner.advice.data_set import DataSet, Epoch, data_set
from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import make, setting_of
from gputuner.advice.snippets import accumulate
from gputuner.model.advice import Advice, Confidence
from gputuner.model.change import Change
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

LARGER_BY = 1.3
"""A larger micro batch with another effective batch is named from this factor on."""

SMALL = 4
"""A micro batch below a quarter of what fits (an effective batch with few divisors) is not worth proposing."""
SAME_RATE = 0.02
"""Two measured rates within this share are called the same."""


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


def split(effective: int, largest: int, measured: Collection[int] | None = None) -> Split:
    """The largest micro batch up to ``largest`` that divides ``effective``, never another effective batch silently.

    Args:
        effective: samples per optimizer step.
        largest: micro batch that may be used.
        measured: the only micro batches whose rate is known; None: any will do.

    Raises:
        ValueError: not even one sample fits, or none of ``measured`` divides ``effective``.
    """
    if largest < 1 or effective < 1:
        raise ValueError("not even one sample fits")
    divisors = (d for d in range(1, min(effective, largest) + 1) if effective % d == 0)
    micro = max((d for d in divisors if measured is None or d in measured), default=0)
    if micro < 1:
        raise ValueError("no measured batch divides the effective one")
    if largest >= effective or largest < LARGER_BY * micro:
        return Split(micro=micro, steps=effective // micro)
    return Split(
        micro=micro, steps=effective // micro, other_micro=largest, other_steps=max(1, -(-effective // largest))
    )


def accumulate_rule(evidence: Evidence) -> list[Advice]:
    """``batch.accumulate``: where an effective batch was asked for that does not fit safely (or only behind a cliff).

    Its micro batch was measured: what it costs against the fastest batch that fits is told. Nothing is said where no
    measured batch divides the effective one suitably.
    """
    found: list[Advice] = []
    effective = evidence.effective_batch
    for workload in evidence.workloads() if effective is not None else ():
        best = best_setting(evidence, workload)
        if best is None or effective is None:
            continue
        setting, points = best
        usable = usable_batch(evidence, workload, setting)
        safe = evidence.last("batch_safe", precision=setting[0], channels_last=setting[1])
        if safe is None or usable is None:
            continue
        largest, slower = usable
        needed = safe.value < effective or (slower and largest < effective)
        pair = _measured(effective, largest, points, largest if slower else int(safe.value)) if needed else None
        own = data_set(evidence, workload)
        if pair is not None and (pair.micro > 1 or not own.batch_norm):
            found.append(_advice(evidence, workload, setting[0], points, pair, safe, largest, own))
    return found


def _measured(effective: int, largest: int, points: dict[int, Point], fits: int) -> Split | None:
    """The split in measured micro batches; None where they are all small beside what ``fits``."""
    try:
        pair = split(effective, largest, points)
    except ValueError:
        return None
    return pair if SMALL * pair.micro >= fits else None


def _cost(points: dict[int, Point], micro: int, largest: int) -> dict[str, Scalar]:
    """The rate at the micro batch against that of the fastest batch that fits; the same only within 2 %."""
    rate = points[micro].value
    told: dict[str, Scalar] = {"rate": rate}
    fitting = {batch: point.value for batch, point in points.items() if batch <= largest}
    fastest = max(fitting, key=lambda batch: fitting[batch])
    change = rate / fitting[fastest] - 1.0
    if fastest == micro:
        return told
    if change >= -SAME_RATE:
        return {**told, "same_rate_as": fastest, "fits_rate": fitting[fastest]}
    return {**told, "fits": fastest, "fits_rate": fitting[fastest], "cost": change}


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
    effective = evidence.effective
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
    own: DataSet,
) -> Advice:
    params: dict[str, Scalar] = {
        "workload": workload,
        "precision": precision,
        "effective": evidence.effective,
        "micro": pair.micro,
        "steps": pair.steps,
        "safe": int(safe.value),
        "needed": True,
        "largest": largest,
    }
    params |= _epoch(own, pair)
    params |= _at_once(evidence, safe, workload)
    change = pair.other_change
    if pair.other_micro is not None and pair.other_steps is not None and change is not None:
        params |= {
            "other_micro": pair.other_micro,
            "other_steps": pair.other_steps,
            "other_effective": pair.other_micro * pair.other_steps,
            "other_change": change,
        }
    cost = _cost(points, pair.micro, largest)
    params |= cost
    tried = safe.params.get("verified") is True
    compared = cost.get("fits", cost.get("same_rate_as", pair.micro))
    used = [points[batch] for batch in (pair.micro, int(compared))]
    return make(
        "batch.accumulate",
        evidence.card.uuid,
        params,
        [safe, *used],
        confidence=Confidence.MEASURED if tried else Confidence.MODEL,
        weight=8.0,
        snippet=accumulate(pair.micro, pair.steps, precision, cpu=evidence.card.is_cpu, lonely=own.lonely(pair.micro)),
        change=None if {"does_not_fit", "asked_most"} & set(params) else _change(workload, points, pair),
    )


def _change(workload: str, points: dict[int, Point], pair: Split) -> Change:
    """From the effective batch at once to the split."""
    whole = replace(setting_of(next(iter(points.values()))), batch=pair.micro * pair.steps)
    return Change(workload=workload, base=whole, advised=replace(whole, batch=pair.micro, accumulate=pair.steps))
