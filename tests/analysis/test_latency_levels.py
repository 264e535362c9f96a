"""Levels found in latency curves shaped like those of published chips."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.latency_levels import cache_step, levels

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# te42kyfo/gpu-benches, gpu-latency: latencies in ns; capacities of the levels in bytes
CHIPS = {
    "V100": ([("l1", 22, 110 * KIB), ("l2", 156, 5.5 * MIB), ("dram", 315, math.inf)], 6 * MIB),
    "A100": (
        [("l1", 26, 180 * KIB), ("l2_near", 151, 18 * MIB), ("l2_far", 302, 39 * MIB), ("dram", 405, math.inf)],
        40 * MIB,
    ),
    "H100 PCIe": (
        [("l1", 19, 220 * KIB), ("l2_near", 151, 24 * MIB), ("l2_far", 263, 49 * MIB), ("dram", 372, math.inf)],
        50 * MIB,
    ),
    "L40": ([("l1", 15, 110 * KIB), ("l2", 111, 90 * MIB), ("dram", 254, math.inf)], 96 * MIB),
}


def sizes(l2):
    octaves = {round(4096 * 2 ** (k / 3)) // 1024 * 1024 for k in range(61)}
    return sorted(octaves | {k * l2 // 8 for k in range(3, 11)})


def curve(chip, noise=0.0, seed=0, tlb=math.inf, mixing=1.25):
    """Each level's latency up to its capacity; from there to ``mixing`` times it, a mixture with the next."""
    found, l2 = CHIPS[chip]
    rng = random.Random(seed)
    points = []
    for size in sizes(l2):
        value = found[-1][1]
        for (_, near, capacity), (_, far, _) in pairwise(found):
            if size <= capacity * mixing:
                share = min(1.0, max(0.0, (size / capacity - 1.0) / (mixing - 1.0)))
                value = near + (far - near) * share
                break
        if size > tlb:
            value *= 1 + 0.12 * math.log2(size / tlb)
        points.append((size, value * 1e-9 * rng.lognormvariate(0.0, noise)))
    return points, l2


@pytest.mark.parametrize("noise", [0.0, 0.004, 0.01])
@pytest.mark.parametrize("chip", list(CHIPS))
def test_published_chips_have_their_levels(chip, noise):
    points, l2 = curve(chip, noise)
    found = levels(points, l2)
    expected = CHIPS[chip][0]
    assert [v.name for v in found.levels] == [name for name, _, _ in expected]
    for level, (_, latency, _) in zip(found.levels, expected, strict=True):
        assert level.latency_s == pytest.approx(latency * 1e-9, rel=0.02)


def test_near_and_far_are_not_averaged_and_what_lies_between_is_on_no_level():
    points, l2 = curve("A100")
    found = levels(points, l2)
    between = [size for size, latency in points if 160e-9 < latency < 290e-9]
    assert between
    assert {found.of(size) for size in between} == {"between"}
    assert found.of(4 * KIB) == "l1"
    assert found.of(4 * MIB) == "l2_near"
    assert found.of(35 * MIB) == "l2_far"
    assert found.of(2 * GIB) == "dram"


def test_translations_that_miss_are_no_level_but_their_reach_is_told():
    points, l2 = curve("H100 PCIe", tlb=512 * MIB)
    found = levels(points, l2)
    assert [v.name for v in found.levels] == ["l1", "l2_near", "l2_far", "dram"]
    assert found.levels[-1].latency_s == pytest.approx(372e-9, rel=0.03)
    assert found.tlb_reach_bytes is not None
    # 10 % above the plateau is reached 0.83 octaves on
    assert 512 * MIB <= found.tlb_reach_bytes <= 1024 * MIB
    assert levels(*curve("H100 PCIe")).tlb_reach_bytes is None


def test_dram_that_only_slopes_is_told_by_its_first_footprints():
    """Translations that miss from the start: a tenth more each octave gives no plateau."""
    points, l2 = curve("V100")
    sloped = [(n, t * (1.1 ** max(0.0, math.log2(n / (4 * l2))) if n > 2 * l2 else 1.0)) for n, t in points]
    steep = [(n, t * 1.2 ** max(0.0, math.log2(n / (4 * l2)))) for n, t in sloped]
    found = levels(steep, l2).levels
    assert [v.name for v in found] == ["l1", "l2", "dram"]
    assert found[-1].latency_s == pytest.approx(315e-9, rel=0.15)


def test_a_shelf_between_l2_and_dram_is_not_dram():
    points, l2 = curve("L40")
    shelf = [(n, 180e-9 if 1.1 * l2 < n < 2.6 * l2 else t) for n, t in points]
    found = levels(shelf, l2).levels
    assert found[-1].name == "dram"
    assert found[-1].latency_s == pytest.approx(254e-9, rel=0.02)


@pytest.mark.parametrize("chip", ["V100", "L40"])
def test_an_l2_of_unknown_size_is_told_by_the_curve(chip):
    points, _ = curve(chip)
    assert [v.name for v in levels(points, 0).levels] == ["l1", "l2", "dram"]


def test_two_measurements_of_one_chip_agree():
    first, second = (levels(*curve("H100 PCIe", 0.005, seed)) for seed in (1, 2))
    for one, other in zip(first.levels, second.levels, strict=True):
        assert one.latency_s == pytest.approx(other.latency_s, rel=0.02)


