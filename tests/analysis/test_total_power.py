"""A total shared over cards: never worse than the proportional split by the curves, never above, each in its range."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.total_power import (
    CardRange,
    RateCurve,
    in_proportion,
    least_total,
    split,
    summed_rate,
)


def card(name: str, low: float, high: float, default: float, *rates: tuple[float, float]) -> CardRange:
    curve = RateCurve(caps_w=tuple(c for c, _ in rates), rates=tuple(r for _, r in rates)) if rates else None
    return CardRange(card=name, low_w=low, high_w=high, default_w=default, curve=curve)


CAPS = st.lists(st.integers(50, 600), min_size=2, max_size=5, unique=True).map(sorted)


@st.composite
def cards(draw, curved: bool = True):
    made = []
    for i in range(draw(st.integers(2, 4))):
        low = draw(st.integers(50, 200))
        high = low + draw(st.integers(0, 150))
        caps = draw(CAPS)
        rates = draw(st.lists(st.floats(0.05, 1.0), min_size=len(caps), max_size=len(caps)))
        curve = tuple(zip(map(float, caps), rates, strict=True)) if curved or draw(st.booleans()) else ()
        made.append(card(f"c{i}", low, high, draw(st.integers(low, 600)), *curve))
    return made


@settings(max_examples=60, deadline=None)
@given(cards(), st.floats(0, 1))
def test_never_worse_than_the_proportional_split_and_within_every_bound(ranges, share):
    least, most = least_total(ranges), sum(each.whole[1] for each in ranges)
    total = least + share * (most - least) * 1.2
    found = split(ranges, total)
    assert found.total_w <= total
    assert all(each.low_w <= w <= each.high_w for each, w in zip(ranges, found.watts, strict=True))
    even = in_proportion(ranges, total)
    assert sum(even) <= total
    assert all(each.low_w <= w <= each.high_w for each, w in zip(ranges, even, strict=True))
    assert summed_rate(ranges, found.watts) >= summed_rate(ranges, even) - 1e-6
    assert found.rate == pytest.approx(summed_rate(ranges, found.watts))


@settings(max_examples=30, deadline=None)
@given(cards(curved=False), st.floats(0, 1))
def test_cards_without_a_curve_keep_their_proportional_part(ranges, share):
    least, most = least_total(ranges), sum(each.whole[1] for each in ranges)
    total = least + share * (most - least)
    found, even = split(ranges, total), in_proportion(ranges, total)
    assert found.total_w <= total
    for each, watts, other in zip(ranges, found.watts, even, strict=True):
        assert each.card in found.by_curves or watts == other


def test_it_is_the_best_of_all_splits_whatever_the_shape():
    ranges = [
        card("a", 100, 130, 120, (100.0, 0.2), (110.0, 0.9), (120.0, 0.85), (130.0, 1.0)),
        card("b", 100, 130, 130, (100.0, 0.7), (115.0, 0.72), (130.0, 1.0)),
    ]
    for total in (205, 218, 233, 250):
        best = max(
            summed_rate(ranges, pair) for pair in product(range(100, 131), range(100, 131)) if sum(pair) <= total
        )
        assert split(ranges, total).rate == pytest.approx(best)


def test_at_an_inner_optimum_a_watt_more_gains_every_card_the_same():
    def bent(scale: float) -> list[tuple[float, float]]:
        caps = np.arange(100.0, 401.0, 5.0)
        rates = 1 - np.exp(-caps / scale)
        return list(zip(caps.tolist(), (rates / rates[-1]).tolist(), strict=True))

    ranges = [card("a", 100, 400, 400, *bent(90)), card("b", 100, 400, 400, *bent(160))]
    found = split(ranges, 500)
    slopes = [
        float(each.curve.at(w + 5.0) - each.curve.at(w - 5.0)) for each, w in zip(ranges, found.watts, strict=True)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.12)
    assert found.watts[1] > found.watts[0], "the card that still gains gets more"
    assert found.total_w == 500


def test_watts_that_gain_nothing_are_given_out_unless_they_would_cost_rate():
    flat = [(100.0, 0.5), (200.0, 1.0), (400.0, 1.0)]
    falls = [(100.0, 0.5), (200.0, 1.0), (400.0, 0.8)]
    assert split([card("a", 100, 400, 400, *flat), card("b", 100, 400, 400, *flat)], 700).total_w == 700
    assert split([card("a", 100, 400, 400, *falls), card("b", 100, 400, 400, *falls)], 700).watts == (200, 200)


def test_in_proportion_to_defaults_within_ranges():
    ranges = [card("a", 200, 700, 700), card("b", 100, 350, 350)]
    assert in_proportion(ranges, 600) == (400, 200)
    assert in_proportion(ranges, 5000) == (700, 350)
    assert in_proportion(ranges, 300) == (200, 100)
    assert split(ranges, 600).by_curves == ()
    with pytest.raises(ValueError, match="below"):
        split(ranges, 299)


def test_a_fractional_range_is_kept_in_whole_watts():
    ranges = [card("a", 100.4, 200.6, 200.6), card("b", 100.0, 150.0, 150.0)]
    assert least_total(ranges) == 201
    assert split(ranges, 201).watts == (101, 100)
