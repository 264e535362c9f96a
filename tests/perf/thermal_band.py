"""Does the 90 % band of the thermal fit hold the truth? 200 random cards per seed, looked at after each minute.

    python -m tests.perf.thermal_band [--cards 200] [--seeds 1,2,3] [--room]

Prints Markdown: coverage by minute and at the end of each test, and how far a told resistance is off then.
A test that ends with an open resistance has told the steady temperature only, and asks for ``--room``.
With that the air is told, as a thermometer would: half a degree off (standard deviation).
"""

import argparse
import time

import numpy as np

from gputuner.analysis.thermal_end import over, resistance_known
from gputuner.analysis.thermal_fit import fit
from gputuner.analysis.thermal_forecast import Forecast, steady, surroundings
from gputuner.analysis.thermal_trace import ThermalTrace
from tests.analysis.thermal_ladder import IDLE_S, KINDS, ladders, watched

LONGEST_MIN = 40
THERMOMETER_C = 0.5


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--cards", type=int, default=200)
    arguments.add_argument("--seeds", default="1,2,3")
    arguments.add_argument("--room", action="store_true")
    asked = arguments.parse_args()
    for seed in (int(text) for text in asked.seeds.split(",")):
        judge(asked.cards, seed, told_room=asked.room)


def judge(count: int, seed: int, *, told_room: bool = False) -> None:
    cards = ladders(count, seed)
    seen = watched(cards, 60.0 * LONGEST_MIN, seed)
    rooms = cards.room_c + THERMOMETER_C * np.random.default_rng(seed + 1000).normal(size=count)
    looks: dict[int, list[tuple[bool, float, float]]] = {}
    ends: list[tuple[int, int, bool, float, bool]] = []
    began, fits = time.perf_counter(), 0
    for card in range(count):
        whole = ThermalTrace(
            t_s=seen.t_s,
            temperature_c=seen.temperature_c[card],
            power_w=seen.power_w[card],
            fan_fraction=seen.fan[card],
            load_from_s=IDLE_S,
        )
        told: list[tuple[float, Forecast]] = []
        truth = float(seen.steady_c[card])
        for minute in range(1, LONGEST_MIN + 1):
            trace = whole.until(60.0 * minute)
            found = fit(trace, room_c=float(rooms[card]) if told_room else None)
            assert found is not None
            fits += 1
            there = steady(found, surroundings(trace, found.environment_c.size))
            told.append((float(minute), there))
            band = there.steady_c
            inside = band.low <= truth <= band.high
            looks.setdefault(minute, []).append((inside, band.half_width, band.median - truth))
            if over(told):
                off = there.resistance.median / float(seen.total_k_per_w[card]) - 1.0
                known = resistance_known([forecast for _, forecast in told])
                ends.append((int(cards.kind[card]), minute, inside, off, known))
                break
    tell(seed, count, looks, ends, 1e3 * (time.perf_counter() - began) / fits)


def tell(
    seed: int,
    count: int,
    looks: dict[int, list[tuple[bool, float, float]]],
    ends: list[tuple[int, int, bool, float, bool]],
    fit_ms: float,
) -> None:
    print(f"\nSeed {seed}, {count} cards, {fit_ms:.0f} ms per fit\n")
    print("| minute of load | cards still open | band holds the truth | half-width (median) °C | error rms °C |")
    print("|---|---|---|---|---|")
    for minute in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40):
        if minute in looks:
            inside, half, error = (np.array(column, dtype=float) for column in zip(*looks[minute], strict=True))
            rms = np.sqrt((error**2).mean())
            print(f"| {minute} | {len(inside)} | {inside.mean():.1%} | {np.median(half):.1f} | {rms:.1f} |")
    print("\n| at the end of the test | cards | band holds | minutes (median) | R told | R within 5 % | R worst |")
    print("|---|---|---|---|---|---|---|")
    for kind in (None, 0, 1, 2):
        own = [end for end in ends if kind is None or end[0] == kind]
        minutes, inside, off, known = (np.array([end[i] for end in own], dtype=float) for i in (1, 2, 3, 4))
        name = "all" if kind is None else KINDS[kind]
        off = np.abs(off[known > 0.0])
        within, worst = (off <= 0.05).mean(), off.max()
        print(
            f"| {name} | {len(own)} | {inside.mean():.1%} | {np.median(minutes):.0f} | {off.size} | {within:.1%} "
            f"| {worst:.1%} |"
        )


if __name__ == "__main__":
    main()
