"""Where the time of a training on a CUDA card went.

1. Waiting for data: what the loader made the host wait while the card had nothing left to do.
2. Waiting for the host: what else the card was idle (by its use; where the host launches operations as fast as a host
   can, by its active multiprocessors if they fill next to nothing of the chip, else by whether the card had caught up
   with the host at the end of a step). Where the host itself had no core, or waited without working, that.
3. What the card was busy: the clock lost to power or heat, and of the rest arithmetic or memory by its counters.
"""

from gputuner.analysis.limits import POWER_SHARE, THERMAL, THERMAL_SHARE, share
from gputuner.analysis.watching_judging import (
    Judged,
    idle_share,
    memory_limit,
    operation_s,
    peak_taken,
    queued_share,
    retried,
    signs_of,
)
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter
from gputuner.model.watched import CardUse, Observed, Sign, WatchCause

LAUNCH_S = 80e-6
"""Wall time per recorded operation up to which a host does nothing but launch.

Forward, backward and optimizer of one tiny operation took a slow host 35 to 66 µs (``docs/measurements/watch.md``).
"""
FULL = 0.8
"""Share of active multiprocessors from which on kernels fill the chip."""
FILLS_LITTLE = 0.3
"""Share of active multiprocessors below which kernels are too small for the chip."""
IDLE = 0.03
"""Idle shares below this are the driver's rounding."""
DRAM_BUSY = 0.5
"""Share of the DRAM's cycles from which on moving data may bind (reached: 0.85 to 0.9)."""
TENSOR_BUSY = 0.2
CONTROLLER_BUSY = 0.8
"""The same of the driver's coarse figure, where there are no counters."""
MOSTLY_BEHIND = 0.5


def judged_by_card(each: Observed | None, card: CardUse | None) -> Judged:
    """Shares by cause of one process on its card; None: no hooks, or no telemetry of the card."""
    conditions = card.conditions if card is not None else None
    use = conditions.gpu_utilisation if conditions is not None else None
    data = _waiting(each)
    worked_s = each.training_s - each.waited_s if each is not None else 0.0
    per_operation_s = operation_s(each, worked_s, each.timed_steps) if each is not None else None
    doubted: set[WatchCause] = set()
    shares: dict[WatchCause, float] = {}
    if data > 0:
        shares[WatchCause.DATA] = data
    busy = _busy(use, card, per_operation_s, each)
    if busy is not None:
        host = max(0.0, 1.0 - busy - data)
        if host >= IDLE:
            queued = min(host, queued_share(each))
            idle = min(host - queued, idle_share(each))
            cause, sure = _host(each, per_operation_s)
            shares[cause] = host - queued - idle
            doubted |= set() if sure else {cause}
            if queued > 0:
                shares[WatchCause.SHARED] = queued
            if idle > 0:
                shares[WatchCause.IDLE] = idle
        busy = max(0.0, 1.0 - data - (host if host >= IDLE else 0.0))
        lost = _lost_clock(card, conditions, busy)
        shares |= lost
        cause, sure = _working(card, conditions)
        shares[cause] = busy - sum(lost.values())
        doubted |= set() if sure else {cause}
    forced = WatchCause.MEMORY_CAPACITY if each is not None and retried(each) and data < MOSTLY_BEHIND else None
    if card is not None and card.others_computed:
        shares, doubted = _shared(shares), {*shares, WatchCause.SHARED}
    return Judged(
        shares=shares,
        signs=_signs(each, card, conditions, data, per_operation_s),
        doubted=frozenset(doubted),
        forced=forced,
    )


def _waiting(each: Observed | None) -> float:
    """Share of the time that the loader made the card wait."""
    if each is None or each.training_s <= 0:
        return 0.0
    return min(1.0, max(0.0, each.waited_s - each.hidden_s) / each.training_s)


def _busy(
    use: float | None, card: CardUse | None, per_operation_s: float | None, each: Observed | None
) -> float | None:
    """Share of the time in which the card worked on what was worth its while; None: not known."""
    launching = per_operation_s is not None and per_operation_s <= LAUNCH_S
    active = card.sm_active if card is not None else None
    if use is None:
        if each is None or each.behind is None:
            return None
        return 1.0 if each.behind >= MOSTLY_BEHIND else 0.0 if launching else None
    if launching and active is not None and active < FILLS_LITTLE:
        return min(use, active / FULL)
    if launching and active is None and each is not None and each.behind is not None and each.behind < MOSTLY_BEHIND:
        return min(use, each.behind)  # a kernel of any size counts as use; the card was done before the host was
    return use


def _host(each: Observed | None, per_operation_s: float | None) -> tuple[WatchCause, bool]:
    """Why the card waited for the host, and whether that is sure."""
    if each is None or per_operation_s is None:
        return WatchCause.HOST_OTHER, False
    return (WatchCause.HOST_LAUNCH if per_operation_s <= LAUNCH_S else WatchCause.HOST_OTHER), True


