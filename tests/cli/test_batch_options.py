"""Options of ``batch`` that do nothing in the question asked are refused with one sentence."""

import pytest

from gputuner.cli.batch import GOES_WITH

VALUES = {"--precision": ("bf16",), "--effective-batch": ("64",), "--largest-batch": ("64",), "--batch-size": ("64",)}
QUESTIONS = ("", "--limit-only", "--loader", "--switches", "--numerics")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("option", list(GOES_WITH))
def test_an_option_that_does_nothing_is_refused(program, option, question):
    recipe = ("--recipe", "mine.py:make") if option == "--images" else ()
    asked = [question] if question else []
    told = program("batch", *asked, *recipe, option, *VALUES.get(option, ()), "--dry-run")
    if question in GOES_WITH[option]:
        assert told.code == 0, told.err
    else:
        assert told.code == 2
        assert option in told.err


@pytest.mark.parametrize("option", ["--effective-batch", "--largest-batch", "--batch-size"])
@pytest.mark.parametrize("value", ["0", "-3", "1048577"])
def test_a_size_out_of_range_is_refused_by_the_options_name(program, option, value):
    told = program("batch", f"{option}={value}")
    assert told.code == 2
    assert option in told.err
    assert "between 1 and 1048576" in told.err


def test_images_say_nothing_of_a_built_in(program):
    told = program("batch", "gpt", "--images")
    assert told.code == 2
    assert "--recipe" in told.err


@pytest.mark.parametrize(("said", "asked"), [((), 0), (("--effective-batch", "256"), 256)])
def test_an_effective_batch_that_is_the_usual_one_counts_as_asked_for_where_it_was_said(program, said, asked):
    program("batch", *said)
    assert program.setup.started[0][0].effective_batch == asked
