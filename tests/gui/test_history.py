"""What Monitor remembers for drawing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gputuner.gui.history import History, Track, shares, thinned
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap, Sample

S = 1_000_000_000


@given(st.lists(st.floats(0, 1000), max_size=300), st.integers(16, 64))
def test_track_keeps_order_and_the_newest(values, capacity):
    track = Track(capacity=max(256, capacity))
    for second, value in enumerate(values):
        track.append(float(second), value)
    times, kept = track.window(-1.0, 1e9)
    assert list(np.diff(times)) == [1.0] * max(0, len(times) - 1)
    if values:
        assert kept[-1] == values[-1]
        assert len(kept) >= min(len(values), 192)


def test_full_track_drops_the_oldest_quarter():
    track = Track(capacity=256)
    for second in range(1000):
        track.append(float(second), float(second))
    times, values = track.window(0, 1e9)
    assert values[-1] == 999.0
    assert 192 <= len(times) <= 256


@given(st.integers(0, 9000), st.sets(st.integers(0, 8999), max_size=5), st.randoms(use_true_random=False))
def test_thinned_curve_keeps_extremes_order_and_gaps(count, holes, rng):
    values = np.array([rng.uniform(0, 100) for _ in range(count)])
    inside = [hole for hole in holes if hole < count]
    values[inside] = np.nan
    times = np.arange(count, dtype=float)
    t, v = thinned(times, values, 3000)
    assert len(t) == len(v) <= 3100
    assert list(t) == sorted(t)
    if count > len(inside):
        assert np.nanmax(v) == np.nanmax(values)
        assert np.nanmin(v) == np.nanmin(values)
    assert np.isnan(v).any() == bool(inside)


def test_value_at_a_time_is_the_one_that_held_then():
    track = Track()
    for t, value in ((1.0, 10.0), (2.0, 20.0), (3.0, float("nan"))):
        track.append(t, value)
    assert track.at(0.5) is None
    assert track.at(1.9) == 10.0
    assert track.at(2.0) == 20.0
    assert track.at(3.5) is None, "missing is not the last value"


def test_slow_quantities_are_not_filled_in():
    history = History()
    history.add(Sample(card="a", t_ns=S, values={Quantity.SM_CLOCK_MHZ: 1.0, Quantity.POWER_AVERAGE_W: 2.0}))
    history.add(Sample(card="a", t_ns=2 * S, values={Quantity.SM_CLOCK_MHZ: 1.0}))
    assert len(history.tracks[Quantity.POWER_AVERAGE_W]) == 1


def test_gap_has_no_limiter_and_is_left_out_of_shares():
    history = History()
    for second in (0, 1, 2, 3, 4):
        history.add(Sample(card="a", t_ns=second * S, values={Quantity.LIMIT_BITS: float(LimitBit.SW_POWER_CAP)}))
    history.add_gap(Gap(card=None, t0_ns=4 * S, t1_ns=10 * S, reason=Reason.NOT_READ))
    for second in (10, 11, 12):
        history.add(Sample(card="a", t_ns=second * S, values={Quantity.LIMIT_BITS: 0.0}))
    spans = history.spans(0.0, 12.0)
    assert [span.limiter for span in spans] == [Limiter.POWER, None, Limiter.NONE]
    found = shares(spans)
    assert round(found[Limiter.POWER], 3) == round(4 / 6, 3)
    assert round(found[Limiter.NONE], 3) == round(2 / 6, 3)


def test_unreadable_reasons_are_unknown():
    history = History()
    for second in (0, 1, 2):
        history.add(Sample(card="a", t_ns=second * S, values={}, missing={Quantity.LIMIT_BITS: Reason.NOT_SUPPORTED}))
    assert [span.limiter for span in history.spans(0.0, 2.0)] == [Limiter.UNKNOWN]
