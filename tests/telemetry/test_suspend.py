"""Suspends of the machine, by a clock of sleep that the test sets."""

from gputuner.telemetry.suspend import Suspend, suspended_ns

S = 1_000_000_000


def test_a_suspend_is_seen_until_it_was_asked_how_long_it_took() -> None:
    slept = 5 * S
    suspend = Suspend(lambda: slept)
    assert (suspend.seen(), suspend.over_s()) == (False, None)
    slept += 3600 * S
    assert (suspend.seen(), suspend.seen()) == (True, True)
    assert suspend.over_s() == 3600
    assert (suspend.seen(), suspend.over_s()) == (False, None)


def test_two_clocks_that_are_not_read_at_the_same_time_are_no_suspend() -> None:
    slept = 5 * S
    suspend = Suspend(lambda: slept)
    for seems in (6 * S, 2 * S, 5 * S):
        slept = seems
        assert (suspend.seen(), suspend.over_s()) == (False, None)


def test_this_machine_has_not_been_suspended_between_two_looks() -> None:
    assert min(abs(suspended_ns() - suspended_ns()) for _ in range(20)) < S
