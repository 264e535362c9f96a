"""Roll-ups and series against plain arithmetic on the samples."""

import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.model.events import Event
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.series import Series
from gputuner.sessions.writer import SessionWriter

from .streams import CARDS, RUN, S, sample, started, store, tick

TEMPERATURE, POWER, ENERGY, BITS = (
    Quantity.CORE_TEMPERATURE_C,
    Quantity.POWER_AVERAGE_W,
    Quantity.ENERGY_J,
    Quantity.LIMIT_BITS,
)


def watts(n: int) -> float:
    return random.Random(n).randrange(10**5, 4 * 10**5) / 1000


def stream(seconds: int, hz: int, skip: range = range(0)) -> list[Event]:
    """Two cards; sample n at n/hz seconds; none in ``skip``."""
    out: list[Event] = [started()]
    for n in range(seconds * hz):
        if n not in skip:
            t_ns = n * S // hz
            values = {POWER: watts(n), ENERGY: float(n), BITS: float((4, 4, 36)[n % 3])}
            out.append(tick(n + 1, t_ns, sample(t_ns, values), sample(t_ns, {POWER: 2 * watts(n)}, CARDS[1])))
    return out


def check_groups(series: Series, times: np.ndarray, values: np.ndarray) -> None:
    """Every point is min, mean and max of exactly the samples in its bucket."""
    bucket = times // (series.bucket_s * S)
    assert len(series.t_ns) == len(np.unique(bucket))
    for place, number in enumerate(np.unique(bucket)):
        mine = values[bucket == number]
        assert series.minimum[place] == mine.min()
        assert series.maximum[place] == mine.max()
        assert series.mean[place] == pytest.approx(mine.mean(), rel=1e-12)
        assert number * series.bucket_s * S <= series.t_ns[place] <= (number + 1) * series.bucket_s * S


def test_few_samples_come_raw(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(100, 2))) as reader:
        series = reader.series(CARDS[0], POWER, at_most_points=200)
    assert series.bucket_s == 0
    assert series.t_ns.tolist() == [n * S // 2 for n in range(200)]
    assert series.mean.tolist() == [watts(n) for n in range(200)]
    assert series.minimum is series.mean
    assert series.breaks.tolist() == []


@pytest.mark.parametrize("most", [7, 50, 199, 333, 1000])
@pytest.mark.parametrize("card", [0, 1])
def test_many_samples_come_as_min_mean_max_of_all_of_them(tmp_path: Path, most: int, card: int) -> None:
    seconds, hz = 700, 2
    with SessionReader(store(tmp_path, stream(seconds, hz))) as reader:
        series = reader.series(CARDS[card], POWER, at_most_points=most)
    times = np.arange(seconds * hz) * (S // hz)
    assert most / 2.5 <= len(series.t_ns) <= most
    check_groups(series, times, np.array([(1 + card) * watts(n) for n in range(seconds * hz)]))


def test_counters_keep_their_last_value(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(600, 2))) as reader:
        series = reader.series(CARDS[0], ENERGY, at_most_points=100)
    assert series.bucket_s == 6
    assert series.mean.tolist() == [12 * (n + 1) - 1 for n in range(100)]
    assert series.maximum.tolist() == series.minimum.tolist() == series.mean.tolist()


def test_limit_bits_are_always_mostly_and_ever_set(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(600, 2))) as reader:
        series = reader.series(CARDS[0], BITS, at_most_points=60)
    assert set(series.minimum) == {4.0}
    assert set(series.mean) == {4.0}
    assert set(series.maximum) == {36.0}


def test_a_window_reads_only_its_own_samples(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(700, 2))) as reader:
        raw = reader.series(CARDS[0], POWER, 300 * S, 310 * S, 1000)
        rolled = reader.series(CARDS[0], POWER, 300 * S, 600 * S, 300)
    assert raw.mean.tolist() == [watts(n) for n in range(600, 621)]
    assert rolled.bucket_s == 2
    assert rolled.t_ns[0] >= 300 * S


def test_unknown_cards_and_quantities_never_read_have_no_points(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(700, 2))) as reader:
        for most in (10, 10_000):
            assert len(reader.series("GPU-none", POWER, at_most_points=most).t_ns) == 0
            assert len(reader.series(CARDS[0], Quantity.FAN_RPM, at_most_points=most).t_ns) == 0
            assert len(reader.series(CARDS[0], POWER, 10**6 * S, 10**7 * S, most).t_ns) == 0


def test_a_session_without_telemetry_has_no_points(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, [started()])) as reader:
        assert all(len(s.t_ns) == 0 for s in reader.overview((POWER, ENERGY)).values())


