"""Predictions: from known probes the known slowdown; on cards whose physics is another model's; on recorded pairs."""

import itertools
from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.contention_held_out import (
    additive,
    constant,
    equal_sharing,
    errors,
    from_pressures,
    held_out,
    workload_of,
)
from gputuner.analysis.contention_prediction import mixture, predict, scale_of
from gputuner.analysis.contention_pressure import Pressures, ProbeSetting
from gputuner.analysis.contention_slack import sufferer

SHORT, LONG = (ProbeSetting(probe="slices", dial=0.5, burst_s=burst) for burst in (5e-4, 5e-3))
SM, DRAM, SOFT = ProbeSetting(probe="sm"), ProbeSetting(probe="dram"), ProbeSetting(probe="dram", dial=0.25)


def sliced(weights, sensitivities):
    """Jobs that are mixtures of two probes in every respect: suffer as they do, and press as they do."""
    probes = {(SHORT, SHORT): 1.4, (SHORT, LONG): 1.8, (LONG, SHORT): 1.2, (LONG, LONG): 1.9}
    sensitivity = {(job, b): exp(s[i]) for job, s in sensitivities.items() for i, b in enumerate((SHORT, LONG))}
    exerted = {
        (job, a): probes[a, SHORT] ** w[0] * probes[a, LONG] ** w[1]
        for job, w in weights.items()
        for a in (SHORT, LONG)
    }
    return Pressures(mode="processes", settings=(SHORT, LONG), probes=probes, sensitivity=sensitivity, exerted=exerted)


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.floats(0.1, 1), st.floats(0.1, 1)),
    st.tuples(st.floats(0.1, 1), st.floats(0.1, 1)),
)
def test_mixtures_of_probes_are_found_again_and_slow_as_their_parts_do(partner, victim):
    # the victim suffers as a mixture of the two probes with weights ``victim`` does
    base = sliced({"b": partner}, {"b": (0.0, 0.0)})
    suffers = [sum(v * base_log(base, a, b) for v, a in zip(victim, (SHORT, LONG), strict=True)) for b in (SHORT, LONG)]
    found = sliced({"a": victim, "b": partner}, {"a": suffers, "b": (0.1, 0.1)})
    told = mixture(found, "b")
    assert [told[SHORT], told[LONG]] == pytest.approx(partner, abs=0.05)
    truth = sum(w * s for w, s in zip(partner, suffers, strict=True))
    assert predict(found, "a", "b").slowdown == pytest.approx(exp(truth), rel=0.02)


def base_log(found, a, b):
    from math import log

    return log(found.probes[a, b])


def side_by_side(costs, slack, shares):
    """A job that loses ``costs`` × pressure minus ``slack``, beside one that presses as ``shares`` of both probes."""
    probes = {(SM, SM): 2.0, (SM, DRAM): 1.0, (SM, SOFT): 1.0, (DRAM, SM): 1.0, (DRAM, DRAM): 2.0, (DRAM, SOFT): 1.4}
    probes |= {(SOFT, SM): 1.0, (SOFT, DRAM): 1.25, (SOFT, SOFT): 1.2}
    sensitivity = {
        ("a", SM): 1 + max(0.0, costs[0] - slack),
        ("a", DRAM): 1 + max(0.0, costs[1] - slack),
        ("a", SOFT): 1 + max(0.0, 0.4 * costs[1] - slack),
    }
    exerted = {("b", SM): 1 + shares[0], ("b", DRAM): 1 + shares[1], ("b", SOFT): 1 + 0.25 * shares[1]}
    sensitivity |= {("b", setting): 1.0 for setting in (SM, DRAM, SOFT)}
    exerted |= {("a", setting): 1.0 for setting in (SM, DRAM, SOFT)}
    return Pressures(mode="mps", settings=(SM, DRAM, SOFT), probes=probes, sensitivity=sensitivity, exerted=exerted)


def test_slack_hides_pressures_one_by_one_but_not_together():
    found = side_by_side((0.8, 1.2), 0.3, (0.25, 0.5))
    suffers = sufferer(found, "a")
    assert suffers.slack == pytest.approx(0.3, abs=0.03)
    assert suffers.costs[DRAM] == pytest.approx(1.2, abs=0.05)
    # 0.8·0.25 alone is hidden, with 1.2·0.5 it shows
    assert predict(found, "a", "b").slowdown == pytest.approx(1 + 0.2 + 0.6 - 0.3, rel=0.03)
    hidden = side_by_side((0.8, 1.2), 0.3, (0.25, 0.05))
    assert predict(hidden, "a", "b").slowdown == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("mode", ["processes", "mps"])
