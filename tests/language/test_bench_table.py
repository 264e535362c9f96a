"""Figures of benchmarks and comparisons in words."""

from dataclasses import replace

import pytest

from gputuner.analysis.held_back import Cause
from gputuner.analysis.likeness import Unlike, Weight
from gputuner.analysis.regression import compare
from gputuner.language.bench_table import (
    bench_markdown,
    bench_table,
    held_back_lines,
    interval_note,
    null_table,
    of_words,
    published_words,
    sources,
)
from gputuner.language.benchmarks import ABOUT, CAUSES, GROUPS, about, held_back, mode, unavailable
from gputuner.language.comparisons import change_words, comparison_markdown, summary_line, unlike_lines
from gputuner.language.tables import Table, markdown
from gputuner.model.points import Conditions, Flag, Point, Spread

EXTRA = {
    "benchmark": "gemm-bf16",
    "fraction_of_peak_at_clock": 0.956,
    "fraction_of_sheet": 0.99,
    "published_n": 5,
    "published_percentile": 62.0,
    "published_source": "somebody; someone",
    "published_mode": "bf16_acc32",
    "held_back": "power_cap",
    "held_back_share": 0.9,
    "held_back_lost": 0.25,
}


def point(value=165e12, flags=(), extra=None, **params):
    told = {"precision": "bf16", "m": 8192, "n": 4096, "k": 2048, "phase": "sustained", **params}
    return Point(
        id="p", card="GPU-1", metric="matmul_rate", workload="matmul", params=told, value=value, unit="FLOP/s",
        spread=Spread(n=50, median=value, iqr=0.0, ci95_low=0.99 * value, ci95_high=1.01 * value),
        conditions=Conditions(duration_s=9.0, samples=9, sm_clock_mhz=2520.0, power_w=450.0,
                              core_temperature_end_c=71.0),
        flags=flags, extra=EXTRA if extra is None else {"benchmark": "gemm-bf16", **extra},
    )  # fmt: skip


def test_a_row_tells_value_shares_standing_and_what_the_card_did():
    table = bench_table([point(flags=(Flag.THROTTLED_POWER,))])
    (row,) = table.rows
    assert row == (
        "gemm-bf16", "8192 × 4096 × 2048, sustained", "165 (163 … 167) TFLOP/s", "95.6 %", "99 %", "3 of 5",
        "2520 MHz", "450 W", "71 °C", "held back by the power limit",
    )  # fmt: skip


def test_an_interval_is_told_to_be_that_of_its_run():
    assert "hold within this run" in interval_note([point()])
    assert "hold within this run" in bench_markdown([point()], "x")
    assert interval_note([replace(point(), spread=None)]) == ""


def test_columns_that_nothing_fills_are_left_out():
    assert "of sheet" not in bench_table([point(extra={})]).headers


def test_what_the_memory_binds_is_told_by_the_share_of_what_it_allows():
    extra = {"bound_by": "memory", "held_back_lost": 0.55, "fraction_of_peak_at_clock": 0.45, "intensity": 0.999}
    slow = point(extra={**extra, "held_back": "software"})
    near = point(extra={**extra, "held_back": "memory_bandwidth", "fraction_of_peak_at_clock": 0.9})
    assert "they reach 45 % of what the memory allows at 0.999 operations per byte" in held_back(slow)
    assert "it reached 90 % of what the memory allows" in held_back(near)


def test_too_few_published_figures_are_told_as_they_are():
    told = point(extra={"published_n": 2, "published_low": 159e12, "published_high": 172e12})
    assert published_words(told) == "159 TFLOP/s … 172 TFLOP/s (n 2)"
    assert published_words(point(extra={})) == ""
    before_cap = {**told.extra, "published_unlike": "before_power_cap"}
    assert published_words(point(extra=before_cap)) == "159 TFLOP/s … 172 TFLOP/s (n 2, once warm)"


def test_figures_of_one_source_are_counted_and_give_no_percentile():
    """Ten rows of one table are no share of what others reach."""
    told = {"published_low": 159e12, "published_high": 172e12}
    assert published_words(point(extra={"published_n": 3, "published_worse": 2, **told})) == "2 of 3"
    assert published_words(point(extra={"published_n": 12, "published_worse": 7, **told})) == "7 of 12"
    shared = {"published_n": 12, "published_worse": 7, "published_percentile": 62.0, **told}
    assert published_words(point(extra=shared)) == "62 % of 12"


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_a_sentence(cause):
    words = held_back(point(extra={**EXTRA, "held_back": cause.value}))
    assert words.endswith(".")
    assert "{" not in words
    assert cause.value in CAUSES


def test_a_limit_without_a_known_loss_is_told_without_it():
    words = held_back(point(extra={"held_back": "power_cap", "held_back_share": 0.9}))
    assert words == "The power limit held the clock back 90 % of the time."


