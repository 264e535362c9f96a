"""Commands of ``contend``: read as words, and nothing starts before it was said what will be done with them."""

import io

import pytest

from gputuner.cli.contention_commands import confirm, parse
from gputuner.cli.output import Output
from gputuner.model.errors import UsageError

TRAIN = ("python", "train.py", "--token", "hunter2")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def output():
    return Output(out=io.StringIO(), err=io.StringIO())


def test_words_are_read_as_a_shell_would_without_a_shell():
    assert parse(['python "my train.py" --lr 1e-3', "sh -c 'a | b'"]) == (
        ("python", "my train.py", "--lr", "1e-3"),
        ("sh", "-c", "a | b"),
    )


@pytest.mark.parametrize(
    ("text", "code"), [("  ", "contend_command_empty"), ('python "train.py', "contend_command_line")]
)
def test_what_cannot_be_a_command_is_refused(text, code):
    with pytest.raises(UsageError) as caught:
        parse([text])
    assert caught.value.code == code


def test_before_anything_starts_it_is_said_how_often_and_how_it_ends(output):
    assert confirm(output, [TRAIN], 4.0, yes=True)
    said = output.err.getvalue()
    assert "started 3 times or more" in said
    assert "SIGTERM" in said
    assert "hunter2" not in said
    assert "same files" not in said


def test_copies_of_one_command_are_warned_of(output):
    assert confirm(output, [TRAIN, TRAIN], 4.0, yes=True)
    assert "not write to the same files" in output.err.getvalue()


@pytest.mark.parametrize(
    ("answer", "goes_on"), [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_at_a_terminal_it_is_asked(output, answer, goes_on):
    assert confirm(output, [TRAIN, ("./run.sh",)], 4.0, yes=False, asked=Terminal(answer)) is goes_on


def test_without_a_terminal_nothing_starts_unless_it_was_said(output):
    with pytest.raises(UsageError) as caught:
        confirm(output, [TRAIN], 4.0, yes=False, asked=io.StringIO("y\n"))
    assert caught.value.code == "contend_needs_yes"
