"""The regression guard on planted differences, Holm's correction on a worked example, and what voids a comparison."""

from dataclasses import replace

import numpy as np
import pytest

from gputuner.analysis.comparing import apart, bounds, change_interval, holm, improvement, worse_p
from gputuner.analysis.regression import (
    Verdict,
    benchmarks_of,
    by_key,
    compare,
    confirmed,
    key_of,
    stored_spread,
    suspects,
    worse,
)
from gputuner.analysis.statistics import spread
from gputuner.model.cards import Origin
from gputuner.model.points import Flag, Point


def point(metric="matmul_rate", rate=100.0, scatter=0.002, n=100, seed=0, flags=(), unit="FLOP/s", **params):
    values = rate * (1.0 + scatter * np.random.default_rng(seed).standard_normal(n))
    told = spread(values.tolist())
    return Point(
        id=f"{metric}-{seed}", card="GPU-1", metric=metric, workload="w", params={"phase": "sustained", **params},
        value=told.median, unit=unit, spread=told, flags=flags,
    )  # fmt: skip


def session(factor=1.0, seed=0, only=None):
    """Ten metrics; those named in ``only`` (or all) are ``factor`` of what they were."""
    return [
        point(
            rate=(100.0 + i) * (factor if only is None or i in only else 1.0), seed=seed + i, precision=f"p{i}",
            m=4096 + seed,
        )
        for i in range(10)
    ]  # fmt: skip


def quiet_history():
    """Five sessions that differ by 0.3 %."""
    return [session(1.0 + 0.003 * (i - 2), seed=200 + 20 * i) for i in range(5)]


def test_the_interval_of_a_change_covers_the_truth_and_agrees_with_its_p():
    """400 pairs of sessions that differ by 3 %, each exact, with the 0.6 % that sessions scatter by: 95 % hold."""
    rng, covered, settled = np.random.default_rng(5), 0, point()
    for _number in range(400):
        drifts = 100.0 * np.exp(0.006 * rng.standard_normal(2)) * (1.0, 1.03)
        before, after = (
            replace(settled, value=rate, spread=replace(settled.spread, median=rate, ci95_low=rate, ci95_high=rate))
            for rate in drifts
        )
        low, high = change_interval(before, after, between=0.006)
        covered += low <= 0.03 <= high
        assert (low > 0) == (1.0 - worse_p(before, [after], between=0.006) < 0.025)
    assert 0.92 <= covered / 400 <= 0.98


def test_no_interval_of_a_change_where_a_side_has_none():
    bare = replace(point(), spread=None)
    (found,) = compare([bare], [point(rate=110.0)])
    assert (found.low, found.high, found.verdict) == (None, None, Verdict.UNCERTAIN)
    (found,) = compare([point()], [point(rate=110.0, seed=3)])
    assert found.low < found.change < found.high


