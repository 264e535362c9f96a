"""A training's own error: its owner's frames, without where the files lie."""

import pytest

from gputuner.experiments.failed_training import own_frames, told_words

TRACEBACK = """Traceback (most recent call last):
  File "/home/alice/gputuner/gputuner/workloads/bodies/trial.py", line 12, in _run
    body = make()
  File "/home/alice/secret/mine.py", line 3, in make
    model(torch.ones(3))
  File "/home/alice/envs/train/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1773, in _call
    return forward(*args)
  File "C:\\\\Users\\\\alice\\\\mine.py", line 7, in forward
    raise ValueError("no data")
ValueError: no data
"""


def test_the_owners_frames_without_folders():
    assert own_frames(TRACEBACK) == (
        '  File "mine.py", line 3, in make\n    model(torch.ones(3))\n'
        '  File "torch/nn/modules/module.py", line 1773, in _call\n    return forward(*args)\n'
        '  File "mine.py", line 7, in forward\n    raise ValueError("no data")\nValueError: no data'
    )


def test_an_error_of_the_recipe_itself_is_told_in_its_words():
    own = "gputuner.workloads.bodies.recipe.RecipeError: "
    frame = '  File "/x/gputuner/workloads/bodies/recipe.py", line 1, in load\n    raise RecipeError\n'
    assert own_frames(f"Traceback\n{frame}{own}mine.py has no function 'make'\n") == "mine.py has no function 'make'"
    assert own_frames("ValueError: no data") == ""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("/home/ann/venv/bin/python: can't open file '/home/ann/x/train.py': [Errno 2]",
         "python: can't open file 'train.py': [Errno 2]"),
        ('  File "/home/ann/thesis/train.py", line 3', '  File "train.py", line 3'),
        ('  File "/v/lib/python3.11/site-packages/torch/nn/linear.py", line 9', '  File "torch/nn/linear.py", line 9'),
        ("no data in ~/data/imagenet/train", "no data in train"),
        (r"C:\Users\ann\train.py: no", "train.py: no"),
        ("see https://pytorch.org/docs/stable/notes and 3/4 of 1.5 it/s", None),
        ("ratio a/b/c, and/or", None),
    ],
)  # fmt: skip
def test_what_a_program_wrote_is_told_without_folders(written, told):
    assert told_words(written) == (written if told is None else told)
