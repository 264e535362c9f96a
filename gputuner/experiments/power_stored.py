"""Visits out of stored sessions: of earlier sweeps, and of trainings that ran alone under the limit of their day."""

from collections.abc import Sequence

from gputuner.analysis.limits import THERMAL, share
from gputuner.analysis.power_curve import Visit
from gputuner.experiments.points import ENERGY_WINDOW_S
from gputuner.experiments.power_dial import StoredVisit, standing_w
from gputuner.experiments.power_points import CAP, CLOCK
from gputuner.model.cards import CardInfo
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

OWN = (CAP, CLOCK, "visit", "phase")
"""Params of a figure that are not the training's."""
ALONE = ("sustained", "probe", "safe", "energy", "alone")
UNFIT = frozenset({Flag.SHARED, Flag.NOT_STEADY, Flag.TOO_SLOW, Flag.IMPLAUSIBLE})


def stored_visits(points: Sequence[Point], card: CardInfo, session: str, torch: str = "") -> tuple[StoredVisit, ...]:
    """What a session saw of rates at known power limits.

    Args:
        points: its figures.
        card: the card as it stood then.
        session: its id.
        torch: version that was measured; empty: not known.
    """
    driver, standing = card.readings.get("driver"), standing_w(card)
    found: list[StoredVisit] = []
    for point in points:
        cap = _cap(point, standing)
        seen = point.conditions
        if point.card != card.uuid or cap is None or UNFIT & set(point.flags) or seen is None:
            continue
        if seen.duration_s < ENERGY_WINDOW_S or seen.power_w is None:
            continue
        visit = Visit(
            setting=cap,
            rate=point.value,
            joules=_joules(point),
            draw_w=seen.power_w,
            temperature_c=seen.core_temperature_end_c,
            heat_share=share(seen, *THERMAL),
        )
        params: dict[str, Scalar] = {name: value for name, value in point.params.items() if name not in OWN}
        told = str(driver.value) if driver is not None and driver.value is not None else ""
        found.append(
            StoredVisit(workload=point.workload, params=params, visit=visit, session=session, driver=told, torch=torch)
        )
    return tuple(found)


def _cap(point: Point, standing: float | None) -> float | None:
    """The power limit under which a rate was measured; None: it is none, or not known."""
    if point.metric == "power_rate" and "null" not in point.params and point.params.get("visit") != 0:
        cap = point.params.get(CAP)
        return float(cap) if isinstance(cap, int | float) else None
    alone = point.metric == "train_throughput" and point.params.get("phase") in ALONE
    return standing if alone else None


def _joules(point: Point) -> float | None:
    told = point.extra.get("joules_per_unit")
    return float(told) if isinstance(told, int | float) and told > 0 else None
