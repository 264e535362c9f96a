"""What a short time budget leaves out of a suite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.experiments.benchmarks.benchmark import Benchmark
from gputuner.experiments.benchmarks.budget import FLOOR_S, LEAST_SHARE, least_s, left_out, share_for, shortened_s
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS


def nothing(course, effort):
    yield from ()


def benchmark(name, group):
    return Benchmark(
        name=name, group=group, unit="", default_s=10.0, full_s=10.0, cpu_s=10.0, run=nothing
    )  # fmt: skip


SUITE = (
    benchmark("gemm-a", "gemm"),
    benchmark("gemm-b", "gemm"),
    benchmark("gemm-c", "gemm"),
    benchmark("train-a", "training"),
    benchmark("train-b", "training"),
    benchmark("launch", "launch"),
)


def names(gone):
    return [each.benchmark.name for each in gone]


COST_S, LEAST_S = 64.0, 10.0
"""A benchmark of 64 s needs 4 s of set-up and a tenth of the rest."""


def test_with_room_for_all_shortened_nothing_goes():
    assert left_out(SUITE, SUITE, [COST_S] * 6, 60.0) == ()


@pytest.mark.parametrize(
    ("room_s", "gone"),
    [
        (50.0, ["gemm-c"]),
        (40.0, ["gemm-c", "train-b"]),
        (30.0, ["gemm-b", "gemm-c", "train-b"]),
        (10.0, ["gemm-b", "gemm-c", "train-a", "train-b", "launch"]),
    ],
)
def test_one_of_each_group_stays_as_long_as_it_can(room_s, gone):
    """Not the order in which they run decides: the last of the list stays while a third product goes."""
    assert names(left_out(SUITE, SUITE, [COST_S] * 6, room_s)) == gone


def test_what_ran_before_still_counts_to_its_group():
    assert names(left_out(SUITE, SUITE[1:], [COST_S] * 5, 40.0)) == ["gemm-c"]


def test_it_is_told_what_was_needed_and_what_was_left():
    (only,) = left_out(SUITE, SUITE, [COST_S] * 6, 54.0)
    assert (only.needed_s, only.left_s) == (pytest.approx(LEAST_S), pytest.approx(4.0))


def test_set_up_cannot_be_shortened():
    assert least_s(1.0) == 1.0
    assert least_s(FLOOR_S) == FLOOR_S
    assert least_s(FLOOR_S + 100.0) == pytest.approx(FLOOR_S + 100.0 * LEAST_SHARE)
    assert shortened_s(103.0, 1.0) == 103.0


@given(st.lists(st.floats(0.5, 300.0), min_size=1), st.floats(0.0, 3000.0))
def test_the_share_fills_the_room_and_no_more(costs, room_s):
    share = share_for(costs, room_s)
    taken_s = sum(shortened_s(cost, share) for cost in costs)
    assert LEAST_SHARE <= share <= 1.0
    if LEAST_SHARE < share < 1.0:
        assert taken_s == pytest.approx(room_s)


@given(st.floats(0.0, 500.0), st.lists(st.floats(0.5, 300.0), min_size=len(BENCHMARKS), max_size=len(BENCHMARKS)))
def test_what_stays_fits_and_nothing_goes_without_need(room_s, costs):
    gone = left_out(BENCHMARKS, BENCHMARKS, costs, room_s)
    cost = dict(zip((b.name for b in BENCHMARKS), costs, strict=True))
    stays = sum(least_s(c) for name, c in cost.items() if name not in names(gone))
    assert stays <= room_s + 1e-6
    assert all(each.needed_s > each.left_s - 1e-6 for each in gone)
