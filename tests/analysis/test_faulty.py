"""Figures of stored sessions that no card reaches."""

import pytest

from gputuner.analysis.faulty import marked
from gputuner.model.points import Flag, Point

MIB = 1 << 20


def point(metric, value, extra=None, card="GPU-1", flags=(), **params):
    return Point(
        id=f"{metric}-{value}-{params}", card=card, metric=metric, workload="w", params=params, value=value, unit="B/s",
        flags=flags, extra=extra or {},
    )  # fmt: skip


def swept(mib, tera, **more):
    """Of an H200's sweep of read."""
    return point("stream_bandwidth", tera * 1e12, {"l2_bytes": 60 * MIB}, bytes=mib * MIB, phase="sweep",
                 level="between", operation="read", **more)  # fmt: skip


DRAM = point("stream_bandwidth", 4.38e12, {"fraction_of_sheet": 4.38 / 4.8, "peak_at_clock": 4.9e12},
             level="dram", phase="steady", operation="read", bytes=2048 * MIB)  # fmt: skip


def faulty(*points):
    return [Flag.IMPLAUSIBLE in each.flags for each in marked(points)]


def test_more_than_the_bus_sends_is_faulty_where_the_cache_cannot_hold_it():
    """181 MiB at 8.9 TB/s: two thirds of it must cross a bus of 4.9 TB/s. 6 MiB at 9.6 TB/s are the L2's."""
    assert faulty(DRAM, swept(181, 8.9), swept(6, 9.6), swept(181, 6.0), swept(110, 9.6)) == [
        False, True, False, False, False,
    ]  # fmt: skip


def test_without_bus_or_cache_nothing_is_said():
    assert faulty(swept(181, 8.9)) == [False]
    other = point("stream_bandwidth", 8.9e12, bytes=181 * MIB, level="between", card="GPU-2")
    assert faulty(DRAM, swept(181, 4.0), other) == [False, False, False]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"fraction_of_peak_at_clock": 1.06}, True),
        ({"fraction_of_peak_at_clock": 1.04}, False),
        ({"fraction_of_peak_at_clock": 1.2, "conditions_of": "survey"}, False),
        ({"fraction_of_link": 1.1}, True),
        ({"fraction_of_sheet": 1.31}, True),
        ({}, False),
    ],
)
def test_shares_of_a_peak_are_judged_as_when_they_were_measured(extra, expected):
    assert faulty(point("matmul_rate", 1e15, extra)) == [expected]


def test_tokens_whose_bytes_the_memory_cannot_send_are_faulty():
    extra = {"bytes": 13.5e9, "fraction_of_peak_at_clock": 0.004}
    told = [point("decode_rate", rate, {**extra, "fraction_of_attainable": rate / 364.0}) for rate in (360.0, 400.0)]
    assert faulty(DRAM, swept(6, 9.6), *told) == [False, False, False, True]


def test_a_flag_is_not_given_twice_and_the_order_is_kept():
    before = (DRAM, point("matmul_rate", 1.0, {"fraction_of_sheet": 2.0}, flags=(Flag.IMPLAUSIBLE,)))
    assert marked(before) == before
