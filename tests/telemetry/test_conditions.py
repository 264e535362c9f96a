"""Conditions of a window against values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.samples import Sample
from gputuner.telemetry.conditions import conditions, growth, integral

S = 1_000_000_000


def row(t_s: float, **values: float) -> Sample:
    return Sample(card="a", t_ns=round(t_s * S), values={Quantity(name): value for name, value in values.items()})


def test_medians_temperatures_and_count() -> None:
    samples = [row(i / 2, sm_clock_mhz=1000 + i, core_temperature_c=40 + i, power_instant_w=300) for i in range(21)]
    found = conditions(samples, 2 * S, 6 * S)
    assert found.samples == 9
    assert found.duration_s == 4.0
    assert found.sm_clock_mhz == 1008  # rows 4 … 12
    assert (found.core_temperature_start_c, found.core_temperature_end_c) == (44, 52)
    assert found.power_w == 300
    assert found.memory_clock_mhz is None


def test_a_window_without_length_says_nothing_whatever_was_read() -> None:
    """As of a survey's setting that could not be measured."""
    counted = [row(t, limited_power_ns=1000 * t, power_instant_w=100) for t in range(5)]
    for samples in ([], [row(t, gpu_utilisation=0.5) for t in range(5)], counted):
        found = conditions(samples, 3 * S, 3 * S)
        assert found.duration_s == 0.0
        assert found.energy_j is None
        assert not found.limited_s


def test_energy_comes_from_the_counter_even_across_a_hole() -> None:
    samples = [row(t, energy_j=1000 + 250 * t, power_instant_w=100) for t in (0, 0.5, 1, 1.5, 8, 8.5, 9, 9.5, 10)]
    assert conditions(samples, 1 * S, 9 * S).energy_j == pytest.approx(2000)


def test_energy_counter_is_interpolated_at_the_ends() -> None:
    samples = [row(t / 2, energy_j=100.0 * t / 2) for t in range(20)]
    assert conditions(samples, round(1.25 * S), round(4.75 * S)).energy_j == pytest.approx(350)


def test_a_counter_that_was_reset_gives_way_to_the_integral() -> None:
    samples = [row(t, energy_j=500 - t if t < 5 else t, power_instant_w=200) for t in range(11)]
    assert conditions(samples, 1 * S, 9 * S).energy_j == pytest.approx(1600)


def test_instant_power_is_integrated_by_trapezoids() -> None:
    samples = [row(t, power_instant_w=100 * t) for t in range(11)]
    assert conditions(samples, 2 * S, 8 * S).energy_j == pytest.approx(100 * (64 - 4) / 2)
    assert integral(([2 * S, 3 * S], [1.0, 1.0]), 0, 10 * S) is None  # covers a tenth only


def test_average_power_serves_where_there_is_no_instant_one() -> None:
    assert conditions([row(t, power_average_w=150) for t in range(11)], 0, 10 * S).power_w == 150


SPIKES = (694.0, 697.0, 694.0, 609.0, 691.0)
"""Instant readings of a training at the cap: mostly at it, now and then between two kernels. Median 694, mean 677."""


def spiky(counter: bool, seconds: int = 60) -> list[Sample]:
    """Two readings a second of what an H200 showed; its counter grew by 677 W all the time."""
    return [
        row(t / 2, power_instant_w=SPIKES[t % 5], **({"energy_j": 1e6 + 677.0 * t / 2} if counter else {}))
        for t in range(2 * seconds + 1)
    ]


@pytest.mark.parametrize("counter", [True, False])
def test_power_of_a_spiky_load_is_its_mean_not_its_median(counter: bool) -> None:
    found = conditions(spiky(counter), 0, 60 * S)
    assert found.power_w == pytest.approx(677, rel=0.001)
    assert found.energy_j == pytest.approx(677 * 60, rel=0.001)


def test_the_counter_outweighs_the_readings_from_five_seconds_on() -> None:
    samples = [row(t / 2, power_instant_w=694, energy_j=677.0 * t / 2) for t in range(41)]
    assert conditions(samples, 2 * S, 7 * S).power_w == pytest.approx(677)
    assert conditions(samples, 2 * S, 6 * S).power_w == pytest.approx(694)