@pytest.mark.parametrize("most", [100, 10_000])
def test_silence_stays_a_gap(tmp_path: Path, most: int) -> None:
    with SessionReader(store(tmp_path, stream(700, 2, skip=range(400, 800)))) as reader:
        series = reader.series(CARDS[0], POWER, at_most_points=most)
    before, after = series.segments()
    assert series.t_ns[before][-1] < 200 * S <= 400 * S <= series.t_ns[after][0]
    assert np.isfinite(series.mean).all()


def test_told_gaps_and_missing_values_break_the_line(tmp_path: Path) -> None:
    lost = {POWER: Reason.LOST}
    gap = Gap(card=CARDS[0], t0_ns=5 * S, t1_ns=6 * S, reason=Reason.NOT_READ)
    events: list[Event] = [started()]
    for n in range(20):
        values, missing = ({}, lost) if n == 12 else ({POWER: 100.0}, {})
        gaps = (gap,) if n == 6 else ()
        here, there = sample(n * S, values, missing=missing), sample(n * S, {POWER: 1.0}, CARDS[1])
        events.append(tick(n + 1, n * S, here, there, gaps=gaps))
    with SessionReader(store(tmp_path, events)) as reader:
        series = reader.series(CARDS[0], POWER)
        assert series.t_ns[series.breaks].tolist() == [6 * S, 13 * S]
        assert reader.series(CARDS[1], POWER).breaks.tolist() == []


def test_slow_quantities_are_not_taken_for_gaps(tmp_path: Path) -> None:
    events: list[Event] = [started()]
    for n in range(6000):
        values = {POWER: 100.0, **({Quantity.FAN_RPM: 1500.0} if n % 10 == 0 else {})}
        events.append(tick(n + 1, n * S // 2, sample(n * S // 2, values)))
    with SessionReader(store(tmp_path, events)) as reader:
        for most in (100, 2000, 10_000):
            series = reader.series(CARDS[0], Quantity.FAN_RPM, at_most_points=most)
            assert len(series.t_ns) >= 60
            assert series.breaks.tolist() == []


_ticks = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 7), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(_ticks, st.integers(1, 60))
def test_roll_ups_are_right_for_any_order_of_time_and_commits(ticks: list[tuple[int, int, bool]], most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = SessionWriter.create(Path(folder), RUN)
        writer.write(started())
        for seq, (second, bits, flush) in enumerate(ticks, start=1):
            values = {TEMPERATURE: float(seq % 13), BITS: float(bits)}
            writer.write(tick(seq, second * S, sample(second * S, values)))
            if flush:
                writer.flush()
        writer.close()
        with SessionReader(writer.path) as reader:
            found = reader.overview((TEMPERATURE, BITS), at_most_points=most)
    series, masks = found[CARDS[0], TEMPERATURE], found[CARDS[0], BITS]
    times = np.array([second * S for second, _, _ in ticks])
    values = np.array([float(seq % 13) for seq in range(1, len(ticks) + 1)])
    assert len(series.t_ns) <= max(most, 2)
    if series.bucket_s == 0:
        assert sorted(zip(series.t_ns, series.mean, strict=True)) == sorted(zip(times, values, strict=True))
        return
    check_groups(series, times, values)
    bucket = times // (series.bucket_s * S)
    for place, number in enumerate(np.unique(bucket)):
        mine = [bits for (_, bits, _), b in zip(ticks, bucket, strict=True) if b == number]
        assert masks.minimum[place] == np.bitwise_and.reduce(mine)
        assert masks.maximum[place] == np.bitwise_or.reduce(mine)
        assert int(masks.mean[place]) in Counter(mine)


def test_time_before_zero_and_far_from_it_is_a_time_like_any_other(tmp_path: Path) -> None:
    # around zero, and after 140 years of uptime
    for name, begin in (("a", -90 * S), ("b", 2**62)):
        times = [begin + n * S for n in range(180)]
        events = [started(t_ns=begin), *(tick(n + 1, t, sample(t, {POWER: watts(n)})) for n, t in enumerate(times))]
        with SessionReader(store(tmp_path, events, name)) as reader:
            for most in (1, 2, 50):
                series = reader.series(CARDS[0], POWER, at_most_points=most)
                assert 0 < len(series.t_ns) <= max(most, 2)
                check_groups(series, np.array(times), np.array([watts(n) for n in range(180)]))


def test_every_level_counts_every_sample(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, stream(250, 4))) as reader:
        for table in ("rollup_1s", "rollup_10s", "rollup_60s"):
            rows, power = reader.connection.execute(
                f"SELECT sum(rows), sum(power_average_w_sum) FROM {table} WHERE id % 4096 = 1"
            ).fetchone()
            assert rows == 1000
            assert power == sum(round(watts(n) * 1000) for n in range(1000))
