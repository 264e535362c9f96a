from itertools import pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.contention_pressure import (
    Curve,
    Pressures,
    ProbeSetting,
    curve,
    curves,
    expected_activity,
    log_slowdown,
    monotone,
)

slowdowns = st.floats(1.0, 20.0)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_monotone_rises_and_keeps_the_mean(values):
    risen = monotone(values)
    assert all(a <= b + 1e-12 for a, b in pairwise(risen))
    assert sum(risen) == pytest.approx(sum(values), abs=1e-9)
    assert monotone(risen) == pytest.approx(risen)


def test_monotone_pools_neighbours_that_fall():
    assert monotone([1.0, 3.0, 2.0, 4.0]) == (1.0, 2.5, 2.5, 4.0)
    assert monotone([3.0, 0.0], [1.0, 2.0]) == (1.0, 1.0)


@given(st.dictionaries(st.floats(0.05, 1.0), slowdowns, min_size=1, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_a_curve_rises_from_one(measured, low, high):
    drawn = curve(measured)
    low, high = sorted((low, high))
    assert drawn.at(0.0) == 1.0
    assert drawn.at(low) <= drawn.at(high) * (1 + 1e-9)


@given(st.floats(0.05, 0.95), st.floats(1.2, 5.0))
def test_the_dial_of_a_slowdown_is_where_the_curve_has_it(dial, most):
    drawn = Curve(dials=(1.0,), slowdowns=(most,))
    assert drawn.dial_of(drawn.at(dial)) == pytest.approx(dial)
    assert drawn.at(dial) == pytest.approx(most**dial)
    assert drawn.dial_of(2 * most) == 1.0


def test_what_never_pauses_ends_every_curve_of_its_probe():
    short, long, whole = (
        ProbeSetting(probe="slices", dial=dial, burst_s=burst) for dial, burst in ((0.5, 5e-4), (0.5, 5e-3), (1, 2e-3))
    )
    sensitivity = {("job", short): 1.2, ("job", long): 1.5, ("job", whole): 2.0}
    found = Pressures(mode="processes", settings=(short, long, whole), probes={}, sensitivity=sensitivity, exerted={})
    drawn = curves(found, "job")
    assert drawn["slices", 5e-4].at(0.5) == pytest.approx(1.2)
    assert drawn["slices", 5e-3].at(0.5) == pytest.approx(1.5)
    assert [each.at(1.0) for each in drawn.values()] == pytest.approx([2.0, 2.0])
    assert (short.label, whole.label) == ("slices@0.5/0.5ms", "slices@1")


def test_noise_below_one_counts_as_none_and_nonsense_is_refused():
    assert log_slowdown(0.98) == 0.0
    assert log_slowdown(exp(0.5)) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="above 0"):
        log_slowdown(0.0)


def test_counters_of_the_card_read_what_each_still_gets_done():
    # two jobs that keep DRAM busy for 60 % alone and slow 1.2-fold: 0.5 + 0.5
    assert expected_activity([0.6, 0.6], [1.2, 1.2]) == pytest.approx(1.0)
    assert expected_activity([0.3, 0.2], [1.0, 1.0]) == pytest.approx(0.5)
