"""Ring buffers: views, gaps, newest values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap, Sample
from gputuner.telemetry.conditions import conditions
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.series import CardSeries, SeriesSet

S = 1_000_000_000
T, F = Quantity.CORE_TEMPERATURE_C, Quantity.FAN_FRACTION


def row(t_s: float, values: dict[Quantity, float], missing: dict[Quantity, Reason] | None = None) -> Sample:
    return Sample(card="a", t_ns=round(t_s * S), values=values, missing=missing or {})


def test_only_the_last_rows_are_kept_in_order() -> None:
    series = CardSeries("a", capacity=10)
    for i in range(57):
        series.append(row(i, {T: float(i)}))
    times, values = series.values(T)
    assert (times // S).tolist() == list(range(47, 57))
    assert values.tolist() == [float(i) for i in range(47, 57)]


def test_a_late_row_is_left_out() -> None:
    series = CardSeries("a")
    for t in (1, 2, 1.5, 3):
        series.append(row(t, {T: t}))
    assert series.values(T)[1].tolist() == [1, 2, 3]


def test_what_was_not_due_is_no_hole_but_what_is_missing_is() -> None:
    series = CardSeries("a")
    series.append(row(0, {T: 50.0, F: 0.25}))
    series.append(row(1, {T: 51.0}))
    series.append(row(2, {F: 0.5}, {T: Reason.ERROR}))
    series.append(row(3, {T: 53.0}))
    seconds, fan = series.drawn(F)
    assert (seconds.tolist(), fan.tolist()) == ([0, 2], [0.25, 0.5])
    seconds, core = series.drawn(T)
    assert seconds.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(core, [50, 51, np.nan, 53])
    assert series.values(T)[1].tolist() == [50, 51, 53]


def test_a_gap_breaks_the_line_between_its_ends() -> None:
    series = SeriesSet()
    series.take(Tick(t_ns=S, samples=(row(1, {T: 40.0}),)))
    gap = Gap(card=None, t0_ns=S, t1_ns=5 * S, reason=Reason.ERROR)
    series.take(Tick(t_ns=5 * S, samples=(row(5, {T: 44.0}),), gaps=(gap,)))
    seconds, values = series.card("a").drawn(T, t0_ns=S)
    np.testing.assert_array_equal(seconds, [0, 2, 4])
    np.testing.assert_array_equal(values, [40, np.nan, 44])


def test_the_newest_value_or_why_there_is_none() -> None:
    series = CardSeries("a")
    series.append(row(0, {T: 40.0}, {F: Reason.NOT_SUPPORTED}))
    assert series.latest(T, 1 * S).value == 40.0
    assert series.latest(T, 1 * S).unit == "degC"
    assert series.latest(F, 1 * S).reason is Reason.NOT_SUPPORTED
    assert series.latest(T, 100 * S).reason is Reason.NOT_READ
    series.append(row(2, {}, {T: Reason.ERROR}))
    assert series.latest(T, 2 * S).reason is Reason.ERROR
    assert series.latest(Quantity.ENERGY_J, 2 * S).reason is Reason.NOT_READ


def test_spans_of_limits_end_at_a_hole() -> None:
    series = CardSeries("a")
    for t, bits in ((0, 0), (1, LimitBit.SW_POWER_CAP), (2, LimitBit.SW_POWER_CAP), (3, 0), (10, 0)):
        series.append(row(t, {Quantity.LIMIT_BITS: float(bits)}))
    spans = [(span.t0_ns // S, span.t1_ns // S, span.limiter) for span in series.limits()]
    assert spans == [(0, 1, Limiter.NONE), (1, 3, Limiter.POWER), (3, 5, Limiter.NONE), (10, 10, Limiter.NONE)]


def test_conditions_are_those_of_the_samples() -> None:
    samples = [row(t / 2, {T: 40.0 + t, Quantity.POWER_INSTANT_W: 100.0 + t}) for t in range(40)]
    series = CardSeries("a")
    for sample in samples:
        series.append(sample)
    assert series.conditions(3 * S, 12 * S) == conditions(samples, 3 * S, 12 * S)


few = st.sampled_from([T, F, Quantity.ENERGY_J, Quantity.PSTATE])
cells = st.dictionaries(few, st.floats(-1e6, 1e6) | st.sampled_from([Reason.ERROR, Reason.NOT_SUPPORTED]))


@given(st.lists(st.tuples(st.integers(0, 40), cells), max_size=30))
def test_columns_hold_what_rows_say_one_by_one(rows: list[tuple[int, dict[Quantity, float | Reason]]]) -> None:
    """Against a list of the rows that are in order, of which the last ones are kept."""
    series = CardSeries("a", capacity=4)
    kept: list[tuple[int, dict[Quantity, float | Reason]]] = []
    for t_s, told in rows:
        values = {name: cell for name, cell in told.items() if not isinstance(cell, Reason)}
        series.append(row(t_s, values, {name: cell for name, cell in told.items() if isinstance(cell, Reason)}))
        if not kept or t_s > kept[-1][0]:
            kept.append((t_s, told))
    for quantity in (T, F, Quantity.ENERGY_J, Quantity.PSTATE):
        seen = [(t_s * S, told[quantity]) for t_s, told in kept[-4:] if quantity in told]
        times, values = series.values(quantity)
        assert list(zip(times.tolist(), values.tolist(), strict=True)) == [
            (t_ns, cell) for t_ns, cell in seen if not isinstance(cell, Reason)
        ]
        _, drawn = series.drawn(quantity)
        known = any(quantity in told and not isinstance(told[quantity], Reason) for _, told in kept)
        assert not known or len(drawn) <= len(seen), "before a first value there is no column"
