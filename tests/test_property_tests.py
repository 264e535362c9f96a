"""Property tests fail by what they find, never by how long they take: of the whole suite, in one place."""

from hypothesis import HealthCheck, settings


def test_neither_an_example_nor_making_it_has_a_time_limit():
    for each in (settings(), settings(max_examples=3)):
        assert each.deadline is None
        assert HealthCheck.too_slow in each.suppress_health_check
