"""Sustained and highest watts out of traces whose answer is known."""

import itertools

import numpy as np
import pytest

from gputuner.analysis.supply_draw import Seen, highest, seen_in

S = 1_000_000_000


def trace(*stretches: tuple[float, float], hz: float = 2.0):
    """Seconds and watts, one after the other."""
    watts = np.concatenate([np.full(round(seconds * hz), level) for seconds, level in stretches])
    return (np.arange(len(watts)) / hz * S).astype(np.int64), watts


def found(t_ns, watts, *breaks: int, peak: float = 0.0, bucket_s: float = 0.0) -> Seen | None:
    edges = [0, *breaks, len(watts)]
    parts = tuple(slice(a, b) for a, b in itertools.pairwise(edges))
    return seen_in(t_ns, watts, peak, parts, bucket_s=bucket_s)


def test_a_step_of_a_minute_is_sustained_and_its_time_is_counted():
    seen = found(*trace((30, 50.0), (60, 400.0), (30, 60.0)), peak=455.0)
    assert seen is not None
    assert seen.sustained_w == pytest.approx(400.0)
    assert seen.held_s == pytest.approx(60.0)
    assert (seen.peak_w, seen.interval_s) == (455.0, 0.5)


def test_a_burst_shorter_than_the_stretch_counts_by_its_share():
    seen = found(*trace((60, 100.0), (6, 400.0), (60, 100.0), hz=10.0))
    assert seen is not None
    assert seen.sustained_w == pytest.approx((6 * 400 + 9 * 100) / 15, rel=0.02)
    assert seen.peak_w == seen.sustained_w, "a highest reading that was not told is no lower than a mean"


def test_what_silence_cuts_is_not_joined():
    t_ns, watts = trace((10, 400.0), (10, 400.0))
    assert found(t_ns, watts, 20) is None, "two pieces of 10 s are no stretch of 15 s"
    assert found(t_ns, watts) is not None
    assert found(*trace((10, 400.0))) is None


def test_uneven_readings_are_weighed_by_their_time():
    t_s = np.concatenate((np.arange(0, 10, 0.1), np.arange(10, 40, 1.0)))
    watts = np.where(t_s < 10, 0.0, 300.0)
    seen = found((t_s * S).astype(np.int64), watts)
    assert seen is not None
    assert seen.sustained_w == pytest.approx(300.0)


def test_buckets_wider_than_the_stretch_are_means_already():
    t_ns, watts = (np.arange(5) * 60 * S).astype(np.int64), np.array([50.0, 380.0, 390.0, 385.0, 40.0])
    seen = found(t_ns, watts, peak=460.0, bucket_s=60.0)
    assert seen is not None
    assert (seen.sustained_w, seen.peak_w, seen.held_s) == (390.0, 460.0, 180.0)


def test_of_several_sessions_the_highest_counts_and_time_near_it_adds_up():
    def one(watts: float, held: float, peak: float, name: str) -> Seen:
        return Seen(sustained_w=watts, held_s=held, peak_w=peak, interval_s=0.5, session=name)

    best = highest([one(400, 30, 410, "a"), one(395, 40, 470, "b"), one(200, 900, 210, "c")])
    assert best is not None
    assert (best.sustained_w, best.held_s, best.peak_w, best.session) == (400, 70, 470, "a")
    assert highest([]) is None
