"""Areas of a VRAM that are slower than the rest."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

SLOWER = 0.03
"""Slower than the median by less than this is no finding (methods §1: spread above 3 % is flagged)."""
SCATTERS = 6.0
"""Nor is what lies within so many median absolute deviations."""

Region = tuple[int, float]
"""Offset in bytes, read rate in bytes/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowArea:
    """Regions in a row that are slower: from ``offset_bytes``, ``bytes`` long, at ``fraction`` of the median rate."""

    offset_bytes: int
    bytes: int
    fraction: float


def slow_areas(regions: Sequence[Region], region_bytes: int) -> tuple[SlowArea, ...]:
    """The slower areas, by offset.

    Args:
        regions: offset in bytes and rate in bytes/s of each region.
        region_bytes: length of a region.
    """
    if not regions:
        return ()
    median = statistics.median(rate for _, rate in regions)
    deviation = statistics.median(abs(rate - median) for _, rate in regions)
    limit = median - max(SLOWER * median, SCATTERS * deviation)
    areas: list[list[Region]] = []
    for region in sorted(r for r in regions if r[1] < limit):
        if areas and region[0] == areas[-1][-1][0] + region_bytes:
            areas[-1].append(region)
        else:
            areas.append([region])
    return tuple(
        SlowArea(
            offset_bytes=area[0][0],
            bytes=len(area) * region_bytes,
            fraction=statistics.median(rate for _, rate in area) / median,
        )
        for area in areas
    )
