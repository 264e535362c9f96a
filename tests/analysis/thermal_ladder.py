"""Cards that the thermal fit is judged by: a ladder of five nodes with fan loop, leakage, sensor lag and quantisation.

Shares no code with the fit. All cards are advanced at once by implicit Euler steps.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KINDS = ("blower", "triple fan", "water")
IDLE_S = 60.0
STEP_S = 0.5
NODES = 5


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Cards, one entry each: resistances (K/W) and heat capacities (J/K) of die, interface, base, fins and case air."""

    kind: NDArray[np.intp]
    power_w: Floats
    resistance: Floats
    capacity: Floats
    room_c: Floats
    leakage: Floats
    flow_exponent: Floats
    fan_low_c: Floats
    fan_high_c: Floats
    fan_least: Floats
    fan_most: Floats
    fan_slew: Floats
    lag_s: Floats
    noise_c: Floats
    power_noise: Floats
    cut: NDArray[np.bool_]
    """Whole degrees are cut, not rounded."""
    fixed_fan: NDArray[np.bool_]
    fan_fixed_at: Floats
    zero_rpm: NDArray[np.bool_]
    hysteresis_c: Floats


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a tool would read, (cards, times), and the truth: steady temperature (°C) and total resistance (K/W)."""

    t_s: Floats
    temperature_c: Floats
    power_w: Floats
    fan: Floats
    steady_c: Floats
    total_k_per_w: Floats


def ladders(count: int, seed: int) -> Ladder:
    """Random cards of the three kinds in turn."""
    rng = np.random.default_rng(seed)

    def between(low: float, high: float) -> Floats:
        return rng.uniform(low, high, count)

    def spread(low: float, high: float) -> Floats:
        return np.exp(rng.uniform(np.log(low), np.log(high), count))

    kind = np.arange(count) % 3
    water = kind == 2
    power = np.where(water, between(250, 600), between(200, 450))
    blown = np.where(kind == 0, between(0.11, 0.20), between(0.09, 0.18))
    total = np.where(water, between(0.05, 0.10), blown)
    air, loop = rng.dirichlet([6, 4, 5, 14, 2], count), rng.dirichlet([6, 4, 5, 14, 1.2], count)
    resistance = np.where(water[:, None], loop, air) * total[:, None]
    fins = np.where(water, spread(300, 1000), spread(40, 150))
    taus = np.stack([spread(0.05, 0.3), spread(0.6, 3), spread(4, 15), fins, spread(400, 1200)], axis=1)
    capacity = taus / np.maximum(resistance, 1e-4)
    capacity[:, 4] = np.minimum(capacity[:, 4], 40_000)
    return Ladder(
        kind=kind,
        power_w=power,
        resistance=resistance,
        capacity=capacity,
        room_c=between(15, 33),
        leakage=np.where(rng.random(count) < 0.5, 0.0, between(0.1, 0.8)),
        flow_exponent=between(0.5, 0.9),
        fan_low_c=between(35, 55),
        fan_high_c=between(75, 92),
        fan_least=np.where(kind == 0, between(0.25, 0.4), between(0.2, 0.35)),
        fan_most=between(0.7, 1.0),
        fan_slew=between(0.005, 0.03),
        lag_s=between(0.2, 1.5),
        noise_c=between(0.0, 0.3),
        power_noise=between(0.002, 0.02),
        cut=rng.random(count) < 0.5,
        fixed_fan=water | (rng.random(count) < 0.25),
        fan_fixed_at=between(0.4, 0.9),
        zero_rpm=(kind == 1) & (rng.random(count) < 0.3),
        hysteresis_c=between(1, 4),
    )


def watched(cards: Ladder, load_s: float, seed: int = 0) -> Seen:
    """Rest, then load for ``load_s``; the truth from five and a half hours more of it."""
    rng = np.random.default_rng(seed)
    count = cards.power_w.size
    rise = np.zeros((count, NODES))
    sensor, held = cards.room_c.copy(), cards.room_c.copy()
    fan = np.where(cards.fixed_fan, cards.fan_fixed_at, cards.fan_least)
    idle_w = 0.06 * cards.power_w
    for _ in range(400):
        rise = _advance(cards, rise, fan, idle_w, 30.0)
        sensor = cards.room_c + rise[:, 0]
        fan, held = _fans(cards, sensor, fan, held, 30.0)
    steps = int((IDLE_S + load_s) / STEP_S)
    told = {name: np.zeros((count, steps)) for name in ("temperature", "power", "fan")}
    for step in range(steps):
        power = idle_w if step * STEP_S < IDLE_S else _power(cards, rise)
        rise = _advance(cards, rise, fan, power, STEP_S)
        sensor = sensor + (cards.room_c + rise[:, 0] - sensor) * -np.expm1(-STEP_S / cards.lag_s)
        fan, held = _fans(cards, sensor, fan, held, STEP_S)
        seen = sensor + rng.normal(size=count) * cards.noise_c
        told["temperature"][:, step] = np.where(cards.cut, np.floor(seen), np.round(seen))
        told["power"][:, step] = power * (1.0 + rng.normal(size=count) * cards.power_noise)
        told["fan"][:, step] = np.round(fan, 2)
    for _ in range(2000):
        rise = _advance(cards, rise, fan, _power(cards, rise), 10.0)
        fan, held = _fans(cards, cards.room_c + rise[:, 0], fan, held, 10.0)
    return Seen(
        t_s=np.arange(steps) * STEP_S,
        temperature_c=told["temperature"],
        power_w=told["power"],
        fan=told["fan"],
        steady_c=cards.room_c + rise[:, 0],
        total_k_per_w=rise[:, 0] / _power(cards, rise),
    )


def _power(cards: Ladder, rise: Floats) -> Floats:
    return cards.power_w + cards.leakage * (cards.room_c + rise[:, 0] - 60.0)


def _advance(cards: Ladder, rise: Floats, fan: Floats, power: Floats, step_s: float) -> Floats:
    """(C/Δt + A) x' = q + C/Δt · x; heat goes from node to node and from the last into the room."""
    scale = np.ones((cards.power_w.size, NODES))
    moving = (np.maximum(fan, 0.12) / 0.6) ** -cards.flow_exponent
    scale[:, 3] = np.where(cards.kind == 2, 1.0, moving)
    conductance = 1.0 / (cards.resistance * scale)
    matrix = np.zeros((cards.power_w.size, NODES, NODES))
    for node in range(NODES):
        matrix[:, node, node] += conductance[:, node] + cards.capacity[:, node] / step_s
        if node + 1 < NODES:
            matrix[:, node, node + 1] -= conductance[:, node]
            matrix[:, node + 1, node + 1] += conductance[:, node]
            matrix[:, node + 1, node] -= conductance[:, node]
    right = cards.capacity * rise / step_s
    right[:, 0] += power
    return np.linalg.solve(matrix, right[:, :, None])[:, :, 0]


def _fans(cards: Ladder, sensor: Floats, fan: Floats, held: Floats, step_s: float) -> tuple[Floats, Floats]:
    held = np.where(np.abs(sensor - held) > cards.hysteresis_c, sensor, held)
    way = np.clip((held - cards.fan_low_c) / (cards.fan_high_c - cards.fan_low_c), 0.0, 1.0)
    target = cards.fan_least + way * (cards.fan_most - cards.fan_least)
    target = np.where(cards.zero_rpm & (held < cards.fan_low_c), 0.0, target)
    moved = fan + np.clip(target - fan, -cards.fan_slew * step_s, cards.fan_slew * step_s)
    return np.where(cards.fixed_fan, cards.fan_fixed_at, moved), held
