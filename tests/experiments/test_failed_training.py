"""A training's own error: its owner's frames, without where the files lie."""

from gputuner.experiments.failed_training import own_frames

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
