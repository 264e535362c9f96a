"""Recording only watches."""

import pytest

from gputuner.experiments.record import Record
from gputuner.model.errors import UsageError
from gputuner.model.steps import Done, Total, Watch


def steps(plan):
    told = [next(plan)]
    while True:
        try:
            told.append(plan.send(Done()))
        except StopIteration:
            return told


def test_a_given_time_is_watched_once(lab):
    context = lab.context_of(lab.h200())
    assert steps(Record(duration_s=30.0).plan(context)) == [
        Total(steps=1, expected_s=30.0),
        Watch(label="record", duration_s=30.0),
    ]
    assert Record(duration_s=30.0).expected_s() == 30.0


def test_without_a_time_until_stopped(lab):
    assert steps(Record().plan(lab.context_of(lab.h200()))) == [Watch(label="record", duration_s=None)]
    assert Record().expected_s() > 365 * 86400


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e12, float("nan")])
def test_a_time_that_makes_no_sense(seconds):
    with pytest.raises(UsageError):
        Record(duration_s=seconds)
