"""Distributions: the values of the tables."""

from math import inf, log, pi

import pytest

from gputuner.analysis.distributions import digamma, student_quantile, student_tail, trigamma

EULER = 0.5772156649


@pytest.mark.parametrize(("freedom", "table"), [(3, 3.182), (4, 2.776), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_student_is_the_tables(freedom, table):
    assert student_quantile(0.975, freedom) == pytest.approx(table, abs=0.0005)
    assert student_tail(table, freedom) == pytest.approx(0.025, abs=0.0001)


def test_without_end_of_freedom_it_is_the_normal_distribution():
    assert student_tail(1.959964, inf) == pytest.approx(0.025, abs=1e-7)
    assert student_tail(0.0, inf) == 0.5


def test_the_functions_of_the_logarithm_of_chi_squared():
    assert digamma(1.0) == pytest.approx(-EULER)
    assert digamma(0.5) == pytest.approx(-EULER - 2 * log(2))
    assert trigamma(1.0) == pytest.approx(pi**2 / 6)
    assert trigamma(0.5) == pytest.approx(pi**2 / 2)
