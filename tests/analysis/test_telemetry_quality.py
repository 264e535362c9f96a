"""Readings that cannot be believed."""

import csv
from datetime import datetime
from pathlib import Path

from gputuner.analysis.telemetry_quality import STUCK, stuck_temperature

CASE = Path(__file__).parents[1] / "data" / "telemetry" / "c023_temp_stuck.csv"


def read_case() -> tuple[list[float], list[float], list[float]]:
    with CASE.open(encoding="utf-8-sig", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file)][1:]
    t_s = [datetime.strptime(row[0], "%Y/%m/%d %H:%M:%S.%f").timestamp() for row in rows]
    return t_s, [float(row[2]) for row in rows], [float(row[3].removesuffix(" W")) for row in rows]


def test_a_temperature_frozen_at_24_degrees_under_300_watts_is_noted() -> None:
    """C-023."""
    note = stuck_temperature(*read_case())
    assert note is not None
    assert (note.code, note.withholds_thermal) == (STUCK, True)
    assert note.params["temperature_c"] == 24
    assert note.params["samples"] == 30


def test_one_degree_of_movement_is_enough_to_be_believed() -> None:
    t_s, temperature_c, power_w = read_case()
    temperature_c[-1] += 1
    assert stuck_temperature(t_s, temperature_c, power_w) is None


def test_a_steady_card_is_not_suspected() -> None:
    t_s = [float(t) for t in range(600)]
    assert stuck_temperature(t_s, [35.0] * 600, [70.0 + t % 3 for t in range(600)]) is None
    short = [300.0 if 100 < t < 130 else 25.0 for t in range(600)]
    assert stuck_temperature(t_s, [35.0] * 600, short) is None
    assert stuck_temperature([], [], []) is None
