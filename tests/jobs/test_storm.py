"""Runners killed at random while jobs start and end: nothing runs twice, is lost, or is given memory twice."""

from tests.jobs.storm import storm

KILLS = 3
"""Fewer are no storm: a machine that is busy elsewhere may let a runner end before anybody kills it."""


def test_killing_the_runner_again_and_again_loses_and_repeats_nothing(tmp_path):
    kills = 0
    for seed in range(20, 30):
        folder = tmp_path / str(seed)
        found = storm(folder / "data", folder / "cards", jobs=24, cards=4, seed=seed)
        assert found.faults == []
        assert found.overflows == 0
        assert sum(found.states.values()) == 24
        kills += found.kills
        if kills >= KILLS:
            break
    assert kills >= KILLS
