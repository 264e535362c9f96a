"""Thermal resistance and steady temperature of a card from a load that has not lasted long enough to show them.

Foster model (methods §7): T(t) = T_env + Σ R_k · (P ∗ h_k)(t). Three fast lags stand for die, interface and plate; two
slow ones for fins (whose resistance follows the fan) and for what comes after them (loop, case air). Which time
constants the slow ones have, and how strongly the fan acts, a short trace does not tell: each of a grid of such models
is fitted by non-negative least squares with weak prior knowledge, weighted by its evidence, and drawn from
(randomise-then-optimise, Bardsley et al. 2014). So the band of what is not yet visible is wide, and closes as it shows.
R_k and τ_k of a single model are no physical parts and are not told; the total resistance is.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.thermal_trace import Floats, ThermalTrace, fan_factor, responses

NDArrayInt = NDArray[np.intp]

FAST_S = np.array([0.4, 2.0, 8.0])
SLOW_S = np.array([22.0, 35.0, 55.0, 85.0, 130.0, 200.0, 310.0, 480.0, 750.0, 1200.0])
EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""How the fan acts on the fins; the first is of all that it does not act on, and of the fins where it did not move."""
EXPONENT, EXPONENT_SD = 0.7, 0.25
"""Before anything is seen: 0.5 (laminar) to 0.8 (turbulent) by theory, see ``fan_factor``. A fan that moved is never
taken for one that does nothing: of a stopped fan that starts under load this would make the air at rest too warm."""
LEAST_BEHIND_S = 300.0
"""Loops, cases and rooms behind the fins take at least so long. Needed where the fan moved: a faster lag that it does
not act on would be fins, and take from the fan what it did to a card at rest, and from the air what that says of it."""
PRIOR_K_PER_W = np.array([0.01, 0.01, 0.01, 0.05, 0.015])
PRIOR_SD_K_PER_W = np.array([0.05, 0.05, 0.05, 0.05, 0.02])
"""Coolers of 200 to 600 W cards reach 0.04 to 0.22 K/W in all, most of it in the fins."""
BEHIND_SHARE, BEHIND_SD_SHARE = 0.2, 0.25
"""Loop, case and room behind the fins are no more than this share of the resistance that has shown itself already: good
coolers stand in good air, and 0.02 K/W on top of the 0.05 of a 700 W card would be 14 K."""
LEAST_SEEN_K_PER_W, LAST_S = 0.03, 20.0
ENVIRONMENT_SD_C = 4.0
ROOM_SD_C = 1.0
REST_K_PER_W = 0.1
"""Rise over the surroundings at rest, per watt, as a first guess."""
NOISE_C = 0.5
"""Quantisation to whole degrees, sensor noise, and what five lags cannot follow."""
CORRELATION_S = 25.0
"""Errors of readings closer together than this are one and the same."""
DRAWS = 160
ITERATIONS = 300
LEAST_LOAD_S = 20.0
"""A shorter load says nothing of what comes after the plate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Draws from the models that agree with a trace; arrays of one entry per draw.

    ``fast_k_per_w`` (draws, 3), ``fins_k_per_w`` at the fan's last speed, ``rest_k_per_w``, each in K/W; their time
    constants in s; ``exponent`` of the fan; states: lagged power (W) at the end of the trace.
    """

    environment_c: Floats
    fast_k_per_w: Floats
    fins_k_per_w: Floats
    rest_k_per_w: Floats
    fins_tau_s: Floats
    rest_tau_s: Floats
    exponent: Floats
    fast_state_w: Floats
    fins_state_w: Floats
    rest_state_w: Floats
    reference_fan: float
    misfit: float
    """Root mean square of the best model's residual over the noise assumed; well above 1: no such model follows it."""

    def total_k_per_w(self, fan: Floats | float | None = None) -> Floats:
        """Total resistance of each draw, K/W, at a fan speed (None: the last one seen)."""
        g = 1.0 if fan is None else self.factor(fan)
        return self.fast_k_per_w.sum(axis=1) + self.fins_k_per_w * g + self.rest_k_per_w

    def factor(self, fan: Floats | float) -> Floats:
        """Times the fins' resistance at the last fan speed, one per draw."""
        return fan_factor(fan, 1.0, self.reference_fan) ** self.exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """One model: the fan's exponent (its place), the places of its two slow time constants, and how it fits."""

    exponent: int
    fins: int
    rest: int
    factor: Floats
    """Upper triangle of the whitened design, (6, 6)."""
    aim: Floats
    leftover: float
    evidence: float


