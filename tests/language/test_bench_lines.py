"""Rows and lines of a bench table that can be told apart."""

from dataclasses import replace

import pytest

from gputuner.analysis.regression import compare
from gputuner.language.bench_table import bench_table, best_line, held_back_lines, null_missing, null_table, titled
from gputuner.language.benchmarks import held_back
from gputuner.language.comparisons import comparison_table, counts_words, verdict_words
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.quantities import Limiter


def figure(value, *, metric="attention_rate", benchmark="attention", cause="software", peak=0.5, flags=(), **params):
    extra = {"benchmark": benchmark, "fraction_of_peak_at_clock": peak}
    if cause:
        extra["held_back"] = cause
    return Point(
        id=f"{metric}{benchmark}{value}{params}", card="GPU-1", metric=metric, workload=benchmark, params=params,
        value=value, unit="FLOP/s", flags=flags, extra=extra,
        spread=Spread(n=50, median=value, iqr=0.0, ci95_low=0.99 * value, ci95_high=1.01 * value),
    )  # fmt: skip


def test_figures_of_one_cause_share_a_line_with_their_range():
    points = [figure(1e12 * i, peak=0.1 * i, sequence=512 * i, direction="forward") for i in (1, 2, 3)]
    assert held_back_lines(points) == [
        "attention: Kernels and shapes held it back most: they fill 10 … 30 % of the peak at the clock it ran."
    ]


def test_of_several_causes_each_line_names_its_settings_by_what_they_alone_have():
    points = [
        *(figure(1e12, peak=0.5, sequence=length, direction="forward") for length in (512, 1024)),
        *(figure(1e12, peak=0.95, cause="nothing", sequence=length, direction="backward") for length in (512, 1024)),
        figure(1e12, peak=0.96, cause="nothing", benchmark="conv", metric="conv_rate", direction="forward"),
    ]
    assert held_back_lines(points) == [
        "attention (forward): Kernels and shapes held it back most: they fill 50 % of the peak at the clock it ran.",
        "attention (backward): Nothing held it back: 95 % of the peak at the clock it ran.",
        "conv: Nothing held it back: 96 % of the peak at the clock it ran.",
    ]


def dram(peak, cause="nothing", flags=(), share=0.0):
    told = figure(4.4e12, metric="stream_bandwidth", benchmark="memory-read", cause=cause, peak=peak, flags=flags)
    conditions = Conditions(duration_s=10.0, samples=20, limited_s={Limiter.POWER: 10.0 * share})
    return replace(told, unit="B/s", conditions=conditions)


def test_a_bandwidth_is_told_beside_the_memorys_clock_not_the_sms():
    """DRAM does not follow the SM clock: a power limit that lowers this one costs a copy nothing."""
    assert held_back(dram(0.91)) == "Nothing held it back: 91 % of what the memory's pins carry at their clock."
    limited = held_back(dram(0.91, flags=(Flag.THROTTLED_POWER,), share=0.173))
    assert "91 % of what its pins carry at their clock" in limited
    assert "SM clock back meanwhile, which the memory's rate does not follow" in limited
    assert "70 % of what the memory's pins carry" in held_back(dram(0.7, cause="software"))


def test_near_the_peak_a_limit_is_told_with_its_share_of_the_time():
    conditions = Conditions(duration_s=10.0, samples=20, limited_s={Limiter.POWER: 1.73})
    near = figure(7e14, peak=0.95, cause="nothing", flags=(Flag.THROTTLED_POWER,), sequence=512)
    (line,) = held_back_lines([replace(near, conditions=conditions)])
    assert line == (
        "attention: The power limit held the clock back 17.3 % of the time; at the clock it ran it reached 95 % of the "
        "peak."
    )
    more = replace(near, id="b", conditions=replace(conditions, limited_s={Limiter.POWER: 5.0}), params={"sequence": 9})
    (line,) = held_back_lines([replace(near, conditions=conditions), more])
    assert "17.3 … 50 % of the time" in line


def test_settings_without_a_word_of_their_own_are_listed_in_short():
    points = [
        figure(1e12, peak=0.5, sequence=512, precision="bf16"),
        figure(1e12, peak=0.5, sequence=1024, precision="bf16"),
        figure(1e12, cause="unknown", sequence=2048, precision="bf16"),
    ]
    first, second = held_back_lines(points)
    assert first.startswith("attention (sequence 512; sequence 1024): ")
    assert second.startswith("attention (sequence 2048): ")


