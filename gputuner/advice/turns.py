"""Two settings of a training measured again in turns (A B B A A B): the gain that drift leaves standing.

Where figures taken one after the other scatter, because clocks, neighbours or other programs moved meanwhile, the plan
measures the settings in question in rounds. A round's trials lie close together, so its ratio is free of what moved
slowly, and how far the rounds' ratios differ is the error (``interleaved.compared_rounds``).
"""

from dataclasses import dataclass, field
from math import exp, log

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import gain_from, setting_of
from gputuner.analysis.interleaved import compared_rounds
from gputuner.analysis.statistics import spread
from gputuner.analysis.turns import FAULTY, LEAST_ROUNDS, TURN
from gputuner.model.advice import Gain
from gputuner.model.points import Point, Spread
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One setting against another: rates in samples/s, the gain, and the figures that it rests on."""

    gain: Gain
    better: float
    base: float
    points: tuple[Point, ...]
    params: dict[str, Scalar] = field(default_factory=lambda: {})
    """``turns``: rounds measured, where turns show that the one is faster (the interval leaves out 0)."""


def against(evidence: Evidence, better: Point, base: Point) -> Against:
    """The gain of ``better`` over ``base``: from their turns where there are enough, else from the two figures."""
    first, second = _turns(evidence, base), _turns(evidence, better)
    rounds = sorted(first.keys() & second.keys())
    if len(rounds) < LEAST_ROUNDS:
        gain = gain_from(evidence, better, base)
        return Against(gain=gain, better=better.value, base=base.value, points=(better, base))
    compared = compared_rounds([([_spread(first[at])], [_spread(second[at])]) for at in rounds])
    return Against(
        gain=compared.gain,
        better=_mean([second[at] for at in rounds]),
        base=_mean([first[at] for at in rounds]),
        points=(better, base, *(side[at] for at in rounds for side in (first, second))),
        params={"turns": len(rounds)} if compared.is_faster else {},
    )


def _turns(evidence: Evidence, like: Point) -> dict[int, Point]:
    """Turns of the same training in the same setting, by round."""
    setting = setting_of(like)
    return {
        int(point.params["round"]): point
        for point in evidence.of("train_throughput", phase=TURN)
        if point.workload == like.workload
        and setting_of(point) == setting
        and point.value > 0
        and not FAULTY & set(point.flags)
    }


def _spread(point: Point) -> Spread:
    return point.spread or spread([point.value])


def _mean(points: list[Point]) -> float:
    """Geometric mean, as the ratio of rounds is one."""
    return exp(sum(log(point.value) for point in points) / len(points))
