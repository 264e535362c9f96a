"""A total shared over cards: never worse than the proportional split by the curves, never above, each in its range."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.total_power import (
    CardRange,
    Gain,
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
    if found.by_curves:  # else so much never binds
        assert found.rate == pytest.approx(summed_rate(ranges, found.watts))


@settings(max_examples=30, deadline=None)
@given(cards(curved=False), st.floats(0, 1))
def test_cards_without_a_curve_keep_their_proportional_part(ranges, share):
    least, most = least_total(ranges), sum(each.whole[1] for each in ranges)
    total = least + share * (most - least)
    found, even = split(ranges, total), in_proportion(ranges, total)
    assert found.total_w <= total
    for each, watts, other in zip(ranges, found.watts, even, strict=True):
        assert each.card in found.by_curves or watts >= other, "and what the others leave"


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


def test_watts_that_gain_nothing_are_not_given_out_but_to_cards_whose_gain_is_not_known():
    """docs/supply.md: a card that gains nothing above some limit gets no more."""
    flat = [(100.0, 0.5), (200.0, 1.0), (400.0, 1.0)]
    falls = [(100.0, 0.5), (200.0, 1.0), (400.0, 0.8)]
    pair = [card("a", 100, 400, 400, *flat), card("b", 100, 400, 400, *flat)]
    assert split(pair, 700).watts == (200, 200)
    assert split(pair, 800).watts == (400, 400), "so much never binds"
    knee = [(100.0, 0.9), (150.0, 1.0), (450.0, 1.0)]
    late = [(100.0, 0.9), (200.0, 1.0), (450.0, 0.98)]
    others = [card("p", 100, 450, 450, *knee), card("q", 100, 450, 450, *late), card("c", 100, 300, 300)]
    assert split(others, 900).watts == (150, 200, 300)
    assert split([card("a", 100, 400, 400, *falls), card("b", 100, 400, 400, *falls)], 700).watts == (200, 200)


ADA = RateCurve(
    caps_w=(200.0, 218.0, 237.0, 275.0, 284.0, 294.0, 312.0, 450.0),
    rates=(0.7624, 0.8190, 0.8692, 0.9481, 0.9648, 0.9785, 0.9965, 1.0),
    load="resnet50", unit="samples/s", best=1795.0,
)  # fmt: skip
AMPERE = RateCurve(
    caps_w=(100.0, 133.0, 166.0, 232.0, 265.0, 282.0, 298.0, 350.0),
    rates=(0.2512, 0.4971, 0.6570, 0.8705, 0.9452, 0.9748, 0.9944, 1.0),
    load="resnet50", unit="samples/s", best=1189.0,
)  # fmt: skip
"""Sweeps of two simulated cards."""


def pair_of(first: RateCurve, second: RateCurve) -> list[CardRange]:
    return [
        CardRange(card="a", low_w=200, high_w=450, default_w=450, curve=first),
        CardRange(card="b", low_w=100, high_w=350, default_w=350, curve=second),
    ]


@pytest.mark.parametrize("total", [400, 500, 600])
def test_samples_of_one_load_are_summed_as_they_are(total):
    """A per cent of the fast card is more work than a per cent of the slow one: relative rates would lose work."""

    def samples(pair: tuple[float, ...]) -> float:
        return 1795 * float(ADA.at(pair[0])) + 1189 * float(AMPERE.at(pair[1]))

    ranges = pair_of(ADA, AMPERE)
    best = max(samples((a, min(350, total - a))) for a in range(200, min(450, total - 100) + 1))
    found = split(ranges, total)
    assert found.unit == "samples/s"
    assert samples(found.watts) == pytest.approx(best) == found.rate
    assert samples(found.watts) >= samples(in_proportion(ranges, total))
    other = pair_of(ADA, replace(AMPERE, load="gpt2"))
    apart = split(other, total)
    assert apart.unit == "", "two loads"
    assert samples(apart.watts) < best
    assert split(pair_of(ADA, replace(AMPERE, unit="tokens/s")), total).unit == ""


def noisy(first: float, second: float, seed: int, spread: float = 0.01) -> RateCurve:
    """A line from 100 to 200 W whose ends are known to ``spread``."""
    draws = np.array([first, second]) + spread * np.random.default_rng(seed).standard_normal((4000, 2))
    return RateCurve(caps_w=(100.0, 200.0), rates=(first, second), draws=draws)


def two(first: RateCurve, second: RateCurve) -> list[CardRange]:
    return [CardRange(card=c, low_w=100, high_w=200, default_w=200, curve=r) for c, r in (("a", first), ("b", second))]


def test_a_gain_has_the_interval_that_the_spread_of_its_points_gives():
    """Sums 1.98 against 1.74; by error propagation 95 % of the ratio lie within 1.96 × 1.01 × 0.01 / 1.74."""
    found = split(two(noisy(0.5, 1.0, 0), noisy(0.98, 1.0, 1)), 300)
    assert found.watts == (200, 100)
    gain = found.gain
    assert gain is not None
    assert gain.value == pytest.approx(1.98 / 1.74 - 1)
    assert (gain.high - gain.low) / 2 == pytest.approx(1.96 * 1.01 * 0.01 / 1.74, rel=0.1)
    assert gain.shown


def test_a_gain_below_its_uncertainty_is_not_claimed():
    near = split(two(noisy(0.99, 1.0, 0), noisy(0.985, 1.0, 1)), 300).gain
    assert near is not None
    assert 0 < near.value < 0.005
    assert near.low < 0 < near.high
    assert not near.shown
    same = split(two(noisy(0.5, 1.0, 0), noisy(0.5, 1.0, 1)), 400)
    assert same.by_curves == (), "both at their default limits"
    level = two(replace(noisy(1.0, 1.0, 0), rates=(0.5, 1.0)), replace(noisy(1.0, 1.0, 1), rates=(0.5, 1.0)))
    assert split(level, 200).gain == Gain(value=0.0, low=0.0, high=0.0), "nothing to choose"
    unmeasured = replace(noisy(0.5, 1.0, 0), caps_w=(150.0, 200.0))
    assert split(two(unmeasured, noisy(0.9, 1.0, 1)), 230).gain is None, "below what was measured"
    assert split(two(replace(noisy(0.5, 1.0, 0), draws=None), noisy(0.9, 1.0, 1)), 300).gain is None, (
        "of unknown spread"
    )


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
