"""What holds the card back: power, heat, memory heat, and a link narrower than it could be."""

from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import make
from gputuner.analysis.limits import POWER_SHARE, THERMAL, THERMAL_SHARE, memory_heat_suspected, share
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.cards import CardInfo
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar

HEAT_WEIGHT = 30.0
"""Added for a load that spends all its time in a thermal limit: it can be mended, so it goes before small gains."""
LITTLE_LOST = 0.03
"""A clock less than this below its maximum is not worth a headline, however long the limit was touched."""
AT_MAXIMUM = 0.995
"""A power limit at this share of the highest that can be set, or above, cannot be raised."""
NOTHING = 0.01
"""Share of the time below which a limit is not spoken of."""
TRUSTED_S = 1.0
"""Shorter windows hold too few samples to speak of a share."""


def _load_params(point: Point, conditions: Conditions, held: float) -> dict[str, Scalar]:
    params: dict[str, Scalar] = {"share": held, "workload": point.workload, "seconds": conditions.duration_s}
    params |= {name: point.params[name] for name in ("precision", "batch", "phase") if name in point.params}
    for name, value in (
        ("power_w", conditions.power_w),
        ("sm_clock_mhz", conditions.sm_clock_mhz),
        ("core_c", conditions.core_temperature_end_c),
        ("memory_c", conditions.memory_temperature_end_c),
        ("fan_fraction", conditions.fan_fraction),
    ):
        if value is not None:
            params[name] = value
    return params


def _nearness(evidence: Evidence, point: Point) -> int:
    """How near a load is to what the reader will run: 2 the recommended training, 1 a kernel, 0 another training."""
    if point.metric != "train_throughput":
        return 1
    best = best_setting(evidence, point.workload)
    ours = (point.params.get("precision"), bool(point.params.get("channels_last", False)))
    return 2 if best is not None and ours == best[0] else 0


def _worst(evidence: Evidence, least: float, *limiters: Limiter) -> tuple[Point, Conditions, float] | None:
    """The load nearest to what the reader will run that spent at least ``least`` of its time in these limits.

    Of several such loads the longest.
    """
    held = [
        (_nearness(evidence, point), conditions.duration_s, index, point, conditions)
        for index, (point, conditions) in enumerate(evidence.loads())
        if conditions.duration_s >= TRUSTED_S and share(conditions, *limiters) >= least
    ]
    if not held:
        return None
    _, _, _, point, conditions = max(held, key=lambda entry: entry[:3])
    return point, conditions, share(conditions, *limiters)


def clock_lost(conditions: Conditions, card: CardInfo) -> float | None:
    """How far the median SM clock of a window lay below its maximum, as a fraction to three places; None: not known."""
    highest = card.number("sm_clock_max_mhz")
    if not highest or conditions.sm_clock_mhz is None:
        return None
    return max(0.0, round(1.0 - conditions.sm_clock_mhz / highest, 3))


def _unhindered(evidence: Evidence) -> tuple[str, float] | None:
    """The recommended training, where it ran under load without being held back by the power limit to speak of, and
    the largest share of the time that it was in it."""
    ours = [
        (share(conditions, Limiter.POWER), point.workload)
        for point, conditions in evidence.loads()
        if conditions.duration_s >= TRUSTED_S and conditions.limited_s and _nearness(evidence, point) == 2
    ]
    if not ours:
        return None
    most, workload = max(ours)
    return (workload, most) if most < POWER_SHARE else None


def power_rule(evidence: Evidence) -> list[Advice]:
    """``limit.power``: the clock is held down by the power limit for 5 % of a load or more. Ordinary, not a fault.

    What counts is the clock that is lost, not the time in the limit: a loss below 3 % is told as such (``little``)
    and ranks last, as does a limit that only kernels met while the recommended training did not. A higher limit is
    only named where one can be set (``raisable``).
    """
    worst = _worst(evidence, POWER_SHARE, Limiter.POWER)
    if worst is None:
        return []
    point, conditions, held = worst
    params = _load_params(point, conditions, held)
    limit, most = evidence.card.number("power_limit_enforced_w"), evidence.card.number("power_limit_max_w")
    references: list[Point | str] = [point]
    if limit is not None:
        params["limit_w"] = limit
        references.append(f"{evidence.card.uuid}:power_limit_enforced_w")
    params["raisable"] = limit is not None and most is not None and limit < AT_MAXIMUM * most
    if most is not None and params["raisable"]:
        params["limit_max_w"] = most
    params["at_maximum"] = limit is not None and most is not None and not params["raisable"]
    lost = clock_lost(conditions, evidence.card)
    if lost is not None:
        params |= {"sm_clock_max_mhz": evidence.card.number("sm_clock_max_mhz") or 0.0, "clock_lost": lost}
        references.append(f"{evidence.card.uuid}:sm_clock_max_mhz")
    little = lost is not None and lost < LITTLE_LOST
    params["little"] = little
    params["training"] = point.metric == "train_throughput"
    params["recommended"] = _nearness(evidence, point) == 2
    free = None if params["recommended"] else _unhindered(evidence)
    if free is not None:
        params["free_workload" if free[1] < NOTHING else "spared_workload"] = free[0]
        if free[1] >= NOTHING:
            params["spared_share"] = free[1]
    weight = 0.2 if little else 4.0 if free is None else 1.0
    return [make("limit.power", evidence.card.uuid, params, references, weight=weight)]


