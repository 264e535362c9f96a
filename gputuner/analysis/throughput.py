"""Rate against batch: the fastest batch, the knee and the fixed cost of a step (methods §4)."""

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import exp, hypot, sqrt
from typing import TypeVar

import numpy as np

from gputuner.analysis.statistics import NORMAL_975, relative_half_width
from gputuner.analysis.trials import BETWEEN_TRIALS
from gputuner.model.points import Spread

COMPARED_AT = 0.9
"""Formats and layouts are compared at the smallest batch that reaches this share of the best rate."""
Key = TypeVar("Key", bound=Hashable)
FASTEST_WITHIN = 0.015
"""Fastest = the smallest batch within this fraction of the best rate."""
KNEE_GAIN = 0.02
"""A doubling that gains less than this marks the knee."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Step time t(b) = ``fixed_s`` + ``per_sample_s``·b; ``residual`` = largest relative deviation."""

    fixed_s: float
    per_sample_s: float
    residual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fastest:
    """The smallest batch within 1.5 % of the best rate (or energy), and the batches that the intervals also allow."""

    batch: int
    rate: float
    """Samples/s, or J per sample."""
    low: int
    high: int


def fastest_batch(rates: Mapping[int, float], within: float = FASTEST_WITHIN) -> int:
    """The smallest batch whose rate (samples/s) lies within ``within`` of the best.

    Raises:
        ValueError: no rates.
    """
    if not rates:
        raise ValueError("no rates")
    best = max(rates.values())
    return min(batch for batch, rate in rates.items() if rate >= (1.0 - within) * best)


def fastest(spreads: Mapping[int, Spread], between: float = BETWEEN_TRIALS) -> Fastest:
    """The fastest batch with the range of batches that could be it, given each rate's 95 % interval.

    A batch can be the answer if its upper end reaches the threshold and no smaller one surely does (its lower end
    beyond the threshold of the best upper end). Rates come from different trials, so the spread between trials
    (``between``, relative standard deviation) widens each interval. Where one is missing, the quartiles' half-width
    stands in.

    Raises:
        ValueError: no rates.
    """
    chosen = fastest_batch({batch: s.median for batch, s in spreads.items()})
    ends = {batch: _ends(s, between) for batch, s in spreads.items()}
    best_low = max(low for low, _ in ends.values())
    best_high = max(high for _, high in ends.values())
    share = 1.0 - FASTEST_WITHIN
    possible = [batch for batch, (_, high) in ends.items() if high >= share * best_low]
    certain = [batch for batch, (low, _) in ends.items() if low >= share * best_high]
    highest = min(certain) if certain else max(spreads)
    return Fastest(
        batch=chosen,
        rate=spreads[chosen].median,
        low=min([*possible, chosen]),
        high=max(highest, chosen),
    )


def _ends(of: Spread, between: float) -> tuple[float, float]:
    within = relative_half_width(of)
    if within is None:
        within = of.iqr / 2.0 / of.median if of.median > 0 else 0.0
    factor = exp(hypot(within, NORMAL_975 * between))
    return of.median / factor, of.median * factor


def least_energy(joules: Mapping[int, float], between: float = BETWEEN_TRIALS) -> Fastest:
    """The smallest batch within 1.5 % of the least energy per sample, and the batches that could be it as well.

    Args:
        joules: J per sample by batch, each from one trial.
        between: relative standard deviation between trials: two differ by chance by up to 1.96 √2 times as much.

    Raises:
        ValueError: no energies.
    """
    if not joules:
        raise ValueError("no energies")
    least = min(joules.values())
    chosen = min(batch for batch, each in joules.items() if each <= (1.0 + FASTEST_WITHIN) * least)
    chance = NORMAL_975 * sqrt(2.0) * between
    possible = [batch for batch, each in joules.items() if each <= (1.0 + FASTEST_WITHIN + chance) * least]
    return Fastest(batch=chosen, rate=joules[chosen], low=min(possible), high=max(possible))


def knee(rates: Mapping[int, float], gain: float = KNEE_GAIN) -> int | None:
    """The batch from which on a doubling gains less than ``gain``; None if the last doubling still gains.

    Gains between neighbours that are not a doubling apart are scaled to one (in the logarithm of the batch).
    """
    batches = sorted(rates)
    for small, large in itertools.pairwise(batches):
        doublings = float(np.log2(large / small))
        if (rates[large] / rates[small]) ** (1.0 / doublings) - 1.0 < gain:
            return small
    return None


def fit_step_cost(rates: Mapping[int, float]) -> StepCost | None:
    """Fit t(b) = t0 + c·b, weighted by 1/t so that all batches count alike; None with fewer than two batches."""
    if len(rates) < 2:
        return None
    b = np.asarray(sorted(rates), dtype=np.float64)
    t = b / np.asarray([rates[batch] for batch in sorted(rates)], dtype=np.float64)
    design = np.stack([np.ones_like(b), b], axis=1) / t[:, None]
    solution = np.linalg.lstsq(design, np.ones_like(b), rcond=None)[0]
    fixed, slope = float(solution[0]), float(solution[1])
    residual = float(np.max(np.abs(fixed + slope * b - t) / t))
    return StepCost(fixed_s=fixed, per_sample_s=slope, residual=residual)


NUMERICS = ("fp32", "tf32", "bf16", "fp16")
"""Formats from the most forgiving to the one that needs loss scaling."""
PRECISION_WITHIN = 0.02
"""A format with harder numerics must be faster by more than this."""
SCALER_WITHIN = 0.05
"""FP16 must be faster than what needs no loss scaling by more than this."""


def preferred_precision(rates: Mapping[str, float], within: float = PRECISION_WITHIN) -> str:
    """The most forgiving format whose rate lies within ``within`` of the best; FP16 only where it gains over 5 %.

    Raises:
        ValueError: no rates, or none of a known format.
    """
    known = [name for name in NUMERICS if name in rates]
    if not known:
        raise ValueError("no rates")
    unscaled = [name for name in known if name != "fp16"]
    if not unscaled:
        return "fp16"
    best = max(rates[name] for name in unscaled)
    chosen = next(name for name in unscaled if rates[name] >= (1.0 - within) * best)
    return "fp16" if rates.get("fp16", 0.0) > (1.0 + SCALER_WITHIN) * rates[chosen] else chosen


def comparable_tops(rates: Mapping[Key, Mapping[int, float]]) -> dict[Key, float]:
    """The best rate of each setting as if all had been measured over the same batches.

    Few settings are measured over the whole ladder. A setting known at fewer batches is scaled by its ratio to the best
    known one at their largest common batch; without a common batch its own best rate stands.

    Args:
        rates: rate (samples/s) by batch for each setting; no setting empty.
    """
    if not rates:
        return {}
    reference = max(rates, key=lambda key: (len(rates[key]), max(rates[key].values())))
    top = max(rates[reference].values())
    tops: dict[Key, float] = {}
    for key, measured in rates.items():
        own = max(measured.values())
        common = [batch for batch in measured if rates[reference].get(batch, 0.0) > 0]
        scaled = measured[max(common)] / rates[reference][max(common)] * top if common else own
        tops[key] = max(own, scaled)
    return tops


def comparison_batch(rates: Mapping[int, float], share: float = COMPARED_AT) -> int:
    """The smallest batch that reaches ``share`` of the best rate: large enough to fill the card, small enough that
    steps are short and an interval is cheap.

    Raises:
        ValueError: no rates.
    """
    if not rates:
        raise ValueError("no rates")
    best = max(rates.values())
    return min(batch for batch, rate in rates.items() if rate >= share * best)
