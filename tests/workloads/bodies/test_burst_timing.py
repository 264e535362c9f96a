"""Bursts with pauses, on a card whose clock is the test's own: what is timed, how long it rests, what clocks say."""

import pytest

from gputuner.workloads.bodies import burst_timing, setting_timing
from gputuner.workloads.bodies.burst_timing import LONGEST_BURST_S, BurstTimer, burst_length_s, clock_notes

CLOCK_S = 0.001


class Card:
    """Queues iterations of given seconds. Its clock falls when it was loaded for longer than ``holds_s`` in a row."""

    def __init__(self, iteration_s, name="cuda", holds_s=1e9):
        self.iteration_s, self.name, self.holds_s = iteration_s, name, holds_s
        self.now_s, self.loaded_s, self.slept, self.stretches = 100.0, 0.0, [], []
        self.mhz = 1980.0

    def iterate(self):
        slow = self.loaded_s >= self.holds_s
        self.mhz = 1500.0 if slow else 1980.0
        seconds = self.iteration_s * (1980.0 / self.mhz)
        self.now_s += seconds
        self.loaded_s += seconds

    def synchronise(self):
        pass

    def windows(self, length_s):
        return Windows(self)

    def clock_mhz(self):
        if self.name == "cpu":
            return None
        self.now_s += CLOCK_S
        return self.mhz

    def sleep(self, seconds):
        self.stretches.append(self.loaded_s)
        self.now_s += seconds
        self.slept.append(seconds)
        self.loaded_s, self.mhz = 0.0, 1980.0

    def monotonic(self):
        return self.now_s

    def monotonic_ns(self):
        return round(self.now_s * 1e9)


class Windows:
    def __init__(self, card):
        self.card, self.border_s = card, card.now_s

    def run(self, iterate, count):
        for _ in range(count):
            iterate()
        start_s, self.border_s = self.border_s, self.card.now_s
        return [(self.border_s - start_s) / count]

    def drain(self):
        return []

    def running(self):
        return 0


@pytest.fixture
def card_of(monkeypatch):
    def make(iteration_s, **more):
        card = Card(iteration_s, **more)
        for module in (burst_timing, setting_timing):
            monkeypatch.setattr(module, "time", card)
        return card

    return make


def test_each_burst_is_one_figure_and_the_pauses_are_in_none(card_of):
    card = card_of(0.0002)
    timing = BurstTimer(card).timed(card.iterate, 0.8)
    assert timing.iteration_s == pytest.approx([0.0002] * len(timing.iteration_s))
    assert len(timing.iteration_s) >= 20  # an interval needs so many
    assert timing.params == {"phase": "bursts"}


@pytest.mark.parametrize("iteration_s", [2e-5, 0.0002, 0.003, 0.012])
@pytest.mark.parametrize("seconds", [0.0, 0.8, 3.0, 60.0])
def test_the_card_is_never_loaded_for_longer_than_a_burst(card_of, iteration_s, seconds):
    card = card_of(iteration_s)
    timing = BurstTimer(card).timed(card.iterate, seconds)
    assert len(timing.iteration_s) >= 8
    assert max(card.stretches[2:]) <= LONGEST_BURST_S + iteration_s
    span_s = (timing.t1_ns - timing.t0_ns) / 1e9
    pauses_s, bursts = sum(card.slept[2:-1]), len(timing.iteration_s)
    loaded_s = span_s - pauses_s - bursts * CLOCK_S
    assert pauses_s / (bursts - 1) == pytest.approx(3 * loaded_s / bursts, rel=1e-6)
    assert timing.notes["loaded_share"] == pytest.approx(loaded_s / span_s, rel=1e-6)


@pytest.mark.parametrize("iteration_s", [2e-5, 0.0002, 0.003])
@pytest.mark.parametrize("seconds", [0.7, 0.8, 1.5])
def test_the_setting_takes_the_time_it_was_given(card_of, iteration_s, seconds):
    card = card_of(iteration_s)
    BurstTimer(card).timed(card.iterate, seconds)
    assert card.now_s - 100.0 == pytest.approx(seconds, rel=0.1)


def test_what_runs_before_a_cap_takes_hold_has_the_free_rate(card_of):
    card = card_of(0.0002, holds_s=0.035)
    timing = BurstTimer(card).timed(card.iterate, 0.8)
    assert timing.iteration_s == pytest.approx([0.0002] * len(timing.iteration_s))
    assert (timing.notes["clock_mhz"], timing.notes["clock_lowered_share"]) == (1980.0, 0.0)


def test_a_cap_that_takes_hold_within_the_bursts_is_seen(card_of):
    card = card_of(0.0002, holds_s=0.003)
    timing = BurstTimer(card).timed(card.iterate, 0.8)
    assert timing.notes["clock_rest_mhz"] == 1980.0
    assert timing.notes["clock_mhz"] == 1500.0
    assert timing.notes["clock_lowered_share"] == 1.0


@pytest.mark.parametrize(("name", "iteration_s"), [("cpu", 0.0002), ("cuda", 0.02)])
def test_a_processor_and_iterations_too_long_for_a_burst_are_timed_without_pauses(card_of, name, iteration_s):
    card = card_of(iteration_s, name=name)
    timing = BurstTimer(card).timed(card.iterate, 0.8)
    assert timing.iteration_s == pytest.approx([iteration_s] * len(timing.iteration_s))
    assert (timing.params, timing.notes, card.slept) == ({}, {}, [])


def test_one_slow_launch_does_not_change_how_a_setting_is_timed(card_of):
    card = card_of(0.0002)
    late = iter([0.0, 0.0, 0.5])

    def iterate():
        card.now_s += next(late, 0.0)
        card.iterate()

    assert BurstTimer(card).timed(iterate, 0.8).params == {"phase": "bursts"}


def test_a_burst_leaves_room_for_as_many_as_an_interval_needs():
    # 0.8 s / 24 = 33.3 ms each; 4 ms around it; a quarter of the rest is load
    assert burst_length_s(0.8, 0.0002) == pytest.approx((0.8 / 24 - 0.004) / 4)
    assert burst_length_s(60.0, 0.0002) == pytest.approx(0.0245)
    assert burst_length_s(0.1, 0.0002) == 0.004


def test_two_steps_of_the_clock_are_a_lowered_one():
    assert clock_notes([1980.0, 1965.0, 1935.0, 1950.0], 1980.0) == {
        "clock_mhz": 1957.5,
        "clock_rest_mhz": 1980.0,
        "clock_lowered_share": 0.5,
    }
    assert clock_notes([], 0.0) == {}
