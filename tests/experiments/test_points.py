"""Trials become points."""

from dataclasses import replace

import pytest

from gputuner.experiments.points import PointMaker, trial_flags
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading
from gputuner.model.steps import Trial


def trial(*iteration_s: float, **more) -> Trial:
    return Trial(iteration_s=iteration_s, t0_ns=0, t1_ns=int(sum(iteration_s) * 1e9), **more)


@pytest.fixture
def make(lab):
    return PointMaker(lab.context_of(lab.h200()))


def test_rate_is_work_over_the_median_iteration_and_the_spread_is_in_its_unit(make):
    point = make.rate("m", "w", "FLOP/s", 12.0, trial(1.0, 2.0, 4.0), None, {"n": 1})
    assert point.value == point.spread.median == 6.0
    assert point.spread.n == 3
    assert point.spread.iqr == pytest.approx(4.5)
    assert set(point.flags) == {Flag.NO_TELEMETRY, Flag.SPREAD, Flag.FEW_SAMPLES}


def test_ids_are_unique_and_name_the_metric(make):
    first, second = (make.figure("m", "w", 1.0, "", {}) for _ in range(2))
    assert (first.id, second.id) == ("m-1", "m-2")


def test_what_the_worker_and_the_telemetry_say_becomes_flags():
    told = trial_flags(
        trial(1.0, steady=False, too_slow=True, notes={"emulated": True}),
        Conditions(duration_s=1.0, samples=2, limited_s={Limiter.POWER: 0.5, Limiter.THERMAL_SOFTWARE: 0.1}),
    )
    assert set(told) == {
        Flag.NOT_STEADY, Flag.TOO_SLOW, Flag.EMULATED, Flag.THROTTLED_POWER, Flag.THROTTLED_THERMAL,
    }  # fmt: skip


def test_shared_cards_mark_every_point(lab):
    make = PointMaker(lab.context_of(lab.h200(), shared=True))
    assert make.figure("m", "w", 1.0, "", {}).flags == (Flag.SHARED,)


def test_energy_per_sample_from_five_seconds_on(make):
    """700 W at 2 steps of 128 samples a second: 700/256 J each."""
    long = make.rate("m", "w", "", 128.0, trial(*[0.5] * 20), Conditions(duration_s=10.0, energy_j=7000.0), {})
    assert long.extra["joules_per_unit"] == pytest.approx(700 / 256)
    short = make.rate("m", "w", "", 128.0, trial(*[0.5] * 4), Conditions(duration_s=2.0, energy_j=1400.0), {})
    assert "joules_per_unit" not in short.extra


def test_the_part_that_counts_can_be_named(make):
    point = make.rate("m", "w", "", 1.0, trial(1.0, 1.0, 0.5, 0.5), None, {}, iteration_s=(0.5, 0.5))
    assert point.value == 2.0


@pytest.mark.parametrize(
    ("generation", "width", "flagged"),
    [(5, 16, False), (4, 16, True), (5, 8, True), (None, 8, True), (None, None, False)],
)
def test_a_link_below_what_the_card_can_do_is_flagged(lab, generation, width, flagged):
    context = lab.context_of(lab.h200())
    readings = {"pcie_generation_max": Reading(value=5), "pcie_width_max": Reading(value=16)}
    context = replace(context, card=replace(context.card, readings={**context.card.readings, **readings}))
    seen = Conditions(duration_s=6.0, samples=12, pcie_generation=generation, pcie_width=width)
    point = PointMaker(context).rate("m", "w", "", 1.0, trial(*[0.5] * 12), seen, {})
    assert (Flag.LINK_BELOW_MAX in point.flags) is flagged
