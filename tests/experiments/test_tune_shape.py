"""The plan shrinks to its minutes, the least valuable first."""

import pytest

from gputuner.experiments.tune_shape import USABLE, full_shape, shape_for


@pytest.mark.parametrize("cpu", [True, False])
def test_the_full_run_fits_five_minutes(lab, cpu):
    context = lab.context_of(lab.h200(), cpu=cpu)
    assert shape_for(context) == full_shape(context)
    assert full_shape(context).expected_s() <= 300 * USABLE


@pytest.mark.parametrize("cpu", [True, False])
@pytest.mark.parametrize("minutes", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_smaller_budgets_are_kept_and_never_grow_a_part(lab, cpu, minutes):
    context = lab.context_of(lab.h200(), cpu=cpu, minutes=minutes)
    shape, full = shape_for(context), full_shape(context)
    assert shape.expected_s() <= 60 * minutes * USABLE
    assert shape.sustained_s <= full.sustained_s
    assert set(shape.trainings) <= set(full.trainings)
    assert len(shape.trainings) >= 2, "without a second format there is no advice on formats"
    assert shape.matmuls


def test_more_minutes_lengthen_the_sustained_load(lab):
    """Heat takes minutes to settle."""
    shape = shape_for(lab.context_of(lab.h200(), minutes=15.0))
    assert shape.sustained_most_s >= 8 * 60
    assert shape.trainings == full_shape(lab.context_of(lab.h200())).trainings


def test_the_burst_of_the_best_format_outlives_the_second_training_at_once(lab):
    shape = shape_for(lab.context_of(lab.h200(), minutes=2.0))
    assert shape.together_s == 0.0
    assert shape.bursts
