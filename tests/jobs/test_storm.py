"""Runners killed at random while jobs start and end: nothing runs twice, is lost, or is given memory twice."""

from tests.jobs.storm import storm


def test_killing_the_runner_again_and_again_loses_and_repeats_nothing(tmp_path):
    found = storm(tmp_path / "data", tmp_path / "cards", jobs=24, cards=4, seed=20)
    assert found.faults == []
    assert found.kills >= 3
    assert found.overflows == 0
    assert sum(found.states.values()) == 24
