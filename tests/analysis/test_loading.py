"""Before a training: which loader to try, which to take, and what that gains."""

import pytest

from gputuner.analysis.loading import (
    at_knee,
    chosen,
    enough,
    epoch_saving,
    refined,
    starvation,
)


def test_the_knee_of_the_training_or_of_the_loader():
    assert at_knee({0: 100.0, 1: 490.0}, {0: 100.0, 1: 900.0}, 495.0)
    rising = {1: 100.0, 2: 199.0, 4: 390.0}
    assert not at_knee(rising, rising, 2000.0)
    flat = {1: 410.0, 4: 415.0, 8: 412.0}
    assert at_knee(flat, flat, 2000.0), "c062: more processes do not help"
    contended = {2: 300.0, 4: 301.0}
    assert not at_knee(contended, {2: 200.0, 4: 390.0}, 400.0)
    assert at_knee(contended, {2: 500.0, 4: 950.0}, 400.0)
    assert not at_knee({0: 90.0}, {0: 90.0}, 400.0)


def test_the_fewest_processes_near_the_best_are_taken_and_the_gap_below_is_tried():
    fed = {0: 100.0, 1: 180.0, 2: 350.0, 4: 640.0, 8: 990.0, 16: 1000.0}
    assert chosen(fed) == 8
    assert refined(fed) == 6
    assert refined({**fed, 6: 985.0}) == 5
    assert refined({**fed, 7: 700.0}) is None
    assert refined({0: 1.0, 1: 2.0}) is None
    assert refined({4: 1.0}) is None
    with pytest.raises(ValueError, match="no rates"):
        chosen({})


def test_starvation_is_what_the_loader_costs():
    assert starvation(750.0, 1000.0) == 0.25
    assert starvation(1010.0, 1000.0) == 0.0
    assert enough(985.0, 1000.0)
    assert not enough(970.0, 1000.0)


def test_kept_processes_save_their_start_once_an_epoch():
    assert epoch_saving(5.0, 1.0, 75.0) == pytest.approx(4.0 / 80.0)
    assert epoch_saving(1.0, 2.0, 75.0) == 0.0
