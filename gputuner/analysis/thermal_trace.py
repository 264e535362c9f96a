"""What is known of a card's heat: temperature, board power and fan speed over time, rest and then one kind of load."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_FAN = 0.12
"""A stopped fan cools like one at this fraction: free convection is left."""
VARIED_FAN = 0.015
"""A fan that moved less than this (fraction of its top speed) counts as steady; speeds are read to 0.01."""
RECOVERY_S = 5.0
"""After a pause of the load the core needs so long to be back where it was: 0.5 s without power cost an H200 15 K."""
WORKING_SHARE = 0.85
STEP_S = 1.0
"""Spacing to which a trace is brought before it is fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThermalTrace:
    """Equally long arrays over ``t_s`` (s, ascending): temperature (°C), board power (W), fan (fraction 0–1; None).

    ``load_from_s`` is when the load began; what lies before it is rest. ``pauses_s``: from and to of the gaps between
    its pieces, s.
    """

    t_s: Floats
    temperature_c: Floats
    power_w: Floats
    load_from_s: float
    fan_fraction: Floats | None = None
    pauses_s: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together or hold no number."""
        arrays = [
            self.t_s,
            self.temperature_c,
            self.power_w,
            *([] if self.fan_fraction is None else [self.fan_fraction]),
        ]
        if len({a.shape for a in arrays}) != 1 or self.t_s.ndim != 1 or self.t_s.size < 2:
            raise ValueError("a trace has one value of each kind per time")
        if not all(np.isfinite(a).all() for a in arrays) or not (np.diff(self.t_s) > 0).all():
            raise ValueError("a trace is finite and its times ascend")

    @property
    def loaded(self) -> NDArray[np.bool_]:
        """Which entries lie under load."""
        return self.t_s >= self.load_from_s

    @property
    def load_s(self) -> float:
        """How long the load has lasted so far, s."""
        return max(0.0, float(self.t_s[-1]) - self.load_from_s)

    @property
    def moved(self) -> bool:
        """Whether the temperature changed at all; a sensor that does not under load tells nothing."""
        return float(np.ptp(self.temperature_c)) > 0.0

    @property
    def fan_varied(self) -> bool:
        """Whether the fan's speed moved enough to tell how it cools."""
        return self.fan_fraction is not None and float(np.ptp(self.fan_fraction)) > VARIED_FAN

    @property
    def disturbed(self) -> NDArray[np.bool_]:
        """Which entries lie in a pause of the load or so soon after that the core has not recovered from it."""
        found = np.zeros(self.t_s.size, dtype=np.bool_)
        for begun, ended in self.pauses_s:
            found |= (self.t_s > begun) & (self.t_s < ended + RECOVERY_S)
        return found

    @property
    def working(self) -> NDArray[np.bool_]:
        """Which entries under load are no pause of it (between two trials): those near the load's usual power."""
        under = self.loaded & ~self.disturbed
        if not under.any():
            return under
        usual = float(np.median(self.power_w[under]))
        return under & (self.power_w >= WORKING_SHARE * usual)

    def until(self, load_s: float) -> "ThermalTrace":
        """The trace up to ``load_s`` seconds of load."""
        kept = self.t_s <= self.load_from_s + load_s
        return ThermalTrace(
            t_s=self.t_s[kept],
            temperature_c=self.temperature_c[kept],
            power_w=self.power_w[kept],
            fan_fraction=None if self.fan_fraction is None else self.fan_fraction[kept],
            load_from_s=self.load_from_s,
            pauses_s=self.pauses_s,
        )

    def regular(self) -> "ThermalTrace":
        """The same each ``STEP_S``: power as its mean over the step, the rest as last read."""
        t = np.arange(self.t_s[0], self.t_s[-1] + 1e-9, STEP_S)
        last = np.searchsorted(self.t_s, t, side="right") - 1
        area = np.concatenate([[0.0], np.cumsum(self.power_w[1:] * np.diff(self.t_s))])
        power = np.diff(np.interp(t, self.t_s, area)) / STEP_S
        return ThermalTrace(
            t_s=t,
            temperature_c=self.temperature_c[last],
            power_w=np.concatenate([[self.power_w[0]], power]),
            fan_fraction=None if self.fan_fraction is None else self.fan_fraction[last],
            load_from_s=self.load_from_s,
            pauses_s=self.pauses_s,
        )


def fan_factor(fan_fraction: Floats | float, exponent: float, reference: float) -> Floats:
    """How many times the fins' resistance at ``reference`` a fan speed makes: (max(f, 0.12) / f_ref)^−exponent.

    Heat transfer of forced air grows with a power 0.5 to 0.8 of the flow, and flow with speed (Incropera, external
    flow over plates; fan affinity laws).
    """
    moving = np.maximum(np.asarray(fan_fraction, dtype=np.float64), LEAST_FAN)
    return (moving / max(reference, LEAST_FAN)) ** -exponent


def responses(t_s: Floats, power_w: Floats, factor: Floats, taus_s: Floats) -> Floats:
    """Lagged power of each time constant, W × factor: (times, factors, constants); from rest at the first power.

    x' = (P·g − x) / (τ·g): a node of fixed heat capacity whose resistance is g times its reference; ``factor`` holds g
    (times, factors). Exact while power and factor are constant between times.
    """
    spans = np.diff(t_s)[:, None, None]
    weights = -np.expm1(-spans / (taus_s[None, None, :] * factor[1:, :, None]))
    driven = (power_w[:, None] * factor)[:, :, None]
    found = np.empty((t_s.size, factor.shape[1], taus_s.size))
    found[0] = driven[0]
    for i in range(1, t_s.size):
        found[i] = found[i - 1] + (driven[i] - found[i - 1]) * weights[i - 1]
    return found