def brake_rule(evidence: Evidence) -> list[Advice]:
    """``limit.power_brake``: the supply or the board asked the card to slow down."""
    worst = _worst(evidence, THERMAL_SHARE, Limiter.POWER_BRAKE)
    if worst is None:
        return []
    point, conditions, held = worst
    return [make("limit.power_brake", evidence.card.uuid, _load_params(point, conditions, held), [point], weight=12.0)]


def slowdown_rule(evidence: Evidence) -> list[Advice]:
    """``limit.hardware``: the hardware slows the card down and names neither heat nor brake, for 5 % of a load or more.

    Less may be changes of the P-state, which some drivers report so.
    """
    worst = _worst(evidence, POWER_SHARE, Limiter.HARDWARE)
    if worst is None:
        return []
    point, conditions, held = worst
    return [make("limit.hardware", evidence.card.uuid, _load_params(point, conditions, held), [point], weight=12.0)]


def thermal_rule(evidence: Evidence) -> list[Advice]:
    """``limit.thermal``: heat holds the clock down for 1 % of a load or more, and not because of cool-core memory."""
    worst = None if evidence.temperature_stuck else _worst(evidence, THERMAL_SHARE, *THERMAL)
    if worst is None:
        return []
    point, conditions, held = worst
    hardware = share(conditions, Limiter.THERMAL_HARDWARE) >= THERMAL_SHARE
    if not hardware and memory_rule(evidence):
        return []
    params = _load_params(point, conditions, held)
    params["hardware"] = hardware
    untold = conditions.fan_fraction is None and not evidence.card.number("fan_count")
    params["fanless"] = untold or (evidence.card.fanless and not conditions.fan_fraction)
    for name, key in (("target_c", "target_c"), ("slowdown_c", "slowdown_c")):
        value = evidence.card.number(key)
        if value is not None:
            params[name] = value
    change = point.extra.get("rate_change")
    gain = None
    if isinstance(change, float) and -1.0 < change < -0.01:
        gain = Gain(value=1.0 / (1.0 + change) - 1.0, unit="fraction")
    return [make("limit.thermal", evidence.card.uuid, params, [point], gain=gain, weight=12.0 + HEAT_WEIGHT * held)]


def memory_rule(evidence: Evidence) -> list[Advice]:
    """``memory_heat.suspected``: software thermal limit though the core was cool; never a degree."""
    if evidence.temperature_stuck:
        return []
    target, slowdown = evidence.card.number("target_c"), evidence.card.number("slowdown_c")
    for point, conditions in evidence.loads():
        if conditions.duration_s < TRUSTED_S:
            continue
        held = memory_heat_suspected(conditions, target_c=target, slowdown_c=slowdown)
        if held is None:
            continue
        params = _load_params(point, conditions, held)
        params["target_known"] = target is not None
        if target is not None:
            params["target_c"] = target
        if slowdown is not None:
            params["slowdown_c"] = slowdown
        return [
            make(
                "memory_heat.suspected",
                evidence.card.uuid,
                params,
                [point],
                confidence=Confidence.MODEL,
                weight=(10.0 if target is not None else 6.0) + HEAT_WEIGHT * held,
            )
        ]
    return []


def link_rule(evidence: Evidence) -> list[Advice]:
    """``link.narrow``: the best link seen under load is below the card's maximum (an idle link downshifts)."""
    generation_max = evidence.card.number("pcie_generation_max")
    width_max = evidence.card.number("pcie_width_max")
    seen = [(p, c) for p, c in evidence.loads() if c.pcie_generation is not None and c.pcie_width is not None]
    if generation_max is None or width_max is None or not seen:
        return []
    generation = max(c.pcie_generation for _, c in seen if c.pcie_generation is not None)
    width = max(c.pcie_width for _, c in seen if c.pcie_width is not None)
    if generation >= generation_max and width >= width_max:
        return []
    params: dict[str, Scalar] = {
        "generation": int(generation),
        "width": int(width),
        "generation_max": int(generation_max),
        "width_max": int(width_max),
        "bandwidth_share": width / width_max * 2.0 ** (generation - generation_max),
    }
    reference = f"{evidence.card.uuid}:pcie_width_max"
    return [make("link.narrow", evidence.card.uuid, params, [seen[-1][0], reference], weight=6.0)]