H200_NS = {  # a chase on a card, MiB → ns
    0.063: 16.3, 0.125: 16.3, 0.198: 16.3, 0.25: 47.6, 0.5: 122.7, 0.793: 133.6, 1.0: 137.3, 1.587: 141.6, 2.52: 141.8,
    4.0: 141.8, 8.0: 141.9, 16.0: 141.9, 22.5: 142.0, 25.397: 142.1, 30.0: 149.3, 37.5: 194.0, 45.0: 224.1,
    50.796: 237.7, 52.5: 240.9, 60.0: 253.9, 64.0: 212.6, 80.635: 238.4, 101.593: 258.8, 128.0: 274.2, 203.187: 296.3,
    256.0: 332.9, 322.539: 334.0, 360.0: 334.4,
}  # fmt: skip


@pytest.mark.parametrize("told", [0, 60 << 20])
def test_the_step_behind_a_divided_l2_is_found_near_its_size(told):
    curve = [(int(mib * 2**20), ns * 1e-9) for mib, ns in H200_NS.items()]
    assert cache_step(curve, told).size_bytes == pytest.approx(51 * 2**20, rel=0.01)


@pytest.mark.parametrize("mib", [6, 36, 72])
def test_the_step_behind_an_l2_that_replaces_at_random_is_where_theory_has_it(mib):
    """Hits with probability L2 / f: at 6 × L2 five sixths of the way to DRAM; half of that is passed at 12/7 × L2."""
    l2 = mib * 2**20
    sizes = [int(2 ** (14 + k / 3)) for k in range(60) if 2 ** (14 + k / 3) < 6 * l2] + [6 * l2]
    curve = [(f, 20e-9 if f <= 2**17 else 130e-9 + 170e-9 * max(0.0, 1 - l2 / f)) for f in sizes]
    assert cache_step(curve, l2).size_bytes == pytest.approx(12 / 7 * l2, rel=0.05)


def test_without_an_l2_there_is_no_step():
    found = cache_step([(2**k, 100e-9) for k in range(12, 30)], 6 << 20)
    assert (found.size_bytes, found.missing) == (None, "no_step_seen")


def h200(*, disturbed=()):
    """An H200: L1 16 ns, L2 141 ns near and 258 ns far, DRAM 335 ns; 60 MiB, the near half 25. ``disturbed``: index
    from the first footprint beyond 8 MiB → ns."""
    near, far, dram = 141.4, 258.3, 335.5
    points = []
    for size in sizes(60 << 20):
        mib = size / 2**20
        if mib <= 0.2:
            ns = 16.2
        elif mib <= 25:
            ns = near
        elif mib <= 60:
            ns = near + (far - near) * min(1.0, (mib - 25) / 25)
        else:
            ns = dram - (dram - far) * 60 / mib
        points.append((size, ns * 1e-9))
    first = next(place for place, (size, _) in enumerate(points) if size > 8 << 20)
    for place, ns in disturbed:
        points[first + place] = (points[first + place][0], ns * 1e-9)
    return points


def test_the_step_of_an_h200_is_where_its_curve_passes_the_middle_once():
    """The middle of 141.4 and 335.5 less a rest is passed within the slope from near to far half: 25 … 50 MiB."""
    points = h200()
    middle = (141.4e-9 + points[-1][1]) / 2
    expected = (25 + 25 * (middle * 1e9 - 141.4) / (258.3 - 141.4)) * 2**20
    assert cache_step(points, 60 << 20).size_bytes == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("place", range(4))
def test_one_disturbed_footprint_before_the_step_does_not_move_it(place):
    calm = cache_step(h200(), 60 << 20).size_bytes
    assert cache_step(h200(disturbed=[(place, 320.0)]), 60 << 20).size_bytes == pytest.approx(calm, rel=0.1)


def test_two_steps_are_no_step():
    """Footprints of 13 to 20 MiB as slow as DRAM, those after them as fast as the L2 again: which is the L2's?"""
    found = cache_step(h200(disturbed=[(1, 320.0), (2, 320.0), (3, 320.0)]), 60 << 20)
    assert (found.size_bytes, found.missing) == (None, "two_steps")


def test_without_a_plateau_there_is_no_cache():
    found = cache_step([(2**k, 1e-9 * 1.5**k) for k in range(12, 30)], 6 << 20)
    assert (found.size_bytes, found.missing) == (None, "no_cache_seen")


def test_a_curve_of_nothing_has_no_levels():
    assert levels([], 1 << 20).levels == ()
    assert levels([(4096, 2e-8), (8192, 3e-8)], 1 << 20).levels == ()


@given(st.lists(st.tuples(st.integers(1024, 1 << 34), st.floats(1e-9, 1e-5)), max_size=60), st.integers(0, 1 << 27))
def test_any_curve_gives_levels_in_order(points, l2):
    found = levels(points, l2).levels
    assert [v.least_bytes for v in found] == sorted(v.least_bytes for v in found)
    assert len({v.name for v in found}) == len(found)
    assert all(a.most_bytes <= b.least_bytes for a, b in pairwise(found))
