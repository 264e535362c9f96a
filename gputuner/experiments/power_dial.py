"""The dial of a sweep: power limit or locked SM clock; its range on a card, and how far a load turns it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from gputuner.analysis.power_curve import Visit
from gputuner.experiments.power_points import CAP, CLOCK
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CardInfo
from gputuner.model.control import Setting, Value
from gputuner.model.points import Conditions
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

LOWEST_CLOCK = 0.35
"""Of the highest: below it no card gains per joule, since the voltage does not fall any more."""
CLOCK_GRAIN = 15.0
FLOOR_MHZ = 300.0
"""About where cards rest; a card that takes no lock so low says from where on it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """What is turned, from ``low`` to ``high`` in W or MHz; ``found``: what stands (None: not told)."""

    setting: Setting
    low: float
    high: float
    found: float | None
    floor: float = FLOOR_MHZ
    """Of a clock lock: how low the clock may fall at rest, MHz …"""
    ceiling: float = inf
    """… and the highest lock that the card takes, where it has told."""

    @property
    def by_clock(self) -> bool:
        """The SM clock, not the power limit."""
        return self.setting is Setting.SM_CLOCK_LOCK

    @property
    def unit(self) -> str:
        """W or MHz."""
        return "MHz" if self.by_clock else "W"

    @property
    def grain(self) -> float:
        """Settings are whole multiples of it."""
        return CLOCK_GRAIN if self.by_clock else 1.0

    @property
    def param(self) -> str:
        """Name of the figures' parameter."""
        return CLOCK if self.by_clock else CAP

    def value(self, at: float) -> Value:
        """What is set: a clock lock bounds the highest clock only, so that the card can rest."""
        top = min(at, self.ceiling)
        return (min(self.floor, top), top) if self.by_clock else (at,)

    def within(self, low: object, high: object) -> "Dial":
        """The same in the range of locks that the card has told with a refusal."""
        if not (isinstance(low, int | float) and isinstance(high, int | float) and low <= self.low < high):
            return self
        return replace(self, floor=max(self.floor, float(low)), ceiling=float(high))

    def reach(self, conditions: Conditions | None) -> float | None:
        """How far the load turned it by itself: W drawn, MHz run at."""
        if conditions is None:
            return None
        return conditions.sm_clock_mhz if self.by_clock else conditions.power_w


def dial_of(card: CardInfo, *, clocks: bool, up_to_w: float | None = None) -> Dial | None:
    """The card's dial, within its own range and not above what its owner has set; None: the card does not tell it.

    ``up_to_w``: the owner allows limits up to this; still not above the card's own highest.
    """
    if clocks:
        top = card.number("sm_clock_max_mhz")
        if top is None:
            return None
        low = CLOCK_GRAIN * round(LOWEST_CLOCK * top / CLOCK_GRAIN)
        return Dial(setting=Setting.SM_CLOCK_LOCK, low=low, high=top, found=None)
    low, most = card.number("power_limit_min_w"), card.number("power_limit_max_w")
    found = standing_w(card)
    if low is None or most is None or found is None:
        return None
    high = min(most, found if up_to_w is None else max(low, up_to_w))
    return Dial(setting=Setting.POWER_LIMIT, low=low, high=high, found=found) if high > low else None


def standing_w(card: CardInfo) -> float | None:
    """The power limit that stands: what was asked for, else what is kept to."""
    for name in ("power_limit_requested_w", "power_limit_enforced_w", "power_limit_default_w"):
        if (watts := card.number(name)) is not None:
            return watts
    return None


def slopes(samples: Sequence[Sample], t0_ns: int, t1_ns: int) -> tuple[float | None, float | None]:
    """How fast power (relative to its mean, 1/s) and core temperature (K/s) surely move in a window; None: not known.

    Each is the least-squares slope without twice its standard error, so that a restless load alone is no movement.
    """
    inside = [sample for sample in samples if t0_ns <= sample.t_ns <= t1_ns]
    power = _slope(inside, Quantity.POWER_INSTANT_W)
    if power is None:
        power = _slope(inside, Quantity.POWER_AVERAGE_W)
    heat = _slope(inside, Quantity.CORE_TEMPERATURE_C)
    return (None if power is None else power[0] / power[1]), (None if heat is None else heat[0])


def _slope(samples: Sequence[Sample], quantity: Quantity) -> tuple[float, float] | None:
    """Sure slope per second, and the mean."""
    known = [(s.t_ns / 1e9, s.values[quantity]) for s in samples if quantity in s.values]
    if len(known) < 5:
        return None
    t, y = (np.array(each) for each in zip(*known, strict=True))
    t = t - t.mean()
    mean = float(y.mean())
    slope = float(t @ (y - mean) / (t @ t))
    left = y - mean - slope * t
    error = float(np.sqrt(left @ left / (len(known) - 2) / (t @ t)))
    return max(0.0, abs(slope) - 2.0 * error), max(mean, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVisit:
    """What a stored session of the same card saw of the same training at some power limit."""

    workload: str
    params: dict[str, str | int | float | bool]
    visit: Visit
    session: str
    driver: str = ""
    torch: str = ""

    def holds(self, workload: str, params: dict[str, str | int | float | bool], context: PlanContext) -> bool:
        """Whether it is of the same training, driver and torch."""
        driver = context.card.readings.get("driver")
        return (
            self.workload == workload
            and all(self.params.get(name) == value for name, value in params.items())
            and self.driver in ("", str(driver.value) if driver is not None else "")
            and self.torch in ("", context.torch.version if context.torch is not None else "")
        )
