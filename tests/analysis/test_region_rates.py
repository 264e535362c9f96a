"""Slower areas of a VRAM, found by hand-made rates."""

import random

from gputuner.analysis.region_rates import slow_areas

GIB = 1 << 30


def regions(count=48, slow=(), factor=0.8, noise=0.002, seed=0):
    rng = random.Random(seed)
    return [(n * GIB, 1e12 * rng.lognormvariate(0.0, noise) * (factor if n in slow else 1.0)) for n in range(count)]


def test_even_memory_has_no_slow_area():
    assert slow_areas(regions(), GIB) == ()
    assert slow_areas([], GIB) == ()


def test_a_slower_quarter_is_one_area():
    (area,) = slow_areas(regions(slow=range(36, 48)), GIB)
    assert (area.offset_bytes, area.bytes) == (36 * GIB, 12 * GIB)
    assert abs(area.fraction - 0.8) < 0.01


def test_two_bad_blocks_apart_are_two_areas():
    first, second = slow_areas(regions(slow=(3, 20)), GIB)
    assert (first.offset_bytes, second.offset_bytes) == (3 * GIB, 20 * GIB)
    assert first.bytes == second.bytes == GIB


def test_two_per_cent_are_no_finding_and_scatter_is_none_either():
    assert slow_areas(regions(slow=(7,), factor=0.98), GIB) == ()
    assert slow_areas(regions(noise=0.03, slow=(7,), factor=0.96), GIB) == ()
