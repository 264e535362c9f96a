"""Bursts with pauses, on a card whose clock is the test's own: what is timed, how long it rests, what clocks say."""

import pytest

from gputuner.workloads.bodies import burst_rows, burst_timing, setting_timing
from gputuner.workloads.bodies.burst_rows import BurstRows, Piece
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
        for module in (burst_rows, burst_timing, setting_timing):
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
    assert max(card.stretches[2:]) <= LONGEST_BURST_S + 1e-9
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


@pytest.mark.parametrize("iteration_s", [0.006, 0.009, 0.012])
def test_long_iterations_get_the_time_that_an_interval_needs_where_there_is_some(card_of, iteration_s):
    # a lead and one iteration, three times as long a pause, 21 times
    needed_s = 21 * (8 * iteration_s + 0.004)
    card = card_of(iteration_s)
    assert len(BurstTimer(card).timed(card.iterate, 0.5, 10.0).iteration_s) >= 20
    assert card.now_s - 100.0 == pytest.approx(needed_s, rel=0.2)
    short = card_of(iteration_s)
    assert len(BurstTimer(short).timed(short.iterate, 0.5, 0.6).iteration_s) < 20


@pytest.mark.parametrize("iteration_s", [0.03, 0.1, 0.35])
def test_windows_of_one_long_iteration_get_it_too(card_of, iteration_s):
    card = card_of(iteration_s)
    assert 20 <= len(BurstTimer(card).timed(card.iterate, 1.0, 20.0).iteration_s) <= 40
    assert card.now_s - 100.0 < max(1.0, 21 * iteration_s / 0.75) + 8 * iteration_s


def test_first_use_takes_nothing_of_the_time(card_of):
    card = card_of(0.0002)
    compiling = iter([5.0])

    def iterate():
        card.now_s += next(compiling, 0.0)
        card.iterate()

    assert len(BurstTimer(card).timed(iterate, 0.8).iteration_s) >= 20
    assert card.now_s - 105.0 == pytest.approx(0.8, rel=0.1)


def test_a_step_of_the_clock_is_a_lowered_one():
    told = {"clock_mhz": 1957.5, "clock_low_mhz": 1935.0, "clock_rest_mhz": 1980.0, "clock_lowered_share": 0.75}
    assert clock_notes([1980.0, 1965.0, 1935.0, 1950.0], 1980.0) == told
    assert clock_notes([1972.0] * 9 + [1965.0], 1980.0)["clock_lowered_share"] == 0.1
    assert clock_notes([1980.0] * 9 + [1500.0], 1980.0)["clock_mhz"] == 1980.0
    assert clock_notes([1980.0] * 8 + [1500.0] * 2, 1980.0)["clock_low_mhz"] == 1500.0
    assert clock_notes([], 0.0) == {}


def test_a_warmer_card_rests_at_a_lower_clock_which_is_no_limit(card_of):
    card = card_of(0.0002)
    timer = BurstTimer(card)
    card.mhz = 2010.0
    assert timer._reference(2010.0) == 2010.0
    assert timer._reference(2000.0) == 2000.0  # a step of 15 MHz or less below
    assert timer._reference(1950.0) == 1995.0


def test_each_piece_of_a_row_is_timed_behind_another_of_the_same_load(card_of):
    card = card_of(0.0)
    order = []

    def piece(seconds):
        def iterate():
            order.append(seconds)
            card.iteration_s = seconds
            card.iterate()

        return Piece(iterate, seconds, new=seconds == 0.003)

    rows = BurstRows(card)
    assert rows.timed([piece(s) for s in (0.004, 0.003, 0.009, 0.005)]) == pytest.approx([0.004, 0.003, 0.009, 0.005])
    # two of 4 ms, two of 3 ms: another 9 ms would still fit (23), 5 ms more would not
    assert order == [0.004, 0.004, 0.003, 0.003, 0.009, 0.005, 0.005]
    assert len(rows.clocks) == 2
    assert card.slept == pytest.approx([3 * (0.023 + CLOCK_S), 3 * (0.010 + CLOCK_S)])
    assert rows.notes()["loaded_share"] == pytest.approx(0.25)


def test_no_burst_of_a_row_is_longer_than_a_burst_may_be(card_of):
    card = card_of(0.010)
    assert len(BurstRows(card).timed([Piece(card.iterate, 0.010, new=True)] * 7)) == 7
    assert max(card.stretches) <= LONGEST_BURST_S


def test_short_settings_leave_time_to_long_ones():
    # 12 s for 12: each takes 0.6 s, and the first may take what the others leave of it
    assert setting_timing.shares(12.0, 12) == pytest.approx((0.6, 12.0 - 11 * 0.6))
    assert setting_timing.shares(5.0, 1) == pytest.approx((3.0, 5.0))
    assert setting_timing.shares(-1.0, 4) == (0.0, 0.0)