def test_a_group_is_named_by_the_fewest_words_that_it_alone_has():
    points = [
        figure(1e12, peak=0.5 if kind != "math" else 0.05, cause="software" if kind != "math" else "software_or_memory",
               backend=kind, direction=way, sequence=length)
        for kind in ("flash", "cudnn", "math") for way in ("forward", "backward") for length in (512, 1024)
    ]  # fmt: skip
    heads = [line.partition(":")[0] for line in held_back_lines(points)]
    assert heads == ["attention (flash; cuDNN)", "attention (math)"]


def test_operations_per_byte_are_told_as_a_range():
    told = {"benchmark": "attention", "held_back": "memory_bandwidth"}
    points = [replace(figure(1e12, sequence=i), extra={**told, "intensity": float(i)}) for i in (2, 40)]
    assert held_back_lines(points) == [
        "attention: Memory bandwidth held it back: 2 … 40 operations per byte lie on the roofline's slope."
    ]


def test_there_is_at_most_one_line_for_each_headline():
    causes = ("software", "host", "memory_bandwidth", "nothing", "")
    points = [figure(1e12 + i, cause=causes[i % 5], peak=0.01 * i, sequence=2**i) for i in range(40)]
    assert len(held_back_lines(points)) == 4


def test_rows_of_one_benchmark_say_which_figure_and_which_place_they_are():
    rates = [
        figure(4e3, metric="prefill_rate", benchmark="decode", context=512),
        figure(55.0, metric="decode_rate", benchmark="decode", context=512),
    ]
    assert [of for _point, of in titled(rates)] == [
        "prompt reading rate, context 512",
        "token writing rate, context 512",
    ]
    places = [
        figure(v, metric="region_bandwidth", benchmark="regions", offset_bytes=2**30 * i)
        for i, v in ((1, 5e11), (2, 9e11))
    ]
    rows = bench_table([*rates, *places]).rows
    assert [row[1] for row in rows[2:]] == ["fastest, from 2 GiB on", "slowest, from 1 GiB on"]
    assert len({row[:2] for row in rows}) == len(rows)


def test_figures_that_are_not_in_the_table_are_told():
    points = [figure(1e12 * i, batch=i, direction="forward") for i in (1, 2, 3)]
    assert best_line(points).startswith("Shown are 1 of 3 figures")
    assert best_line(points[:1]) == ""


@pytest.mark.parametrize(
    ("flags", "spread", "words", "counts"),
    [
        ((Flag.SHARED,), True, "void: ", "2 void"),
        ((), False, "uncertain: no interval", "2 uncertain"),
        ((), True, "no difference", "2 without a difference"),
    ],
)
def test_further_figures_are_counted_by_verdict(flags, spread, words, counts):
    points = [figure(1e12, flags=flags, direction=way) for way in ("forward", "backward")]
    if not spread:
        points = [replace(p, spread=None) for p in points]
    found = compare(points, points)
    assert {verdict_words(each).startswith(words) for each in found} == {True}
    assert counts_words(found) == counts


def test_a_comparison_names_the_figure_as_the_table_does():
    points = [figure(4e3, metric=name, benchmark="decode", context=512) for name in ("prefill_rate", "decode_rate")]
    table = comparison_table(compare(points, points), "A", "B")
    assert [row[1] for row in table.rows] == ["prompt reading rate, context 512", "token writing rate, context 512"]


def null_check(benchmark):
    extra = {"benchmark": benchmark, "pairs": 6, "false_difference_rate": 0.5, "guard_rate": 0.0, "largest": 0.004}
    return Point(
        id=benchmark, card="GPU-1", metric="null_difference", workload=benchmark, params={}, value=0.002,
        unit="fraction", extra=extra,
    )  # fmt: skip


def test_the_null_check_names_what_was_repeated_and_what_was_not():
    rates = [
        figure(4e3, metric="prefill_rate", benchmark="decode", context=512),
        figure(55.0, metric="decode_rate", benchmark="decode", context=512),
        figure(9e11, metric="region_bandwidth", benchmark="regions"),
    ]
    repeat = figure(54.0, metric="decode_rate", benchmark="decode", context=512, null=1)
    points = [*rates, repeat, null_check("decode"), null_check("all")]
    assert [row[:2] for row in null_table(points).rows] == [("decode", "token writing rate, context 512"), ("all", "")]
    assert null_missing(points) == "Not measured again: regions."
    assert null_missing([*points, null_check("regions")]) == ""


@pytest.mark.parametrize(("card", "words"), [("cpu", "last-level cache"), ("GPU-1", "L2")])
def test_of_a_processor_the_cache_is_not_called_l2(card, words):
    point = replace(figure(5e10, metric="stream_rate", benchmark="memory-read", level="l2"), card=card)
    assert bench_table([point]).rows[0][1] == words
