"""What a fitted card will do under the load it has: steady temperature with its band, the way there, and what it costs.

Fans that follow the temperature make the resistance depend on it: what the fan does at which temperature is learned
from the trace and continued with an uncertain slope; the steady state is the fixed point T = T_env + P(T) · R(fan(T)).
Leakage makes the power follow the temperature; its slope is learned with a prior of none.
"""

from dataclasses import dataclass

import numpy as np

from gputuner.analysis.thermal_fit import FAST_S, Models
from gputuner.analysis.thermal_trace import Floats, ThermalTrace

CLOSED_C = 1.5
"""Half-width of the 90 % band of the steady temperature at which a test is over."""
TAIL_S = 60.0
"""Power and fan of the end of a trace are means over this."""
TOP_C = 8.0
"""The fan's curve is learned from readings this near the highest."""
SETTLE_S = 5.0
"""A fan answers, and the first jump is over."""
FAN_SLOPE_SHARE, FAN_SLOPE_LEAST = 0.5, 0.003
"""Uncertainty of a fan's slope: this share of it, plus fractions per °C."""
LEAK_SD_W_PER_C = 0.5
POWER_SD_SHARE, POWER_CORRELATION_S = 0.02, 40.0
WHOLE_DEGREE_C = 1.0
"""A temperature at rest between two whole degrees reads as one of them for ever: no averaging takes that error out. It
lies within half a degree to each side where readings are rounded, within one below where they are cut."""
STEP_S = 5.0
LONGEST_S = 3600.0 * 2
FIXED_POINT_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A 90 % band with its median, in the figure's own unit."""

    low: float
    median: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2.0

    @property
    def half_share(self) -> float:
        """Half of its width over its median."""
        return self.half_width / self.median if self.median > 0.0 else float("inf")


