"""Sustained and highest watts out of traces whose answer is known."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from gputuner.analysis.supply_draw import Seen, highest
from gputuner.analysis.supply_trace import seen_in

S = 1_000_000_000
DATA = Path(__file__).parents[1] / "data/analysis"


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


@pytest.fixture(scope="module")
def h200():
    """A real H200 of 700 W at 10 Hz, 45 s of BF16 products, copies, FP32 products: times, average, instant, joules."""
    rows = np.loadtxt(DATA / "power-h200.csv", delimiter=",", skiprows=1)
    return (rows[:, 0] * S).astype(np.int64), rows[:, 1], rows[:, 2], rows[:, 3]


def thinned(h200, start: int, step: int = 5) -> Seen:
    t_ns, average, instant, _joules = (column[start::step] for column in h200)
    seen = found(t_ns, average, peak=float(instant.max()))
    assert seen is not None
    return seen


def test_what_a_real_card_sustained_is_what_its_energy_counter_says(h200):
    t_s, joules = h200[0] / S, h200[3]
    begins = t_s[t_s <= t_s[-1] - 15]
    truth = np.max(np.interp(begins + 15, t_s, joules) - joules[: len(begins)]) / 15
    for start in range(5):
        seen = thinned(h200, start)
        assert seen.sustained_w == pytest.approx(truth, rel=0.002)
        assert seen.interval_s == pytest.approx(0.5)
        assert 45 <= seen.held_s <= 65, "both products, no copy"


def test_two_readings_a_second_miss_the_peaks_of_a_real_card(h200):
    peaks = [thinned(h200, start).peak_w for start in range(5)]
    highest_w = float(h200[2].max())
    assert max(peaks) == pytest.approx(highest_w)
    assert np.median(peaks) < 0.9 * highest_w
    assert 1.2 < highest_w / thinned(h200, 0).sustained_w < 1.3, "within 100 ms already"
