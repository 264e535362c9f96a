"""Footprints of memory streams."""

import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.specs_stream import StreamSpec, StreamSweepSpec, dram_footprint, level

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("cache", "free", "most", "wanted"),
    [
        (72 * MIB, 40 * GIB, 1 << 34, 1 * GIB),  # RTX 4090: 4 caches are 288 MiB, a gibibyte at least
        (300 * MIB, 40 * GIB, 1 << 34, 1200 * MIB),
        (72 * MIB, 1 * GIB, 1 << 34, 512 * MIB),  # half of what is free
        (32 * MIB, 8 * GIB, 384 * MIB, 384 * MIB),
    ],
)
def test_dram_footprints_are_beyond_four_caches_and_within_half_of_what_is_free(cache, free, most, wanted):
    assert dram_footprint(cache, free, most) == wanted


def test_levels_by_footprint():
    assert [level(size * MIB, 72) for size in (0,)] == ["l2"]
    assert level(36 * MIB, 72 * MIB) == "l2"
    assert level(4 * MIB, 60 * MIB, 132) == "between", "132 SMs have 4.1 MiB of loads under way"
    assert level(5 * MIB, 60 * MIB, 132) == "l2"
    assert level(100 * MIB, 72 * MIB) == "between"
    assert level(288 * MIB, 72 * MIB) == "dram"


def test_specs_refuse_what_makes_no_sense():
    with pytest.raises(UsageError):
        StreamSpec(operation="daxpy", bytes=MIB)
    with pytest.raises(UsageError):
        StreamSweepSpec(operation="copy", largest_bytes=16)