def test_mean_power_weighs_readings_by_their_time() -> None:
    """700 W for 7.6 s in five readings, then a slope of 0.41 s and 100 W read nine times; the plain mean is 314 W."""
    times = [0.0, 1.9, 3.8, 5.7, 7.6, *(8.01 + 0.25 * k for k in range(9))]
    samples = [row(t, power_instant_w=700 if t <= 8 else 100) for t in times]
    expected = (700 * 7.6 + 400 * 0.41 + 100 * 1.99) / 10
    assert conditions(samples, 0, 10 * S).power_w == pytest.approx(expected, rel=1e-3)


def test_a_counter_reset_and_holes_leave_the_average_readings() -> None:
    samples = [row(t, power_average_w=300, energy_j=500 - t) for t in range(11)]
    samples[3] = row(3, power_average_w=300, power_instant_w=900, energy_j=497)
    assert conditions(samples, 0, 10 * S).power_w == pytest.approx(300)


def test_seconds_in_limits_from_counters() -> None:
    samples = [
        row(t * 5, limited_power_ns=t * 2.5 * S, limited_thermal_software_ns=7 * S, limit_bits=LimitBit.SW_THERMAL)
        for t in range(13)
    ]
    found = conditions(samples, 10 * S, 50 * S)
    assert not found.limited_from_samples
    assert found.limited_s[Limiter.POWER] == pytest.approx(20)
    assert found.limited_s[Limiter.THERMAL_SOFTWARE] == 0


def test_counters_too_coarse_for_the_window_give_way_to_bits() -> None:
    samples = [row(t / 2, limit_bits=LimitBit.SW_POWER_CAP if t < 9 else 0) for t in range(41)]
    samples += [row(t * 5 + 0.01, limited_power_ns=t * S) for t in range(5)]
    found = conditions(sorted(samples, key=lambda s: s.t_ns), 3 * S, 6 * S)
    assert found.limited_from_samples
    assert found.limited_s[Limiter.POWER] == pytest.approx(1.25)  # the last set bit, at 4 s, holds until 4.25 s


def test_two_limits_at_once_both_count_and_an_unnamed_slowdown_is_none_of_heat() -> None:
    both = LimitBit.SW_POWER_CAP | LimitBit.SW_THERMAL
    found = conditions([row(t / 2, limit_bits=both | LimitBit.HW_SLOWDOWN) for t in range(21)], 0, 10 * S)
    assert found.limited_s[Limiter.POWER] == pytest.approx(10)
    assert found.limited_s[Limiter.THERMAL_SOFTWARE] == pytest.approx(10)
    assert found.limited_s[Limiter.HARDWARE] == pytest.approx(10)
    assert found.limited_s[Limiter.THERMAL_HARDWARE] == 0
    heat = LimitBit.HW_SLOWDOWN | LimitBit.HW_THERMAL
    hot = conditions([row(t / 2, limit_bits=heat) for t in range(21)], 0, 10 * S)
    assert (hot.limited_s[Limiter.THERMAL_HARDWARE], hot.limited_s[Limiter.HARDWARE]) == (pytest.approx(10), 0)
    braked = conditions(
        [row(t / 2, limit_bits=LimitBit.HW_SLOWDOWN | LimitBit.HW_POWER_BRAKE) for t in range(21)], 0, 10 * S
    )
    assert braked.limited_s[Limiter.THERMAL_HARDWARE] == braked.limited_s[Limiter.HARDWARE] == 0


def test_a_limit_whose_counter_is_not_reported_is_taken_from_the_bits() -> None:
    """Older drivers count the power limit (field 74) and not heat (269 to 271): that is not "no heat"."""
    hot = [row(t / 2, limit_bits=LimitBit.SW_THERMAL, limited_power_ns=0) for t in range(21)]
    found = conditions(hot, 0, 10 * S)
    assert found.limited_s[Limiter.THERMAL_SOFTWARE] == pytest.approx(10)
    assert found.limited_s[Limiter.POWER] == 0


