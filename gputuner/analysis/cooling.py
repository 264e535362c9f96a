"""From the samples of a thermal test to what can be said of the cooler (methods §7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gputuner.analysis.thermal_end import missing_resistance, missing_steady, resistance_known, steady_known
from gputuner.analysis.thermal_fit import Models, fit
from gputuner.analysis.thermal_forecast import (
    STEP_S,
    Band,
    Forecast,
    Surroundings,
    band,
    course,
    minutes_to_limit,
    power_to_limit,
    room_to_limit,
    steady,
    surroundings,
)
from gputuner.analysis.thermal_trace import Floats, ThermalTrace
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

POWER = (Quantity.POWER_INSTANT_W, Quantity.POWER_AVERAGE_W)
"""The instant field first: the average one trails by a second."""
LEAST_SAMPLES = 20
RISE_SHARES = {"rise_63_s": 1.0 - np.exp(-1.0), "rise_90_s": 0.9}
RISE_WITHIN_S = 7200.0
LEAST_RISE_S = STEP_S
"""Rises are followed in steps of this, s: a shorter time is told as at most this."""
WIDEST_RISE = 10.0
"""A rise time whose band spans more than this is not told."""
MISFIT_TOLD = 1.2
"""Residuals so many times the noise of the readings are no chance any more: some fifty independent ones stand behind
them, which scatters their root mean square by a tenth."""
LEAST_MARGINS = 20
"""So many readings of the driver's margin under load, before the limit is taken from it."""
FULL_FAN = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known after some minutes of load."""

    load_min: float
    forecast: Forecast
    models: Models
    around: Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """What a thermal test found.

    Bands of 90 %: ``steady_c`` °C, ``resistance_k_per_w``, ``environment_c``, times in s, ``minutes_to_limit`` (None:
    not reached under this load), ``good_for_w`` and ``room_c_at_limit`` (None: no limit is known).
    """

    load_min: float
    closed: bool
    """The steady temperature is known."""
    missing_min: int | None
    """Minutes of load that the band still needs (None: closed, or cannot be told)."""
    resistance_closed: bool
    resistance_missing_min: int | None
    """The same for the thermal resistance, which the unknown air at the card may keep open."""
    steady_c: Band
    resistance_k_per_w: Band
    environment_c: Band
    power_w: float
    fan: float | None
    rise_s: dict[str, Band]
    leakage_w_per_c: Band
    limit_c: float | None
    minutes_to_limit: Band | None
    good_for_w: Band | None
    room_c_at_limit: Band | None
    full_fan_k: Band | None
    """Degrees that the fan at full speed would gain; None where it stands still, is full, or is not read."""
    misfit: float


def trace_of(
    samples: Sequence[Sample], load_from_ns: int, pauses_ns: Sequence[tuple[int, int]] = ()
) -> ThermalTrace | None:
    """The trace of a card's samples; None where temperature or power are not read, or too seldom.

    Fans are read seldomer than the rest; their last reading holds. The instant power where the card has it.
    """
    power = next((q for q in POWER if any(q in s.values for s in samples)), None)
    if power is None:
        return None
    rows: list[tuple[float, float, float]] = []
    fans: list[float] = []
    fan = next((s.values[Quantity.FAN_FRACTION] for s in samples if Quantity.FAN_FRACTION in s.values), None)
    for sample in samples:
        fan = sample.values.get(Quantity.FAN_FRACTION, fan)
        if Quantity.CORE_TEMPERATURE_C not in sample.values or power not in sample.values:
            continue
        t_s = sample.t_ns / 1e9
        if rows and t_s <= rows[-1][0]:
            continue
        rows.append((t_s, sample.values[Quantity.CORE_TEMPERATURE_C], sample.values[power]))
        fans.append(-1.0 if fan is None else fan)
    if len(rows) < LEAST_SAMPLES:
        return None
    t, temperature, watts = (np.array(column) for column in zip(*rows, strict=True))
    return ThermalTrace(
        t_s=t,
        temperature_c=temperature,
        power_w=watts,
        fan_fraction=None if fan is None else np.array(fans),
        load_from_s=load_from_ns / 1e9,
        pauses_s=tuple((begun / 1e9, ended / 1e9) for begun, ended in pauses_ns),
    )


def look(trace: ThermalTrace, *, room_c: float | None = None, limit_w: float | None = None) -> Look | None:
    """Fit what is known so far; None while the load is too short. ``limit_w``: the card's power limit."""
    models = fit(trace, room_c=room_c)
    if models is None:
        return None
    around = surroundings(trace, models.environment_c.size, limit_w=limit_w)
    return Look(load_min=trace.load_s / 60.0, forecast=steady(models, around), models=models, around=around)


