"""The words of the health test: checks against a sheet, in one unit, with what still agrees."""

import pytest

from gputuner.analysis.identity import BUS_HIGH, BUS_LOW
from gputuner.language.health import identity
from gputuner.language.health_tables import identity_table
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def told(metric, value, params, **extra):
    return Point(
        id=metric, card="GPU-1", metric=metric, workload="health", params=params, value=value, unit="1",
        origin=Origin.MEASURED, extra=extra,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("check", "seen", "expected", "cells"),
    [
        ("bus_width", 926e9, 1008e9, ("926 GB/s", "1008 GB/s", f"{100 * BUS_LOW:.0f} to {100 * BUS_HIGH:.0f} %")),
        ("memory", 49140, 49140.0, ("48 GiB", "48 GiB", "—")),
        ("l2_step", 64 * 2**20, 72 * 2**20, ("64 MiB", "72 MiB", "60 to 210 %")),
        ("pcie_width", 8, 16, ("8", "16", "at most")),
        ("name", "NVIDIA A", "NVIDIA B", ("NVIDIA A", "NVIDIA B", "—")),
    ],
)
def test_seen_and_sheet_are_in_one_unit_with_what_is_allowed(check, seen, expected, cells):
    point = told("identity_check", 1.0, {"check": check, "source": "driver"}, seen=seen, expected=expected)
    (row,) = identity_table([point]).rows
    assert row[1:4] == cells
    assert row[-1] == "agrees"


def test_a_check_without_figures_has_dashes():
    (row,) = identity_table([told("identity_check", 0.0, {"check": "memory_real", "source": "measured"})]).rows
    assert row[1:] == ("—", "—", "—", "measured", "differs")


def test_a_check_that_could_not_be_made_has_a_row_with_the_reason():
    params = {"verdict": "as_sold", "sureness": "likely", "sheet": "h200-sxm"}
    verdict = told("identity_verdict", 1.0, params, unknown="l2_step:no_step_seen,power:not_reported")
    rows = identity_table([verdict]).rows
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("L2 cache by latency", "—", "unknown: the latencies show no step from the L2 to the DRAM"),
        ("default power limit", "—", "unknown: the driver does not report it"),
    ]


def test_a_sheet_is_told_by_its_name_and_by_its_id_where_a_stored_run_has_no_name():
    params = {"verdict": "as_sold", "sureness": "measured", "sheet": "rtx-4090-48g"}
    assert identity(told("identity_verdict", 1.0, params)) == "agrees with the sheet of rtx-4090-48g (measured)"
    named = told("identity_verdict", 1.0, params, sheet_name="GeForce RTX 4090 48GB (modded)")
    assert identity(named) == "agrees with the sheet of GeForce RTX 4090 48GB (modded) (measured)"
