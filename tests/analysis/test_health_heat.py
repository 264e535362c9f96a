"""What heat holds back in a health test, and when it is the memory's (methods §7): figures with a planted cause."""

import pytest

from gputuner.analysis.health_heat import held_by_heat
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter

KINDS = ("address", "inversions", "checkerboard", "random", "retention")
TRIALS = 8
SLOWER = 0.86


def a_pass(trial, kind, *, hot, core_c, held=0.0, memory_c=None, power=0.0, rate=None, hardware=0.0):
    speed = rate if rate is not None else 870e9 * (1.0 + 0.1 * KINDS.index(kind)) * (SLOWER if held else 1.0)
    return Point(
        id=f"{'hot' if hot else 'cold'}-{trial}-{kind}",
        card="GPU-1",
        metric="vram_errors",
        workload="vram",
        params={"pass": kind, "heat": "hot" if hot else "cold", "stage": 3 if hot else 1},
        value=0.0,
        unit="1",
        conditions=Conditions(
            duration_s=1.2,
            samples=5,
            core_temperature_end_c=core_c,
            memory_temperature_end_c=memory_c,
            limited_s={
                Limiter.THERMAL_SOFTWARE: 1.2 * held,
                Limiter.THERMAL_HARDWARE: 1.2 * hardware,
                Limiter.POWER: 1.2 * power,
            },
        ),
        extra={"rate": speed, "checked_bytes": 2**30, "passes": 1},
    )


def a_test(*, hot_core_c=70.0, trials=TRIALS, **hot):
    cold = [a_pass(n, kind, hot=False, core_c=45.0 + n) for n in range(trials) for kind in KINDS]
    return [*cold, *(a_pass(n, kind, hot=True, core_c=hot_core_c, **hot) for n in range(trials) for kind in KINDS)]


def seen(points, **known):
    told = {"target_c": 83.0, "slowdown_c": 93.0, "memory_limit_c": None, **known}
    return held_by_heat(points, **told)


def test_a_cool_core_in_the_software_limit_is_the_memory_and_the_loss_is_what_was_planted():
    found = seen(a_test(held=1.0))
    assert found.cause == "memory"
    assert found.lost.low <= 1.0 - SLOWER <= found.lost.high
    assert found.lost.value == pytest.approx(1.0 - SLOWER)
    assert found.shares.low == found.shares.high == 1.0
    assert found.seconds == pytest.approx(TRIALS * len(KINDS) * 1.2)
    assert (found.core_c, found.memory_c) == (70.0, None)


def test_without_heat_there_is_nothing_to_tell():
    assert seen(a_test(held=0.0)) is None


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        ({"hot_core_c": 80.0}, {}),  # 3 K below its target: the core itself
        ({"hot_core_c": 84.0}, {"target_c": None}),  # 9 K below slowdown
        ({"hardware": 1.0}, {}),
        ({"memory_c": 70.0}, {"memory_limit_c": 105.0}),  # its own sensor shows that it is cool
        ({"memory_c": 70.0}, {}),  # a sensor whose limit nobody knows shows nothing
        ({}, {"target_c": None, "slowdown_c": None}),
    ],
)
def test_what_else_it_can_be_is_not_called_memory(changed, known):
    found = seen(a_test(**{"held": 1.0, **changed}), **known)
    assert (found.cause, found.lost) == ("other", None)


def test_the_memorys_own_sensor_at_its_limit_agrees():
    found = seen(a_test(held=1.0, memory_c=101.0), memory_limit_c=105.0)
    assert (found.cause, found.memory_c) == ("memory", 101.0)


def test_a_sensor_that_never_moves_shows_no_cool_core():
    points = [a_pass(n, kind, hot=True, core_c=40.0, held=n / TRIALS) for n in range(TRIALS) for kind in KINDS]
    assert seen(points).cause == "other"


def test_few_trials_have_no_interval():
    found = seen(a_test(held=1.0, trials=5))
    assert (found.cause, found.lost, found.shares) == ("memory", None, None)


def test_what_the_power_limit_slowed_too_does_not_count_as_lost_to_heat():
    found = seen(a_test(held=1.0, power=1.0))
    assert found.cause == "memory"
    assert found.lost is None


def test_the_interval_spans_what_trials_differ_by():
    hot = [
        a_pass(n, kind, hot=True, core_c=70.0, held=1.0, rate=870e9 * (0.80 + 0.02 * n))
        for n in range(TRIALS)
        for kind in KINDS[:1]
    ]
    cold = [a_pass(n, KINDS[0], hot=False, core_c=45.0 + n) for n in range(TRIALS)]
    lost = seen([*cold, *hot]).lost
    assert lost.low == pytest.approx(1.0 - 0.94)
    assert lost.high == pytest.approx(1.0 - 0.80)