def test_nothing_read_is_nothing_told() -> None:
    found = conditions([], 0, 5 * S)
    assert (found.samples, found.energy_j, found.power_w, found.limited_s) == (0, None, None, {})
    alone = conditions([row(2, power_instant_w=100, limit_bits=4)], 0, 5 * S)
    assert (alone.energy_j, alone.limited_s) == (None, {})


@given(
    rate=st.floats(0, 1000),
    step_ms=st.integers(50, 1000),
    start_ms=st.integers(0, 5000),
    window_ms=st.integers(2000, 20_000),
)
def test_a_steady_counter_gives_rate_times_window(rate: float, step_ms: int, start_ms: int, window_ms: int) -> None:
    times = [t * 1_000_000 for t in range(0, 30_000, step_ms)]
    data = (times, [rate * t / S for t in times])
    t0, t1 = start_ms * 1_000_000, (start_ms + window_ms) * 1_000_000
    assert growth(data, t0, t1) == pytest.approx(rate * window_ms / 1000, abs=1e-6)


def test_the_link_is_the_best_seen_in_the_window() -> None:
    """An idle link downshifts: 1 between two kernels is no narrow link."""
    samples = [row(5 * n, pcie_generation=g, pcie_width=16, gpu_utilisation=0.9) for n, g in enumerate((1, 4, 1, 4))]
    found = conditions(samples, 4 * S, 14 * S)
    assert (found.pcie_generation, found.pcie_width) == (4, 16)
    assert conditions([row(1, sm_clock_mhz=1500)], 0, 10 * S).pcie_generation is None
    assert conditions([row(1, pcie_generation=0)], 0, 10 * S).pcie_generation is None


@pytest.mark.parametrize(
    ("read_s", "use", "expected"),
    [(8, 0.97, 3), (8, 0.02, None), (0, 0.97, None), (9.5, 0.97, 3)],
    ids=["under load", "idle", "too long ago", "just before"],
)
def test_a_short_window_uses_the_last_link_only_if_it_was_read_under_load(
    read_s: float, use: float, expected: float | None
) -> None:
    before = [row(read_s + dt, gpu_utilisation=use) for dt in (-0.5, 0.5)]
    samples = sorted(
        [
            *before,
            row(read_s, pcie_generation=3, pcie_width=8, gpu_utilisation=use),
            *(row(10.5 + dt / 2, gpu_utilisation=1.0) for dt in range(4)),
        ],
        key=lambda sample: sample.t_ns,
    )
    found = conditions(samples, round(10.5 * S), round(11.5 * S))
    assert found.pcie_generation == expected
    assert found.pcie_width == (None if expected is None else 8)


@pytest.mark.parametrize("counters", [False, True])
def test_the_load_before_lends_its_limit_to_no_one(counters: bool) -> None:
    """A stream that begins at 10 s, right after a product that the power cap held down."""
    samples = [
        row(
            t / 2 + 0.4,
            limit_bits=LimitBit.SW_POWER_CAP if t < 20 else 0,
            **({"limited_power_ns": min(t, 20) / 2 * S} if counters else {}),
        )
        for t in range(41)
    ]
    assert conditions(samples, 10 * S + S // 2, 13 * S).limited_s[Limiter.POWER] == 0
    assert conditions(samples, 7 * S, 9 * S).limited_s[Limiter.POWER] == pytest.approx(2)


def test_counters_that_tell_the_time_since_the_last_reading_count_only_within_the_window() -> None:
    readings = ((0, 0.1), (5, 0.2), (10, 0.6), (15, 0.8), (20, 0.0))
    samples = [row(t_s, sm_active=value, dram_active=value / 2) for t_s, value in readings]
    whole = conditions(samples, 4 * S, 16 * S)
    assert whole.sm_active == pytest.approx(0.7)  # of 5 … 10 and 10 … 15; the reading at 5 tells of 0 … 5
    assert whole.dram_active == pytest.approx(0.35)
    assert whole.tensor_active is None
    assert conditions(samples, 9 * S, 14 * S).sm_active is None