def test_holm_on_a_worked_example():
    """Holm 1979: of 0.01, 0.04, 0.03, 0.005 the adjusted values are 0.03, 0.06, 0.06, 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_a_planted_loss_is_found_and_nothing_else():
    found = worse(compare(session(), session(0.95, seed=50, only={3}), stored_spread(quiet_history())))
    assert [each.before.params["precision"] for each in found] == ["p3"]
    assert found[0].change == pytest.approx(-0.05, abs=0.002)
    assert found[0].p < 0.001


def test_the_same_again_is_the_same():
    verdicts = {each.verdict for each in compare(session(), session(seed=50))}
    assert verdicts == {Verdict.SAME}


def test_a_gain_is_better_not_worse():
    found = compare(session(), session(1.1, seed=50, only={2}))
    assert [each.verdict for each in found].count(Verdict.BETTER) == 1
    assert worse(found) == ()


def test_less_than_two_percent_is_no_regression_however_sure():
    assert worse(compare(session(), session(0.985, seed=50))) == ()


def test_intervals_that_do_not_overlap_are_no_difference_by_themselves():
    """Of 41 figures of two runs of one H200 the intervals of 15 did not overlap: within a run they are 0.04 % wide."""
    before = [point(rate=100.0, scatter=0.0004, seed=i, precision=f"p{i}") for i in range(41)]
    after = [point(rate=100.0 + 0.9 * (i % 3 - 1), scatter=0.0004, seed=50 + i, precision=f"p{i}") for i in range(41)]
    found = compare(before, after)
    gone = [each for each in found if not apart(bounds(each.before), bounds(each.after))]
    assert len(found) - len(gone) > 20
    assert {each.verdict for each in found} == {Verdict.SAME}
    assert all(each.low < 0.0 < each.high for each in found)


def test_a_metric_that_always_scatters_needs_more():
    """Standard deviation 8 % between five sessions: two may differ by 2·√2 times that; alone, nothing moderates it."""
    before, after = [point(rate=100.0)], [point(rate=85.0, seed=9)]
    history = [[point(rate=rate, seed=i)] for i, rate in enumerate((90.0, 95.0, 100.0, 105.0, 110.0))]
    stored = stored_spread(history)
    spread = stored[key_of(before[0])]
    assert (spread.deviation, spread.freedom, spread.known) == (pytest.approx(0.079, abs=0.002), 4, True)
    (found,) = compare(before, after, stored)
    assert found.limit == pytest.approx(2.0 * 2.0**0.5 * spread.deviation)
    assert found.verdict is Verdict.SAME
    assert worse(compare(before, after)) != ()


def test_too_few_sessions_leave_a_small_difference_open():
    """Within 2·√2·2 % = 5.7 % nothing is called without five stored sessions, and no re-run is made."""
    (found,) = compare([point()], [point(rate=96.0, seed=5)])
    assert (found.verdict, found.limit) == (Verdict.UNCERTAIN, pytest.approx(0.0566, abs=1e-4))
    assert suspects([found]) == ()
    assert compare([point()], [point(rate=92.0, seed=5)])[0].verdict is Verdict.WORSE


def test_few_sessions_only_raise_what_is_assumed():
    quiet, wild = [[point()], [point(seed=3)]], [[point()], [point(rate=70.0)]]
    assert [each.deviation for each in stored_spread(quiet).values()] == [0.02]
    (assumed,) = stored_spread(wild).values()
    assert (assumed.deviation, assumed.known) == (pytest.approx(0.252, abs=0.002), False)


def test_times_are_worse_when_they_grow():
    before = point("access_latency", 250e-9, unit="s", level="dram")
    after = point("access_latency", 300e-9, unit="s", level="dram", seed=4)
    assert worse(compare([before], [after]))
    assert not worse(compare([after], [before]))
    assert improvement(before, after) == pytest.approx(-1 / 6, abs=0.01)


def test_overlapping_intervals_are_never_worse():
    before = point(rate=100.0, scatter=0.3, n=40)
    after = point(rate=95.0, scatter=0.3, n=40, seed=7)
    assert compare([before], [after])[0].verdict in (Verdict.SAME, Verdict.UNCERTAIN)


def test_few_repeats_without_any_interval_stay_uncertain():
    found = compare([point(n=3)], [point(rate=50.0, n=3, seed=3)])
    assert [each.verdict for each in found] == [Verdict.UNCERTAIN]


def test_some_repeats_are_judged_by_their_notch():
    told = bounds(point(n=9))
    assert told is not None
    assert told.notch
    assert worse(compare([point(n=9)], [point(rate=80.0, n=9, seed=3)]))


@pytest.mark.parametrize("flag", [Flag.SHARED, Flag.IMPLAUSIBLE, Flag.TOO_SLOW])
def test_flagged_figures_are_compared_with_nothing(flag):
    (found,) = compare([point()], [point(rate=50.0, flags=(flag,))])
    assert (found.verdict, found.void) == (Verdict.VOID, flag.value)


def test_measured_and_simulated_are_not_compared():
    simulated = replace(point(rate=50.0), origin=Origin.SIMULATED)
    assert compare([point()], [simulated])[0].void == "origin"


def test_a_throttled_figure_is_still_a_figure():
    assert worse(compare([point()], [point(rate=80.0, seed=2, flags=(Flag.THROTTLED_THERMAL,))]))


def test_the_shape_that_a_search_found_does_not_part_two_sessions():
    assert key_of(point(m=4096, precision="bf16")) == key_of(point(m=8192, precision="bf16"))
    assert key_of(point("attention_rate", m=4096)) != key_of(point("attention_rate", m=8192))


def test_figures_of_a_search_are_not_compared():
    assert by_key([point(phase="search")]) == {}


def test_repeats_of_a_null_check_are_no_figures_of_their_session():
    """Neither wrong ones nor right ones may move what is compared, or the stored spread."""
    told = [point("access_latency", 2.7e-7, unit="s", level="dram")]
    poisoned = [*told, *(replace(told[0], value=3.7e6, params={**told[0].params, "null": i}) for i in (1, 2, 3, 4))]
    assert list(by_key(poisoned).values()) == told
    (spread,) = stored_spread([poisoned] * 5).values()
    assert spread.deviation == pytest.approx(0.003)


def test_of_a_sweep_only_a_level_that_nothing_else_measured():
    sweep = [
        point("stream_bandwidth", rate, seed=i, phase="sweep", level=level, bytes=i)
        for i, (rate, level) in enumerate(((4e12, "l2"), (5e12, "l2"), (2e12, "between"), (9.4e11, "dram")))
    ]
    steady = point("stream_bandwidth", 9.3e11, seed=7, phase="steady", level="dram", bytes=1 << 30)
    kept = [p.value for p in by_key([*sweep, steady]).values()]
    assert kept == [pytest.approx(5e12, rel=0.01), pytest.approx(9.3e11, rel=0.01)]


def test_the_level_and_not_its_footprint_is_compared():
    here = point("access_latency", 2.7e-7, unit="s", level="dram", bytes=21137408)
    there = point("access_latency", 3.7e-7, unit="s", level="dram", bytes=16777216, seed=2)
    (found,) = compare([here], [there])
    assert found.change == pytest.approx(2.7 / 3.7 - 1.0, abs=0.01)


def test_of_regions_the_slowest_and_the_middle_one_are_compared():
    def regions(rates, seed=0):
        return [point("region_bandwidth", r, seed=seed + i, offset_bytes=i << 28) for i, r in enumerate(rates)]

    found = compare(regions((9e11, 8e11, 9.2e11)), regions((5e11, 9.1e11, 9.1e11), seed=40))
    told = {each.before.params["region"]: each.change for each in found}
    assert told == {"slowest": pytest.approx(-0.375, abs=0.01), "median": pytest.approx(0.011, abs=0.003)}
    assert all("offset_bytes" not in each.before.params for each in found)


def test_of_repeats_the_middle_one_stands():
    rates = [p.value for p in by_key([point(rate=r) for r in (90.0, 100.0, 130.0)]).values()]
    assert rates == [pytest.approx(100.0, rel=0.01)]


def test_a_second_look_must_confirm():
    first = compare(session(), session(0.9, seed=50, only={1, 2}))
    again = compare(session(), session(0.9, seed=90, only={2}))
    assert [each.before.params["precision"] for each in confirmed(first, again)] == ["p2"]


def test_a_second_look_is_corrected_over_all_figures_of_the_first():
    """7.1 % twice: for one figure sure enough (p 0.0013), among forty not."""
    many = [point(precision=f"p{i}", seed=i) for i in range(40)]
    low = [point(rate=92.9, precision="p0", seed=99), *many[1:]]
    (alone,) = confirmed(compare(many[:1], low[:1]), compare(many[:1], low[:1]))
    assert alone.p == pytest.approx(0.0013, abs=0.0004)
    assert confirmed(compare(many, low), compare(many[:1], low[:1])) == ()


def test_the_benchmarks_to_run_again():
    named = replace(point(), extra={"benchmark": "gemm-bf16"})
    assert benchmarks_of(compare([named], [named])) == ("gemm-bf16",)


def test_the_p_value_of_no_change_is_a_half():
    same = point()
    assert worse_p(same, [same]) == pytest.approx(0.5)


def test_the_p_value_of_a_difference_of_two_sessions():
    """A fall of ln(1.05) against √2 · 2 %, hardly any interval: z = 1.725, p = 0.042; twice: √1.5, p = 0.023."""
    before, after = point(rate=105.0, scatter=1e-6), point(rate=100.0, scatter=1e-6)
    assert worse_p(before, [after], 0.02) == pytest.approx(0.0423, abs=0.0005)
    assert worse_p(before, [after, after], 0.02) == pytest.approx(0.0232, abs=0.0005)
    assert worse_p(before, [after], 0.02, 4.0) == pytest.approx(0.0798, abs=0.001)
    assert worse_p(point(n=3), [after]) is None


def test_among_twenty_equal_sessions_hardly_any_alarm():
    """The guard asks for 2 %, both intervals and Holm: noise of 0.2 % never passes."""
    assert not any(worse(compare(session(), session(seed=100 + 20 * i))) for i in range(10))