def _lost_clock(card: CardUse | None, conditions: Conditions | None, busy: float) -> dict[WatchCause, float]:
    """What power or heat took: the clock below its highest, while they were on for more than passing."""
    if card is None or conditions is None or not card.sm_clock_max_mhz or conditions.sm_clock_mhz is None:
        return {}
    lost = max(0.0, 1.0 - conditions.sm_clock_mhz / card.sm_clock_max_mhz)
    heat, power = share(conditions, *THERMAL), share(conditions, Limiter.POWER, Limiter.POWER_BRAKE)
    told: dict[WatchCause, float] = {}
    whole = max(1.0, heat + power)
    if heat >= THERMAL_SHARE:
        told[WatchCause.HEAT] = busy * lost * heat / whole
    if power >= POWER_SHARE:
        told[WatchCause.POWER] = busy * lost * power / whole
    return told


def _working(card: CardUse | None, conditions: Conditions | None) -> tuple[WatchCause, bool]:
    """What the card did while it was busy, and whether that is sure."""
    if card is None:
        return WatchCause.CARD_BUSY, False
    if card.dram_active is not None:
        tensor = card.tensor_active or 0.0
        if card.dram_active >= DRAM_BUSY and card.dram_active >= tensor:
            return WatchCause.MEMORY_BANDWIDTH, True
        full = tensor >= TENSOR_BUSY or (card.sm_active is not None and card.sm_active >= DRAM_BUSY)
        return (WatchCause.COMPUTE, True) if full else (WatchCause.CARD_BUSY, False)
    if card.memory_utilisation is None:
        return WatchCause.CARD_BUSY, False
    if card.memory_utilisation >= CONTROLLER_BUSY:
        return WatchCause.MEMORY_BANDWIDTH, False
    power_bound = conditions is not None and share(conditions, Limiter.POWER) >= MOSTLY_BEHIND
    calm = card.memory_utilisation < DRAM_BUSY
    return (WatchCause.COMPUTE, False) if power_bound or calm else (WatchCause.CARD_BUSY, False)


def _shared(shares: dict[WatchCause, float]) -> dict[WatchCause, float]:
    """The card's figures are all its users' together: only waiting for data is this training's own."""
    data = shares.get(WatchCause.DATA, 0.0)
    rest = {WatchCause.SHARED: 1.0 - data}
    return {WatchCause.DATA: data, **rest} if data else rest


def _signs(
    each: Observed | None,
    card: CardUse | None,
    conditions: Conditions | None,
    data: float,
    per_operation_s: float | None,
) -> tuple[Sign, ...]:
    told: list[tuple[str, float | None, str]] = []
    if each is not None:
        limit = memory_limit(each)
        taken = peak_taken(each)
        told += [
            ("waiting", data, "fraction"),
            ("hidden_waiting", each.hidden_s / each.training_s if each.hidden_s else None, "fraction"),
            ("first_batch", each.waited_first_s / each.training_s if each.waited_first_s else None, "fraction"),
            ("behind", each.behind, "fraction"),
            ("operations_per_step", each.operations_per_step, ""),
            ("host_s_per_operation", per_operation_s, "s"),
            ("queued", queued_share(each) or None, "fraction"),
            ("scaler_wait", each.scaler_wait_s / each.training_s if each.scaler_wait_s else None, "fraction"),
            ("peak_of_limit", taken / limit if taken is not None and limit else None, "fraction"),
            ("retries", float(each.retries) if each.retries else None, ""),
            ("out_of_memory", float(each.out_of_memory) if each.out_of_memory else None, ""),
        ]
    if card is not None:
        told += [
            ("sm_active", card.sm_active, "fraction"),
            ("tensor_active", card.tensor_active, "fraction"),
            ("dram_active", card.dram_active, "fraction"),
            ("memory_utilisation", card.memory_utilisation, "fraction"),
            ("others_computed", 1.0 if card.others_computed else None, ""),
        ]
    if conditions is not None:
        clock, most = conditions.sm_clock_mhz, card.sm_clock_max_mhz if card is not None else None
        heat, power = share(conditions, *THERMAL), share(conditions, Limiter.POWER, Limiter.POWER_BRAKE)
        told += [
            ("gpu_utilisation", conditions.gpu_utilisation, "fraction"),
            ("clock_lost", max(0.0, 1.0 - clock / most) if clock is not None and most else None, "fraction"),
            ("limited_power", power if power >= POWER_SHARE else None, "fraction"),
            ("limited_heat", heat if heat >= THERMAL_SHARE else None, "fraction"),
        ]
    return signs_of(*told)