def fit(trace: ThermalTrace, *, room_c: float | None = None, draws: int = DRAWS, seed: int = 0) -> Models | None:
    """Draws of the models that a trace of rest and one kind of load allows; None where the load was too short.

    Args:
        trace: one kind of load only; board power does not tell where heat arises.
        room_c: temperature of the air that the card draws in, °C, where the owner gave it.
        draws: how many.
        seed: of the draws; the same trace and seed give the same draws.
    """
    if trace.load_s < LEAST_LOAD_S:
        return None
    trace = trace.regular()
    exponents = np.array(EXPONENTS if trace.fan_varied else EXPONENTS[:1])
    reference, factors = _factors(trace, exponents)
    slow = responses(trace.t_s, trace.power_w, factors, SLOW_S)
    fast = responses(trace.t_s, trace.power_w, factors[:, :1], FAST_S)[:, 0]
    candidates = _candidates(trace, fast, slow, _prior(trace, room_c))
    freedom = max(4.0, float((_rows(trace)[1] ** 2).sum()) - 4.0)
    misfit = max(1.0, min(c.leftover for c in candidates) / freedom)
    rng = np.random.default_rng(seed)
    evidence = np.array([c.evidence for c in candidates])
    chance = np.exp((evidence - evidence.max()) / misfit)
    drawn = cast("list[int]", rng.choice(len(candidates), draws, p=chance / chance.sum()).tolist())
    picks = [candidates[i] for i in drawn]
    found = np.array([_solve(c.factor, c.aim + rng.normal(0.0, np.sqrt(misfit), c.aim.size))[0] for c in picks])
    exponent, fins, rest = (
        np.array(places) for places in zip(*((c.exponent, c.fins, c.rest) for c in picks), strict=True)
    )
    return Models(
        environment_c=found[:, 0],
        fast_k_per_w=found[:, 1:4],
        fins_k_per_w=found[:, 4],
        rest_k_per_w=found[:, 5],
        fins_tau_s=SLOW_S[fins],
        rest_tau_s=SLOW_S[rest],
        exponent=exponents[exponent],
        fast_state_w=np.tile(fast[-1], (draws, 1)),
        fins_state_w=slow[-1, exponent, fins],
        rest_state_w=slow[-1, 0, rest],
        reference_fan=reference,
        misfit=float(np.sqrt(misfit)),
    )


def _factors(trace: ThermalTrace, exponents: Floats) -> tuple[float, Floats]:
    """The fan speed that resistances refer to (the last), and what each exponent makes of the trace's speeds."""
    if trace.fan_fraction is None:
        return 1.0, np.ones((trace.t_s.size, exponents.size))
    reference = float(trace.fan_fraction[-1])
    return reference, np.column_stack([fan_factor(trace.fan_fraction, float(n), reference) for n in exponents])


def _rows(trace: ThermalTrace) -> tuple[NDArrayInt, Floats]:
    """Which readings are used (dense after the step, then each 4 s) and the root of what each counts.

    None of a pause between two pieces of the load: five lags do not follow a core that falls and jumps within a second.
    """
    at = trace.load_from_s
    times = np.concatenate(
        [np.arange(trace.t_s[0], at, 5.0), np.arange(at, at + 20.0, 1.0), np.arange(at + 20.0, trace.t_s[-1], 4.0)]
    )
    rows = np.unique(np.append(np.searchsorted(trace.t_s, times), trace.t_s.size - 1))
    rows = rows[rows < trace.t_s.size]
    rows = rows[~trace.disturbed[rows]]
    apart = np.diff(trace.t_s[rows], prepend=trace.t_s[rows[0]] - 4.0)
    return rows, np.sqrt(np.minimum(1.0, apart / CORRELATION_S))


