"""What may be told of where the user's files lie."""

from types import SimpleNamespace

import pytest

from gputuner.model.steps import private_folders, told_recipe, told_spec, without_folders

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


@pytest.mark.parametrize(
    ("recipe", "folder", "private"),
    [
        ("mine.py:make", HOME, (HOME,)),
        ("train/mine.py:make", HOME, (f"{HOME}/train", HOME)),
        ("/mnt/bob/mine.py:make", HOME, (HOME, "/mnt/bob")),
        ("package.training:make", HOME, (HOME,)),
        ("", HOME, ()),
        ("mine.py:make", ".", ()),
        ("mine.py:make", "/", ()),
    ],
)
def test_folders_that_are_private(recipe, folder, private):
    assert private_folders(SimpleNamespace(recipe=recipe, folder=folder)) == private


def test_no_text_names_them():
    text = f'File "{HOME}/mine.py", line 3: [Errno 2] No such file: {HOME}/data/x.pt; {HOME}2/y'
    assert without_folders(text, (HOME,)) == f'File "mine.py", line 3: [Errno 2] No such file: data/x.pt; {HOME}2/y'
