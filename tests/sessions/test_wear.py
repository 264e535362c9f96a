"""What the roll-ups of a session tell of wear, against samples that are known."""

import numpy as np
import pytest

from gputuner.analysis.wear_hours import by_degree, course, histogram, limited_seconds, thermal_cycles
from gputuner.model.cards import Origin
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.wear import wear_trace, xids_of
from tests.sessions.worn import START_NS, UNIX_S, UUID, S, stored

Q = Quantity


def read(path, uuid=UUID):
    with SessionReader(path) as reader:
        return wear_trace(reader, uuid)


def second(n):
    values = {Q.CORE_TEMPERATURE_C: 60.0 + n // 10, Q.POWER_AVERAGE_W: 100.0 + n, Q.ECC_CORRECTED: float(n)}
    if n % 5 == 0:
        values |= {Q.FAN_FRACTION: 0.5, Q.MEMORY_TEMPERATURE_C: 80.0}
    return float(n), values


def test_every_step_has_its_lowest_mean_and_highest(tmp_path):
    trace = read(stored(tmp_path, "a", map(second, range(100))))
    assert trace.t_s.tolist() == pytest.approx([UNIX_S + 10.0 * n for n in range(10)])
    assert trace.heat["core"].low.tolist() == trace.heat["core"].high.tolist() == [60.0 + n for n in range(10)]
    assert trace.power_w.tolist() == pytest.approx([104.5 + 10 * n for n in range(10)])
    assert trace.fan.tolist() == pytest.approx([0.5] * 10)
    assert set(trace.heat) == {"core", "memory"}
    assert trace.counters[Q.ECC_CORRECTED].tolist() == [9.0 + 10 * n for n in range(10)]
    assert np.isnan(trace.busy).all()
    assert trace.seconds.sum() == pytest.approx(100.0)


def test_a_peak_of_one_sample_is_kept(tmp_path):
    samples = [(float(n), {Q.CORE_TEMPERATURE_C: 91.0 if n == 44 else 60.0}) for n in range(90)]
    trace = read(stored(tmp_path, "a", samples))
    assert trace.heat["core"].high.max() == 91
    found = histogram(by_degree(trace, trace.heat["core"]))
    assert 0 < found.above(90) < 10


def test_what_was_not_seen_is_not_observed(tmp_path):
    silent = Gap(card=None, t0_ns=START_NS + 20 * S, t1_ns=START_NS + 26 * S, reason=Reason.ERROR)
    samples = [second(n) for n in range(60) if not 20 <= n < 26]
    assert read(stored(tmp_path, "a", samples, gaps=(silent,))).seconds.sum() == pytest.approx(54.0)
    parted = [second(n) for n in (*range(35), *range(300, 320))]
    trace = read(stored(tmp_path, "b", parted))
    assert trace.seconds.sum() == pytest.approx(55.0)
    assert len(trace.pieces) == 2


def test_four_seconds_of_heat_in_every_ten_are_two_fifths(tmp_path):
    bits = [LimitBit.SW_THERMAL if n % 20 < 8 else LimitBit.IDLE for n in range(1200)]
    samples = [(0.5 * n, {Q.CORE_TEMPERATURE_C: 80.0, Q.LIMIT_BITS: float(mask)}) for n, mask in enumerate(bits)]
    trace = read(stored(tmp_path, "a", samples))
    assert limited_seconds(trace)[Limiter.THERMAL_SOFTWARE] == pytest.approx(240.0)
    assert limited_seconds(trace)[Limiter.POWER] == 0.0


def test_a_limit_between_two_samples_of_one_second_is_half_of_it(tmp_path):
    samples = [(0.5 * n, {Q.LIMIT_BITS: float(LimitBit.SW_POWER_CAP if n % 2 else 0)}) for n in range(400)]
    assert limited_seconds(read(stored(tmp_path, "a", samples)))[Limiter.POWER] == pytest.approx(100.0)


def test_a_limit_that_is_counted_is_not_told_by_the_sampled_reasons(tmp_path):
    both = {Q.LIMIT_BITS: float(LimitBit.SW_POWER_CAP | LimitBit.SW_THERMAL)}
    samples = [(float(n), both | {Q.LIMITED_POWER_NS: 0.0}) for n in range(100)]
    trace = read(stored(tmp_path, "a", samples))
    assert Limiter.POWER not in trace.limited
    assert limited_seconds(trace)[Limiter.POWER] == 0.0
    assert limited_seconds(trace)[Limiter.THERMAL_SOFTWARE] == pytest.approx(100.0)


def test_cycles_faster_than_a_step_are_counted(tmp_path):
    wave = [70.0 + 10.0 * np.sign(np.sin(2 * np.pi * (n + 0.5) / 8)) for n in range(1200)]  # 150 periods of 8 s
    trace = read(stored(tmp_path, "a", [(float(n), {Q.CORE_TEMPERATURE_C: each}) for n, each in enumerate(wave)]))
    found = thermal_cycles([course(trace, trace.heat["core"])])
    assert {c.swing for c in found} == {20.0}
    assert sum(c.count for c in found) == 149.5  # 150 periods have 299 turns between their ends


def test_power_by_the_instant_field_where_there_is_no_average(tmp_path):
    trace = read(stored(tmp_path, "a", [(float(n), {Q.POWER_INSTANT_W: 250.0}) for n in range(30)]))
    assert trace.power_w.tolist() == [250.0] * 3


def test_another_card_and_none_at_all(tmp_path):
    assert read(stored(tmp_path, "a", map(second, range(30))), "GPU-other") is None
    assert read(stored(tmp_path, "b", [])) is None


def test_its_xids(tmp_path):
    with SessionReader(stored(tmp_path, "a", map(second, range(3)), xids=(79, 31))) as reader:
        assert xids_of(reader, UUID) == (79, 31)
        assert xids_of(reader, "GPU-other") == ()
        assert reader.origin is Origin.MEASURED


def test_a_session_of_weeks_is_read_by_the_minute(tmp_path, monkeypatch):
    path = stored(tmp_path, "a", map(second, range(240)))
    monkeypatch.setattr("gputuner.sessions.wear.MOST_STEPS", 20)
    trace = read(path)
    assert trace.step_s == 60.0
    assert trace.heat["core"].low.tolist() == [60.0, 66.0, 72.0, 78.0]
    assert trace.seconds.sum() == pytest.approx(240.0)
