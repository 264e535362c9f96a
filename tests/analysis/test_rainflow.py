"""Rainflow counting: the example of ASTM E1049-85, a reference by the standard's words, and what must always hold."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.rainflow import cycles, reversals

EXAMPLE = [-2, 1, -3, 5, -1, 3, -4, 4, -2]
"""Figure 6 of the standard (A to I)."""


def by_swing(found):
    counted = Counter()
    for cycle in found:
        counted[cycle.swing] += cycle.count
    return dict(counted)


def test_the_example_of_the_standard():
    assert by_swing(cycles(EXAMPLE)) == {3: 0.5, 4: 1.5, 6: 0.5, 8: 1.0, 9: 0.5}
    closed = [c for c in cycles(EXAMPLE) if c.count == 1.0]
    assert [(c.swing, c.mean) for c in closed] == [(4, 1)]


def test_a_card_that_warms_and_cools_thrice():
    found = by_swing(cycles([30, 70, 30, 70, 30, 70, 30]))
    assert found == {40: 3.0}


def reference(values):
    """Section 5.4.4 of the standard, step by step, on a list of points that shrinks; a start moves on by halves."""
    points = []
    for value in values:
        if points and value == points[-1]:
            continue
        if len(points) >= 2 and (points[-1] - points[-2]) * (value - points[-1]) > 0:
            points[-1] = value
        else:
            points.append(value)
    counted = Counter()
    kept, rest = [], list(points)
    while True:
        if len(kept) < 3:
            if not rest:
                break
            kept.append(rest.pop(0))
            continue
        x, y = abs(kept[-1] - kept[-2]), abs(kept[-2] - kept[-3])
        if x < y:
            if not rest:
                break
            kept.append(rest.pop(0))
        elif len(kept) == 3:
            counted[y] += 0.5
            kept = kept[1:]
        else:
            counted[y] += 1
            kept = [*kept[:-3], kept[-1]]
    for a, b in pairwise(kept):
        counted[abs(a - b)] += 0.5
    return dict(counted)


SERIES = st.lists(st.integers(20, 100), max_size=60)


@settings(deadline=None)
@given(SERIES)
def test_as_the_standard_words_it(values):
    assert by_swing(cycles(values)) == reference(values)


@settings(deadline=None)
@given(SERIES)
def test_every_range_between_turning_points_is_in_one_cycle(values):
    turning = reversals(values)
    found = cycles(values)
    assert sum(2 * c.count for c in found) == max(len(turning) - 1, 0)
    assert sum(2 * c.count * c.swing for c in found) == pytest.approx(float(np.abs(np.diff(turning)).sum()))
    if found:
        assert max(c.swing for c in found) == max(values) - min(values)


@settings(deadline=None)
@given(SERIES, st.integers(-40, 40))
def test_a_sensor_that_reads_higher_counts_the_same(values, offset):
    assert by_swing(cycles([v + offset for v in values])) == by_swing(cycles(values))


@settings(deadline=None)
@given(SERIES.filter(bool), st.integers(1, 5))
def test_standing_still_is_no_cycle(values, times):
    assert cycles(np.repeat(values, times)) == cycles(values)


def test_nothing_and_one_reading_are_no_cycle():
    assert cycles([]) == cycles([50]) == cycles([50, 50]) == ()