def band(values: Floats) -> Band:
    """5 %, 50 % and 95 % quantiles of draws."""
    low, median, high = (float(q) for q in np.quantile(values, [0.05, 0.5, 0.95]))
    return Band(low=low, median=median, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What acts on the heat at the end of a trace, one entry per draw: power (W), leakage, slope of the fan.

    ``fan_slope_per_c`` is 0 where the fan stood still (or none is read).
    """

    power_w: Floats
    leakage_w_per_c: Floats
    fan: float
    fan_slope_per_c: Floats
    fan_top: float
    power_most_w: float
    """The power limit, W; infinite where none is known."""
    temperature_c: float
    offset_c: Floats

    def fan_at(self, temperature_c: Floats) -> Floats:
        """Fan speed (fraction) at a core temperature, °C."""
        wanted = self.fan + self.fan_slope_per_c * (temperature_c - self.temperature_c)
        return np.clip(wanted, 0.0, self.fan_top)

    def power_at(self, temperature_c: Floats) -> Floats:
        """Board power (W) at a core temperature, °C."""
        wanted = self.power_w + self.leakage_w_per_c * (temperature_c - self.temperature_c)
        return np.minimum(wanted, self.power_most_w)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Draws of the steady state: temperature (°C), power (W), fan (fraction), resistance (K/W), surroundings (°C)."""

    temperature_c: Floats
    power_w: Floats
    fan: Floats
    resistance_k_per_w: Floats
    environment_c: Floats

    @property
    def steady_c(self) -> Band:
        """Steady core temperature, °C."""
        return band(self.temperature_c)

    @property
    def resistance(self) -> Band:
        """Total thermal resistance at the steady state's fan speed, K/W."""
        return band(self.resistance_k_per_w)


def surroundings(
    trace: ThermalTrace, draws: int, *, seed: int = 0, fan_top: float = 1.0, limit_w: float | None = None
) -> Surroundings:
    """What the end of a trace says of power, leakage and fan; pauses of the load are no part of it.

    ``limit_w``: the card draws no more, however hot it gets.
    """
    rng = np.random.default_rng(seed + 1)
    loaded = trace.working & (trace.t_s >= trace.load_from_s + SETTLE_S)
    tail = loaded & (trace.t_s >= trace.t_s[-1] - TAIL_S)
    if not tail.any():
        loaded = tail = trace.loaded
    leak, leak_sd = _leakage(trace.temperature_c[loaded], trace.power_w[loaded], trace.load_s)
    temperature = float(trace.temperature_c[tail].mean())
    fan, slope = 1.0, np.zeros(draws)
    if trace.fan_fraction is not None:
        fan = float(trace.fan_fraction[tail].mean())
        if trace.fan_varied:
            found = _fan_slope(trace.temperature_c[loaded], trace.fan_fraction[loaded])
            slope = np.abs(rng.normal(found, FAN_SLOPE_SHARE * found + FAN_SLOPE_LEAST, draws))
    return Surroundings(
        power_w=np.full(draws, float(trace.power_w[tail].mean())),
        leakage_w_per_c=leak + leak_sd * rng.normal(size=draws),
        fan=fan,
        fan_slope_per_c=slope,
        fan_top=fan_top,
        power_most_w=np.inf if limit_w is None else max(limit_w, float(trace.power_w[tail].mean())),
        temperature_c=temperature,
        offset_c=WHOLE_DEGREE_C * (rng.random(draws) - np.where(rng.random(draws) < 0.5, 0.5, 0.0)),
    )


def steady(models: Models, around: Surroundings) -> Forecast:
    """The steady state of each draw under the load of the trace's end."""
    temperature = np.full(models.environment_c.size, around.temperature_c)
    power, fan = around.power_at(temperature), around.fan_at(temperature)
    resistance = models.total_k_per_w(fan)
    for _ in range(FIXED_POINT_STEPS):
        fan, power = around.fan_at(temperature), around.power_at(temperature)
        resistance = models.total_k_per_w(fan)
        temperature = temperature + 0.5 * (models.environment_c + power * resistance - temperature)
    return Forecast(
        temperature_c=temperature + around.offset_c,
        power_w=power,
        fan=fan,
        resistance_k_per_w=(temperature - models.environment_c) / power,
        environment_c=models.environment_c,
    )


def course(models: Models, around: Surroundings, ahead_s: float, step_s: float = STEP_S) -> tuple[Floats, Floats]:
    """Times ahead (s) and temperatures (°C) of each draw, (times, draws), if the load goes on."""
    times = np.arange(0.0, ahead_s + step_s / 2, step_s)
    fast, fins, rest = models.fast_state_w, models.fins_state_w, models.rest_state_w
    found = np.empty((times.size, models.environment_c.size))
    temperature = np.full(models.environment_c.size, around.temperature_c)
    for i in range(times.size):
        if i:
            power = around.power_at(temperature)[:, None]
            g = models.factor(around.fan_at(temperature))
            fast = fast + (power - fast) * -np.expm1(-step_s / FAST_S)
            fins = fins + (power[:, 0] * g - fins) * -np.expm1(-step_s / (models.fins_tau_s * g))
            rest = rest + (power[:, 0] - rest) * -np.expm1(-step_s / models.rest_tau_s)
        rise = (models.fast_k_per_w * fast).sum(axis=1) + models.fins_k_per_w * fins + models.rest_k_per_w * rest
        temperature = models.environment_c + rise
        found[i] = temperature + around.offset_c
    return times, found


def minutes_to_limit(models: Models, around: Surroundings, limit_c: float) -> Band | None:
    """When the core first reaches ``limit_c`` under this load, minutes from the trace's end; None if at most one draw
    in twenty ever does. Where less than 95 % do, the upper end is the longest time looked at."""
    times, found = course(models, around, LONGEST_S, 4 * STEP_S)
    reached = found >= limit_c
    if reached.any(axis=0).mean() <= 0.05:
        return None
    first = np.where(reached.any(axis=0), times[reached.argmax(axis=0)], LONGEST_S)
    return band(first / 60.0)


def power_to_limit(models: Models, around: Surroundings, limit_c: float) -> Band:
    """Watts at which the core just reaches ``limit_c``, with the fan as it runs at that temperature, W."""
    fans = around.fan_at(np.full(models.environment_c.size, limit_c))
    return band((limit_c - models.environment_c) / models.total_k_per_w(fans))


def room_to_limit(models: Models, around: Surroundings, limit_c: float) -> Band:
    """Air temperature, °C, at which this load just reaches ``limit_c``; power and fan as they are at that one."""
    hot = np.full(models.environment_c.size, limit_c)
    return band(limit_c - around.power_at(hot) * models.total_k_per_w(around.fan_at(hot)))


def _fan_slope(temperature_c: Floats, fan: Floats) -> float:
    """Slope of the fan over the temperature near the highest one, fraction per °C, at least 0."""
    top = temperature_c >= temperature_c.max() - TOP_C
    x, y = temperature_c[top], fan[top]
    if np.ptp(x) < 1.0:
        return 0.0
    x = x - x.mean()
    return max(0.0, float(x @ y / (x @ x)))


def _leakage(temperature_c: Floats, power_w: Floats, load_s: float) -> tuple[float, float]:
    """Slope of power over temperature, W/°C, with its standard deviation; ridge towards none."""
    x, y = temperature_c - temperature_c.mean(), power_w - power_w.mean()
    noise = POWER_SD_SHARE * float(power_w.mean())
    n = max(1.0, load_s / POWER_CORRELATION_S)
    precision = float((x * x).mean()) * n / noise**2 + 1.0 / LEAK_SD_W_PER_C**2
    return float((x * y).mean()) * n / noise**2 / precision, precision**-0.5
