"""Spread between sessions: drawn towards what metrics have in common, as far as they have it."""

import numpy as np
import pytest

from gputuner.analysis.session_spread import LEAST_SESSIONS, MOST_WEIGHT, TYPICAL, session_spreads


def drawn(sigmas, sessions, seed=0):
    random = np.random.default_rng(seed)
    return {i: (sigma * random.standard_normal(sessions)).tolist() for i, sigma in enumerate(sigmas)}


def test_alike_metrics_share_their_spread():
    """Forty metrics of 1 %, five sessions: each alone is known by 4 degrees of freedom, together all lie near 1 %."""
    told = session_spreads(drawn([0.01] * 40, 5), dict.fromkeys(range(40), "b"))
    assert all(8 < each.freedom <= 4 + MOST_WEIGHT for each in told.values())
    assert all(0.006 < each.deviation < 0.015 for each in told.values())


def test_unlike_metrics_keep_their_own():
    sigmas = [0.004, 0.1] * 10
    told = session_spreads(drawn(sigmas, 20, seed=1), dict.fromkeys(range(20), "b"))
    assert all(told[i].deviation == pytest.approx(sigma, rel=0.5) for i, sigma in enumerate(sigmas))
    assert max(each.freedom for each in told.values()) < 19 + 2


def test_each_benchmark_is_moderated_by_its_own_metrics():
    sigmas = [0.004] * 6 + [0.05] * 6
    told = session_spreads(drawn(sigmas, 5, seed=2), {i: "quiet" if i < 6 else "wild" for i in range(12)})
    assert max(told[i].deviation for i in range(6)) < 0.01 < 0.03 < min(told[i].deviation for i in range(6, 12))


def test_a_lone_metric_stands_for_itself():
    values = [0.0, 0.01, 0.02, 0.03, 0.04]
    told = session_spreads({"a": values}, {"a": "b"})["a"]
    assert (told.deviation, told.freedom) == (pytest.approx(np.std(values, ddof=1)), 4)


def test_too_few_sessions_are_not_believed():
    told = session_spreads({"a": [0.0] * (LEAST_SESSIONS - 1), "b": [0.0]}, {"a": "x", "b": "x"})
    assert (told["a"].deviation, told["a"].known) == (TYPICAL, False)
    assert "b" not in told
