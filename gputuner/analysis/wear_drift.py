"""Whether a card's thermal resistance rises over weeks, from steady stretches of ordinary sessions (methods §7).

Stretches are compared in pairs that are alike: nearly the same fan speed, power and memory traffic (board power does
not say where heat arises, so one kind of load), at least a day apart. The slope is the median of the pairs' slopes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.thermal_trace import LEAST_FAN
from gputuner.analysis.wear_slope import DAY_S, MONTH_S, Slopes, slope_interval, slopes
from gputuner.analysis.wear_trace import Floats
from gputuner.analysis.wear_trend import (
    LEAST_AT_A_FAN,
    LEAST_DAYS,
    LEAST_PAIRS,
    LEAST_SESSIONS,
    LEAST_SPAN_DAYS,
    Basis,
    Drift,
    SteadyPoint,
    Trend,
)

FAN_ALIKE, POWER_ALIKE, TRAFFIC_ALIKE = 0.04, 0.10, 0.15
"""Fan (fraction of full speed), power (log ratio) and memory traffic (fraction) of two stretches that are alike."""
FAN_EXPONENT, FAN_EXPONENT_ERROR = 0.4, 0.2
"""Resistance of the whole card against fan speed: fins' 0.5 to 0.8 (Incropera) times their share of the whole."""
ROOM_C, ROOM_SWING_K = 25.0, 8.0
"""An unknown room, and by how much it may differ between two parts of the history: ± 4 °C."""
THERMOMETER_SWING_K = 2.0
"""By how much told rooms may be off against each other: household thermometers are good to ± 1 °C."""
SAME_SHARE = 0.75
"""A room told as the same in so many of the sessions is a guess, or a thermometer that nobody looked at."""
SWING_SLOPE = 12.0 / np.pi**2
"""Least-squares slope of half a sine from one extreme to the other, over that of the line between them."""
MATERIAL = 0.03
"""A change over the whole history below this share is within what whole-degree sensors and their own drift can do."""
SENSOR_K = 0.4
"""What a sensor of whole degrees, read at two temperatures, may be off by between the ends of a history."""
MOST = 500
"""More stretches are thinned out, since pairs grow with the square."""
SEED = 20261130


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Stretches of one basis as arrays (n,): time, fan (NaN: none), log of the resistance at ``fan_at``."""

    basis: Basis
    points: tuple[SteadyPoint, ...]
    t_s: Floats
    fan: Floats
    fan_at: float | None
    level: Floats
    pairs: Slopes = field(repr=False)


def drift(points: Sequence[SteadyPoint], seed: int = SEED) -> Drift:
    """The trend by the best basis that has enough; without any the one with most sessions, with what is missing."""
    found: list[Drift] = []
    for basis in Basis:
        own = points if basis is Basis.NONE else [p for p in points if p.basis is basis]
        if basis is Basis.ROOM and _guessed(own):
            continue
        judged = _judged(_compared(basis, own), seed)
        if not judged.missing:
            return judged
        found.append(judged)
    return max(found, key=lambda each: (each.alike, each.sessions))


def _guessed(points: Sequence[SteadyPoint]) -> bool:
    """Whether the air was told as the same in most sessions."""
    told = Counter({p.session_id: p.air_c for p in points}.values())
    return max(told.values(), default=0) >= SAME_SHARE * max(1, told.total())


def _compared(basis: Basis, points: Sequence[SteadyPoint]) -> _Compared:
    own = _thinned(points)
    t_s = np.array([p.unix_s for p in own])
    fan = np.array([np.nan if p.fan_fraction is None else max(p.fan_fraction, LEAST_FAN) for p in own])
    turning = fan[np.isfinite(fan)]
    fan_at = float(np.median(turning)) if turning.size else None
    level = np.log([_resistance(basis, p) for p in own]) if own else np.empty(0)
    if fan_at is not None:
        level = level + FAN_EXPONENT * np.nan_to_num(np.log(fan / fan_at), nan=0.0)
    pairs = slopes(t_s, level, _alike(basis, own, t_s, fan))
    return _Compared(basis=basis, points=own, t_s=t_s, fan=fan, fan_at=fan_at, level=level, pairs=pairs)


def _resistance(basis: Basis, point: SteadyPoint) -> float:
    if basis is Basis.NONE or point.k_per_w is None:
        return max(point.temperature_c - ROOM_C, 1.0) / point.power_w
    return point.k_per_w


def _thinned(points: Sequence[SteadyPoint]) -> tuple[SteadyPoint, ...]:
    """One stretch, that with the median resistance, per session, fan speed, power and traffic; at most ``MOST``."""
    groups: dict[tuple[object, ...], list[SteadyPoint]] = {}
    for p in points:
        fan = -1 if p.fan_fraction is None else round(p.fan_fraction / FAN_ALIKE)
        traffic = -1 if p.traffic is None else round(p.traffic / TRAFFIC_ALIKE)
        groups.setdefault((p.session_id, fan, traffic, round(np.log(p.power_w) / POWER_ALIKE)), []).append(p)
    own = [sorted(each, key=lambda p: p.k_per_w or p.temperature_c)[len(each) // 2] for each in groups.values()]
    own.sort(key=lambda p: p.unix_s)
    return tuple(own[:: -(-len(own) // MOST)] if own else ())


def _alike(basis: Basis, points: Sequence[SteadyPoint], t_s: Floats, fan: Floats) -> NDArray[np.bool_]:
    power = np.log([p.power_w for p in points]) if points else np.empty(0)
    traffic = np.array([np.nan if p.traffic is None else p.traffic for p in points])
    alike = np.abs(t_s[:, None] - t_s[None, :]) >= DAY_S
    alike &= np.abs(power[:, None] - power[None, :]) <= POWER_ALIKE
    alike &= ~(np.abs(traffic[:, None] - traffic[None, :]) > TRAFFIC_ALIKE)
    alike &= np.isfinite(fan)[:, None] == np.isfinite(fan)[None, :]
    if basis is not Basis.NONE:  # an automatic fan follows the temperature: at equal fan that cannot drift
        alike &= ~(np.abs(fan[:, None] - fan[None, :]) > FAN_ALIKE)
    return alike


def _judged(found: _Compared, seed: int) -> Drift:
    told = _counted(found)
    if told.missing:
        return told
    slope, low, high = slope_interval(found.pairs, found.t_s, seed)
    span_months = told.span_days * DAY_S / MONTH_S
    rise_k = float(np.median([p.temperature_c - (ROOM_C if p.air_c is None else p.air_c) for p in found.points]))
    slack = SENSOR_K / max(rise_k, 1.0) / span_months
    if found.basis is Basis.ROOM:
        slack += _tilt(THERMOMETER_SWING_K, rise_k, span_months)
    if found.basis is Basis.NONE:
        slack += _tilt(ROOM_SWING_K, rise_k, span_months) + _unknown_fan(found)
    low, high = low - slack, high + slack
    material = abs(slope) * span_months >= MATERIAL
    rising, falling = low > 0 and material, high < 0 and material
    per_month = float(np.expm1(slope))
    return replace(
        told,
        verdict=Trend.RISING if rising else Trend.FALLING if falling else Trend.NOT_SHOWN,
        per_month=per_month,
        low=float(np.expm1(low)),
        high=float(np.expm1(high)),
        degrees_per_month=per_month * rise_k,
        line=_line(found, told.power_w or 1.0, (slope, low, high)),
    )


def _counted(found: _Compared) -> Drift:
    """What could be compared, and what of it there is too little of."""
    settled = _told(found.points)
    alike = all(have >= least for have, least in settled.values())
    own: list[SteadyPoint] = [found.points[int(i)] for i in found.pairs.members]
    at: dict[int, set[str]] = {}
    for p in own:
        at.setdefault(-1 if p.fan_fraction is None else round(p.fan_fraction / 0.05), set()).add(p.session_id)
    counted = (_told(own) if alike else settled) | {
        "pairs": (float(found.pairs.per_month.size), float(LEAST_PAIRS)),
        "fan": (float(sum(len(each) >= LEAST_AT_A_FAN for each in at.values())), 1.0),
    }
    powers = [p.power_w for p in found.points]
    power_w = float(np.median(powers)) if powers else None
    values = _drawn(found, found.level, power_w or 1.0)
    fans = [p.fan_fraction for p in found.points]
    return Drift(
        verdict=Trend.TOO_FEW,
        basis=found.basis,
        sessions=int(counted["sessions"][0]),
        days=int(counted["days"][0]),
        span_days=counted["span"][0],
        fan_levels=int(counted["fan"][0]),
        pairs=int(counted["pairs"][0]),
        alike=alike,
        missing=tuple(name for name, (have, least) in counted.items() if have < least),
        power_w=power_w,
        fan_fraction=found.fan_at,
        line_unit="degC" if found.basis is Basis.NONE else "K/W",
        shown=tuple(zip(found.t_s.tolist(), values.tolist(), fans, strict=True)),
    )


def _told(points: Sequence[SteadyPoint]) -> dict[str, tuple[float, float]]:
    """Sessions, days and days from first to last of some stretches, each with the least that is a history."""
    t_s = [p.unix_s for p in points]
    return {
        "sessions": (float(len({p.session_id for p in points})), float(LEAST_SESSIONS)),
        "days": (float(len({t // DAY_S for t in t_s})), float(LEAST_DAYS)),
        "span": ((max(t_s) - min(t_s)) / DAY_S if t_s else 0.0, LEAST_SPAN_DAYS),
    }


def _drawn(found: _Compared, level: Floats, power_w: float) -> Floats:
    """Logs of resistance as they are drawn: K/W, or for an unknown air °C at ``power_w``."""
    value = np.exp(level)
    return ROOM_C + power_w * value if found.basis is Basis.NONE else value


def _tilt(swing_k: float, rise_k: float, span_months: float) -> float:
    """By how much per month a room that is off by so much between two parts can tilt the trend, as a fraction."""
    return SWING_SLOPE * swing_k / max(rise_k, 1.0) / span_months


def _unknown_fan(found: _Compared) -> float:
    """By how much per month an unknown fan law can tilt the trend, as a fraction."""
    if found.fan_at is None:
        return 0.0
    first, second = found.pairs.first, found.pairs.second
    moved = np.log(found.fan[second] / found.fan[first]) / ((found.t_s[second] - found.t_s[first]) / MONTH_S)
    known = moved[np.isfinite(moved)]
    return FAN_EXPONENT_ERROR * (abs(float(np.median(known))) if known.size else 0.0)


def _line(
    found: _Compared, power_w: float, slope: tuple[float, float, float]
) -> tuple[tuple[float, float, float, float], ...]:
    """The trend through the middle of what was compared, with the interval of its slope, at both ends and between."""
    middle_s = float(np.median(found.t_s))
    height = float(np.median(found.level - slope[0] * (found.t_s - middle_s) / MONTH_S))
    at_s: Floats = np.linspace(float(found.t_s.min()), float(found.t_s.max()), 25)
    months = (at_s - middle_s) / MONTH_S
    centre, one, other = (_drawn(found, height + each * months, power_w).tolist() for each in slope)
    low, high = map(min, one, other), map(max, one, other)
    return tuple(zip(at_s.tolist(), centre, low, high, strict=True))
