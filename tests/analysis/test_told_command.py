"""A session tells a command so that its reader knows which one it was, and no more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.told_command import HIDDEN, MOST_WORD, MOST_WORDS, told_command, told_line


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("python", "train.py", "--lr", "3e-4"), ("python", "train.py", "--lr", "3e-4")),
        (("/home/ann/env/bin/python", "/home/ann/work/train.py"), ("python", "train.py")),
        (("./run.sh", "data/set", "~/models"), ("./run.sh", "data/set", "models")),
        (("train", "--data=/mnt/ann/imagenet"), ("train", "--data=imagenet")),
        (("C:\\Users\\ann\\python.exe", "x"), ("python.exe", "x")),
        (("train", "--api-key", "s3cret", "--steps", "9"), ("train", "--api-key", HIDDEN, "--steps", "9")),
        (("env", "WANDB_API_KEY=s3cret", "train"), ("env", f"WANDB_API_KEY={HIDDEN}", "train")),
        (("train", "--hf_token=s3cret"), ("train", f"--hf_token={HIDDEN}")),
        (("train", "https://ann:s3cret@hub.example/set"), ("train", "https://hub.example/set")),
        (("/",), ("/",)),
        (("python", "-c", "import x\n  y()"), ("python", "-c", "import x y()")),
    ],
)
def test_secrets_and_folders_stay_out(argv, told):
    assert told_command(argv) == told


def test_long_words_and_long_lists_are_cut():
    (word,) = told_command(("x" * 500,))
    assert len(word) == MOST_WORD
    assert word.endswith("…")
    assert len(told_command(["x"] * 500)) == MOST_WORDS + 1


def test_a_line_shows_which_words_belong_together():
    assert told_line(("sh", "-c", "echo hi; exit 3", "")) == "sh -c 'echo hi; exit 3' ''"
    assert told_line(("python", "-c", "print('x')")) == "python -c \"print('x')\""


SECRET = "s3cretVALUE"


@given(
    st.lists(st.text(max_size=20).filter(lambda word: SECRET not in word), max_size=5),
    st.sampled_from(["--token", "--api-key", "--PASSWORD", "-auth"]),
    st.sampled_from([" ", "="]),
)
def test_what_follows_a_secrets_name_is_never_told(others, name, between):
    words = [name, SECRET] if between == " " else [f"{name}={SECRET}"]
    assert SECRET not in " ".join(told_command([*others, *words]))