def limit_of(samples: Sequence[Sample], load_from_ns: int) -> float | None:
    """The core temperature at which the card slows down, by the margin that its driver tells under load, °C.

    A card may hold its core to less than the slowdown temperature that it reports: the margin counts down to what it
    keeps. None where too few readings tell a margin.
    """
    core, margin = Quantity.CORE_TEMPERATURE_C, Quantity.SLOWDOWN_MARGIN_C
    told = [
        s.values[core] + s.values[margin]
        for s in samples
        if s.t_ns >= load_from_ns and core in s.values and margin in s.values
    ]
    return float(np.median(told)) if len(told) >= LEAST_MARGINS else None


def judged(trace: ThermalTrace, looks: Sequence[Look], limit_c: float | None) -> Cooling:
    """What the last look says, with the time that is missing from the run of all of them."""
    last = looks[-1]
    models, around, there = last.models, last.around, last.forecast
    told = [(k.load_min, k.forecast) for k in looks]
    forecasts = [forecast for _, forecast in told]
    closed, resistance_closed = steady_known(forecasts), resistance_known(forecasts)
    fan = float(np.median(there.fan)) if trace.fan_fraction is not None else None
    return Cooling(
        load_min=last.load_min,
        closed=closed,
        missing_min=None if closed else missing_steady(told),
        resistance_closed=resistance_closed,
        resistance_missing_min=None if resistance_closed else missing_resistance(told),
        steady_c=there.steady_c,
        resistance_k_per_w=there.resistance,
        environment_c=band(there.environment_c),
        power_w=float(np.median(there.power_w)),
        fan=fan,
        rise_s=rise_times(models, there),
        leakage_w_per_c=band(around.leakage_w_per_c),
        limit_c=limit_c,
        minutes_to_limit=None if limit_c is None else minutes_to_limit(models, around, limit_c),
        good_for_w=None if limit_c is None else power_to_limit(models, around, limit_c),
        room_c_at_limit=None if limit_c is None else room_to_limit(models, around, limit_c),
        full_fan_k=_full_fan(trace, models, around, there),
        misfit=models.misfit,
    )


def told_rise(rise_s: Band) -> bool:
    """Whether a rise time is known to a factor of ten."""
    return rise_s.high <= WIDEST_RISE * max(rise_s.low, LEAST_RISE_S)


def rise_times(models: Models, there: Forecast) -> dict[str, Band]:
    """Seconds from a step of load to 63 % and 90 % of the rise, the fan as in the steady state."""
    draws = models.environment_c.size
    rest = replace(
        models,
        fast_state_w=np.zeros_like(models.fast_state_w),
        fins_state_w=np.zeros(draws),
        rest_state_w=np.zeros(draws),
    )
    fan = float(np.median(there.fan))
    around = Surroundings(
        power_w=np.ones(draws),
        leakage_w_per_c=np.zeros(draws),
        fan=fan,
        fan_slope_per_c=np.zeros(draws),
        fan_top=1.0,
        power_most_w=np.inf,
        temperature_c=0.0,
        offset_c=np.zeros(draws),
    )
    times, found = course(rest, around, RISE_WITHIN_S)
    shares: Floats = (found - models.environment_c) / models.total_k_per_w(fan)
    return {
        name: band(np.where((shares >= share).any(axis=0), times[(shares >= share).argmax(axis=0)], RISE_WITHIN_S))
        for name, share in RISE_SHARES.items()
    }


def _full_fan(trace: ThermalTrace, models: Models, around: Surroundings, there: Forecast) -> Band | None:
    if not trace.fan_varied or float(np.median(there.fan)) > 0.95:
        return None
    power = there.power_w
    now, full = models.total_k_per_w(there.fan), models.total_k_per_w(FULL_FAN)
    return band(power * (now - full))