def test_a_limit_beside_is_told_and_what_is_not_compared_is_not_called_most():
    told = {**EXTRA, "held_back_beside": "thermal", "held_back_beside_share": 0.015}
    assert held_back(point(extra=told)) == (
        "The power limit held the clock back 90 % of the time, 25 % below its maximum. "
        "Heat also held the clock back 1.5 % of the time."
    )
    assert held_back(point(extra={**EXTRA, "held_back_most": False})).endswith(
        "Whether something else cost more cannot be told: the peak for this work is not known."
    )
    for cause in ("software", "software_or_memory", "host"):
        doubtful = {**told, "held_back": cause, "held_back_beside": "power_cap", "held_back_most": False}
        words = held_back(point(extra=doubtful))
        assert "most" not in words
        assert "what the lower clock cost beside is not known. The power limit also" in words


def test_of_a_link_the_share_of_the_link_is_told():
    assert "86 % of what the link can carry" in held_back(
        point(extra={"held_back": "nothing", "fraction_of_link": 0.86})
    )


def test_benchmarks_with_the_same_cause_share_a_line():
    lines = held_back_lines([point(), point(extra={**EXTRA, "benchmark": "gemm-fp16"}, precision="fp16")])
    assert lines == [
        "gemm-bf16, gemm-fp16: The power limit held the clock back 90 % of the time, 25 % below its maximum."
    ]


def test_sources_are_told_once():
    assert sources([point(), point(precision="fp16")]) == ["somebody (bf16_acc32)", "someone (bf16_acc32)"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"setup_counted": True}, "8192 × 4096 × 2048, with set-up, sustained"),
        ({"fast_accumulate": True}, "8192 × 4096 × 2048, fast accumulation, sustained"),
        ({"direction": "host_to_device", "pinned": False}, "8192 × 4096 × 2048, host → card, pageable, sustained"),
    ],
)
def test_settings_in_words(params, words):
    assert of_words(point(**params)) == words


def test_the_null_check_in_a_table():
    extra = {"benchmark": "all", "pairs": 12, "false_difference_rate": 0.25, "guard_rate": 0.0, "largest": 0.004}
    check = Point(
        id="x",
        card="c",
        metric="null_difference",
        workload="all",
        params={},
        value=0.00042,
        unit="fraction",
        extra=extra,
    )
    assert null_table([check, point()]).rows == (("all", "", "12", "0.042 %", "0.4 %", "25 %", "0 %"),)
    assert "between runs equal measurements lie further apart" in bench_markdown([check, point()], "card")


def test_markdown_holds_all_of_it():
    text = bench_markdown([point()], "RTX 4090")
    assert text.startswith("## RTX 4090\n\n| benchmark | of |")
    assert "### What held it back\n\n- gemm-bf16: The power limit" in text
    assert "- somebody (bf16_acc32)" in text


def test_markdown_escapes_bars():
    assert markdown(Table(headers=("a",), rows=(("x|y",),), right=(0,))) == "| a |\n| ---: |\n| x\\|y |\n"


def test_a_comparison_in_words():
    found = compare([point()], [point(value=140e12)])
    text = comparison_markdown(found, [], "A", "B")
    row = "| gemm-bf16 | 8192 × 4096 × 2048, sustained | 165 (163 … 167) TFLOP/s | 140 (139 … 141) TFLOP/s |"
    assert f"{row} -15 % (-20 … -10 %) | worse |" in text
    assert summary_line(found) == "1 worse · 0 better · 0 without a difference"


def test_a_void_comparison_says_why():
    found = compare([point()], [point(flags=(Flag.SHARED,))])
    assert "void: others used the card meanwhile" in comparison_markdown(found, [], "A", "B")


def test_what_differs_is_told():
    driver = Unlike(name="driver", before="550.1", after="580.2", weight=Weight.EXPLAINS)
    card = Unlike(name="card", before="RTX 3090", after="RTX 4090", weight=Weight.VOIDS)
    lines = unlike_lines([card, driver])
    assert lines[1] == "driver: 550.1 → 580.2"
    assert "nothing became better or worse" in lines[0]


def test_changes_are_signed():
    assert [change_words(c) for c in (0.0125, -0.004, 0.37)] == ["+1.25 %", "-0.40 %", "+37 %"]


def test_modes_and_reasons():
    assert mode("fp16_acc16") == "FP16 (FP16 sums)"
    assert mode("int8_sparse") == "INT8, 2:4 sparse"
    assert unavailable("extra_missing", {"extra": "kernels"}) == "needs the extra kernels"
    assert unavailable("something_new", {"message": "no luck"}) == "something new: no luck"


def test_every_group_and_name_has_words():
    assert all(about(name, "") for name in ABOUT)
    assert about("gemm-bf16", "gemm") == ABOUT["gemm"]
    assert about("unheard", "of") == ""
    assert set(GROUPS) >= {"gemm", "memory", "training"}
