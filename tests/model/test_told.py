"""What may be told of where the user's files lie."""

import pytest

from gputuner.model.steps import told_recipe, told_spec

HOME = "/home/alice/secret"


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        ("mine.py:make", "mine.py:make"),
        ("train/mine.py:make", "train/mine.py:make"),
        ("../mine.py:make", "../mine.py:make"),
        ("package.training:make", "package.training:make"),
        (f"{HOME}/mine.py:make", "mine.py:make"),
        (f"{HOME}/train/mine.py:make", "train/mine.py:make"),
        ("/mnt/bob/mine.py:make", "mine.py:make"),
        ("~/secret/mine.py:make", "mine.py:make"),
        (r"C:\Users\alice\mine.py:make", "mine.py:make"),
    ],
)
def test_a_recipe_is_told_without_where_it_lies(recipe, told):
    assert told_recipe(recipe, HOME) == told
    assert told_spec({"recipe": recipe, "folder": HOME, "minutes": 4.0}) == {"recipe": told, "minutes": 4.0}


def test_a_spec_without_a_recipe_stays_as_it_is():
    assert told_spec({"workload": "bert", "recipe": ""}) == {"workload": "bert", "recipe": ""}
    assert told_spec({"minutes": 5.0}) == {"minutes": 5.0}