def _prior(trace: ThermalTrace, room_c: float | None) -> tuple[Floats, Floats]:
    """Expected value and standard deviation of surroundings and resistances."""
    rest = ~trace.loaded if (~trace.loaded).any() else np.arange(trace.t_s.size) == 0
    rest_c, rest_w = float(trace.temperature_c[rest].mean()), float(trace.power_w[rest].mean())
    expected, sd = (rest_c - REST_K_PER_W * rest_w, ENVIRONMENT_SD_C) if room_c is None else (room_c, ROOM_SD_C)
    last = trace.t_s >= trace.t_s[-1] - LAST_S
    rise, power = float(trace.temperature_c[last].max()) - rest_c, float(trace.power_w[last].mean()) - rest_w
    seen = max(LEAST_SEEN_K_PER_W, rise / power if power > 0.0 else 0.0)
    resistance, resistance_sd = PRIOR_K_PER_W.copy(), PRIOR_SD_K_PER_W.copy()
    resistance[-1] = min(resistance[-1], BEHIND_SHARE * seen)
    resistance_sd[-1] = min(resistance_sd[-1], BEHIND_SD_SHARE * seen)
    return np.concatenate([[expected], resistance]), np.concatenate([[sd], resistance_sd])


def _candidates(trace: ThermalTrace, fast: Floats, slow: Floats, prior: tuple[Floats, Floats]) -> list[_Candidate]:
    """Every model against the trace: normal equations of all columns at once, of which each model takes its own.

    The prior stands beside the readings as six more; the triangle of a model's own equations is their Cholesky factor.
    """
    rows, weights = _rows(trace)
    expected, sd = prior
    exponents = slow.shape[1]
    columns = [np.ones((rows.size, 1)), fast[rows], slow[rows].reshape(rows.size, -1), trace.temperature_c[rows, None]]
    whole = np.hstack(columns) * (weights / NOISE_C)[:, None]
    gram = whole.T @ whole
    known = np.column_stack([np.diag(1.0 / sd), expected / sd])
    prior_gram = known.T @ known
    behind, acting = (int(np.searchsorted(SLOW_S, LEAST_BEHIND_S)), 1) if exponents > 1 else (1, 0)
    places = [
        (e, a, b)
        for e in range(acting, exponents)
        for a in range(SLOW_S.size)
        for b in range(max(a + 1, behind), SLOW_S.size)
    ]
    first = 1 + FAST_S.size
    own = np.array([[0, 1, 2, 3, first + e * SLOW_S.size + a, first + b, gram.shape[0] - 1] for e, a, b in places])
    triangles = np.linalg.cholesky(gram[own[:, :, None], own[:, None, :]] + prior_gram).swapaxes(1, 2)
    found: list[_Candidate] = []
    for (e, a, b), triangle in zip(places, triangles, strict=True):
        factor, aim, left = triangle[:6, :6], triangle[:6, 6], float(triangle[6, 6])
        values, residual = _solve(factor, aim)
        active = values > 0.0
        leftover = residual**2 + left**2
        spread = np.linalg.slogdet(factor[:, active].T @ factor[:, active])[1]
        known_fan = ((EXPONENTS[e] - EXPONENT) / EXPONENT_SD) ** 2
        evidence = -0.5 * (leftover + float(spread) + known_fan) - float(np.log(sd[active]).sum())
        found.append(
            _Candidate(exponent=e, fins=a, rest=b, factor=factor, aim=aim, leftover=leftover, evidence=evidence)
        )
    return found


def _solve(factor: Floats, aim: Floats) -> tuple[Floats, float]:
    """Non-negative least squares and its residual norm."""
    from scipy import optimize

    values, residual = cast("tuple[Floats, float]", optimize.nnls(factor, aim, maxiter=ITERATIONS))  # pyright: ignore[reportUnknownMemberType]
    return values, float(residual)
