"""Heat as a sum of first-order lags (Foster model): forward response and steady state.

T(t) = T_env + Σ_k R_k · (P ∗ h_k)(t), h_k a first-order lag with time constant τ_k (methods §7).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, expm1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """One term of a Foster model: resistance in K/W, time constant in s."""

    resistance_k_per_w: float
    tau_s: float


def lag_step(rise: float, target: float, tau_s: float, duration_s: float) -> float:
    """Where a first-order lag stands after ``duration_s`` on its way from ``rise`` to ``target`` (exact)."""
    return rise - (target - rise) * expm1(-duration_s / tau_s)


def total_resistance(lags: Iterable[Lag]) -> float:
    """Σ R_k in K/W: the steady rise per watt."""
    return sum(lag.resistance_k_per_w for lag in lags)


def steady_temperature(lags: Iterable[Lag], power_w: float, environment_c: float) -> float:
    """T_env + P · Σ R_k in °C."""
    return environment_c + power_w * total_resistance(lags)


def step_rise(lags: Iterable[Lag], power_w: float, t_s: float) -> float:
    """Rise in K, ``t_s`` after a step of ``power_w`` from rest: P · Σ R_k (1 − e^(−t/τ_k))."""
    return sum(power_w * lag.resistance_k_per_w * (1 - exp(-t_s / lag.tau_s)) for lag in lags)


class HeatState:
    """Rises of the lags of one node; moved exactly while the power is constant."""

    def __init__(self, lags: Sequence[Lag]) -> None:
        """Start at rest (no rise)."""
        self._lags = tuple(lags)
        self._rises = [0.0] * len(self._lags)

    @property
    def rise_k(self) -> float:
        """Present rise in K."""
        return sum(self._rises)

    def advance(self, power_w: float, duration_s: float, scale: float = 1.0) -> None:
        """Hold ``power_w`` for ``duration_s``; ``scale`` multiplies all resistances (a slower fan)."""
        for i, lag in enumerate(self._lags):
            target = power_w * lag.resistance_k_per_w * scale
            self._rises[i] = lag_step(self._rises[i], target, lag.tau_s, duration_s)

    def settle(self, power_w: float, scale: float = 1.0) -> None:
        """Jump to the steady state under ``power_w``."""
        for i, lag in enumerate(self._lags):
            self._rises[i] = power_w * lag.resistance_k_per_w * scale
