"""The window's part of the command line."""

from pathlib import Path

import pytest

from gputuner.gui.options import WindowOptions, parse
from gputuner.gui.theme import Choice
from gputuner.model.errors import UsageError


def test_nothing_is_the_plain_window():
    assert parse([]) == WindowOptions()


def test_everything():
    words = (
        "--simulate rtx-4090-48g --simulate rtx-3090 --lang zh_CN --theme dark --screenshots out --data-dir d "
        "--minutes 2.5 --memory-cap=4 --gpu 1 --share --python /env/bin/python a.sqlite"
    )
    assert parse(words.split()) == WindowOptions(
        gpu="1",
        share=True,
        memory_cap_gib=4.0,
        minutes=2.5,
        simulate=("rtx-4090-48g", "rtx-3090"),
        data_dir=Path("d"),
        python=Path("/env/bin/python"),
        language="zh_CN",
        theme=Choice.DARK,
        screenshots=Path("out"),
        files=(Path("a.sqlite"),),
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--nope", "option_unknown"),
        ("--lang", "option_needs_value"),
        ("--lang fr", "option_value"),
        ("--minutes -1", "option_out_of_range"),
        ("--minutes soon", "option_out_of_range"),
        ("--memory-cap nan", "option_out_of_range"),
    ],
)
def test_bad_words_are_refused(words, code):
    with pytest.raises(UsageError) as caught:
        parse(words.split())
    assert caught.value.code == code
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("words", [["--data-dir", ""], ["--python="], ["--replay", " "], ["--screenshots", ""]])
def test_an_empty_value_is_refused(words):
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert (caught.value.code, caught.value.exit_code) == ("option_empty", 2)


def test_an_empty_file_name_is_refused():
    with pytest.raises(UsageError) as caught:
        parse([""])
    assert caught.value.code == "argument_empty"