def test_pairs_of_a_simulated_card_are_predicted_without_the_workload(playground, mode):
    for seed in range(2):
        jobs = playground.recorded_jobs() if mode == "processes" else playground.trainings()
        card = playground.card(mode=mode, random=Random(seed))
        found, pairs = card.pressures(jobs), card.pairs(jobs)
        assert len(pairs) == 30
        told = errors(held_out(pairs, from_pressures(found)))
        assert told.median <= 0.10
        assert told.p90 <= 0.20
        assert told.worst <= 0.30
        for simple in (constant, additive):
            assert told.median < 0.5 * errors(held_out(pairs, simple)).median


def test_a_pair_of_equal_jobs_is_predicted_alike(playground):
    jobs = playground.recorded_jobs()
    jobs["twin:batch=16"] = jobs["edsr:batch=16"]
    found = playground.card(scatter=0.0).pressures(jobs)
    first = predict(found, "edsr:batch=16", "twin:batch=16").slowdown
    assert predict(found, "twin:batch=16", "edsr:batch=16").slowdown == pytest.approx(first, rel=1e-6)
    assert predict(found, "edsr:batch=16", "edsr:batch=16").slowdown == pytest.approx(first, rel=1e-6)


def test_more_pressure_never_predicts_less(playground):
    load = playground.probe_load
    partners = {f"p:{dial}": load(ProbeSetting(probe="slices", dial=dial)) for dial in (0.2, 0.4, 0.6, 0.8, 1.0)}
    jobs = playground.recorded_jobs() | partners
    found = playground.card(scatter=0.0).pressures(jobs)
    for job in playground.recorded_jobs():
        told = [predict(found, job, partner).slowdown for partner in partners]
        assert all(a <= b * 1.02 for a, b in itertools.pairwise(told))


def test_measured_pairs_correct_the_scale_but_not_much_when_few(playground):
    jobs = playground.recorded_jobs()
    found = playground.card(scatter=0.0).pressures(jobs)
    stretched = [(a, b, predict(found, a, b).slowdown ** 1.2) for a, b in itertools.product(jobs, jobs)]
    assert scale_of([], found) == 1.0
    assert 1.0 < scale_of(stretched[:1], found) < scale_of(stretched, found) <= 1.2 + 1e-6
    assert scale_of(stretched, found) == pytest.approx(1.2, abs=0.05)
    assert scale_of([("x", "y", 3.0)], found) == 1.0, "of jobs that were not probed nothing is learnt"


def test_equal_sharing_errs_on_the_recorded_pairs_as_it_did(playground):
    recorded = playground.recorded
    busy = {name: min(1.0, busy / alone) for name, (alone, busy) in recorded["solo"].items()}
    pairs = [seen for a, b, x, y, *_ in recorded["pairs"] for seen in ((a, b, x), (b, a, y))]
    told = errors(held_out(pairs, equal_sharing(busy)))
    assert told.count == 30
    assert told.median == pytest.approx(0.16, abs=0.005)
    assert told.worst == pytest.approx(0.58, abs=0.006)
    # the simple models have to do without a workload, and are worse still
    for simple in (constant, additive):
        assert errors(held_out(pairs, simple)).median > told.median


def test_simple_models_from_theory():
    pairs = [("a", "a", 2.0), ("a", "b", 1.0), ("b", "a", 4.0), ("b", "b", 2.0)]
    assert constant(pairs, ("c", "d")) == pytest.approx(2.0)
    # log s = a(job) + b(partner): a slows half as much as b, beside a everything twice as much as beside b
    assert additive(pairs, ("a", "a")) == pytest.approx(2.0)
    assert additive(pairs[:3], ("b", "b")) == pytest.approx(2.0)
    assert additive(pairs, ("c", "a")) == pytest.approx(2.0**1.5)
    assert constant([], ("c", "d")) == additive([], ("c", "d")) == 1.0


def test_holding_out_leaves_out_the_workload_at_every_batch():
    pairs = [("r:batch=1", "r:batch=2", 1.5), ("e:batch=1", "r:batch=1", 1.2), ("e:batch=1", "e:batch=1", 1.1)]
    seen = []

    def spy(known, pair):
        seen.append((pair, [*known]))
        return 1.0

    told = held_out(pairs, spy)
    assert seen[0] == (("r:batch=1", "r:batch=2"), [pairs[2]])
    assert [known for pair, known in seen if pair == ("e:batch=1", "r:batch=1")] == [[], [pairs[2]]] or len(seen) == 4
    assert [each.held_out for each in told] == ["r", "e", "e"]
    assert workload_of("train.py") == "train.py"


def test_nothing_predicted_is_no_error_figure():
    with pytest.raises(ValueError, match="nothing"):
        errors([])
