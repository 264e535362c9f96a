"""``contend``: how its options become a spec, and what is refused in a sentence."""

import shlex

import pytest

from gputuner.cli.contention import modes_of, percentages_of, priorities_of
from gputuner.cli.contention_commands import parse
from gputuner.cli.contention_results import whole
from gputuner.experiments.contention import Contend
from gputuner.model.advice import Question
from gputuner.model.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "no built-in training nothing"),
        (("edsr:batch=0",), "batch"),
        (("edsr:colour=red",), "no setting colour"),
        (("edsr", "bert", "--jobs", "2"), "--jobs"),
        (("edsr", "--jobs", "1"), "--jobs"),
        (("edsr", "--max-jobs", "99"), "--max-jobs"),
        (("edsr", "--mode", "threads"), "no mode threads"),
        (("edsr", "--mode", ","), "processes, mps, streams"),
        (("edsr", "--mode", "mps", "--thread-percentage", "many"), "percentage"),
        (("edsr", "--thread-percentage", "50"), "mps"),
        (("edsr", "--priority", "low"), "high or normal"),
        (("edsr", "--priority", "high"), "streams"),
        (("edsr", "--matrix"), "two or more"),
        (("edsr", "bert", "--matrix", "--jobs", "2"), "--jobs"),
        (("edsr", "--null", "--causes"), "--causes"),
        (("edsr", "--yes"), "--command"),
        (("edsr", "--mps-commands"), "--command"),
        (("edsr", "--users-mps"), "--mode mps"),
        (("edsr", "--jobs", "0"), "--jobs"),
        (("missing.py:make",), "no file missing.py"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(program, words, said):
    told = program("contend", *words)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_without_a_job_it_is_the_default_of_tune(program):
    program("contend")
    spec = program.setup.started[0][0]
    assert (spec.jobs, spec.count, spec.modes, spec.minutes) == (("resnet50",), 0, ("processes",), 4.0)


def test_options_reach_the_spec(program):
    program(
        "contend", "edsr:batch=4", "bert", "--mode", "streams,mps", "--priority", "high,normal", "--thread-percentage",
        "30,70", "--causes", "--fixed-batch",
    )  # fmt: skip
    spec = program.setup.started[0][0]
    assert (spec.jobs, spec.modes) == (("edsr:batch=4", "bert"), ("streams", "mps"))
    assert (spec.priorities, spec.thread_percentages) == ((-1, 0), (30, 70))
    assert (spec.causes, spec.fixed_batch, spec.minutes) == (True, True, 10.0)


@pytest.mark.parametrize(
    "more", ["--mode processes,mps,streams", "--causes", "--mode streams --priority high", "--fixed-batch", ""]
)
def test_the_commands_of_questions_exist(program, more):
    told = program("contend", "edsr:batch=16", "--jobs", "3", *more.split(), "--minutes", "10")
    assert told.code == 0, told.err
    assert program.setup.started[-1][0].minutes == 10.0


def test_ways_of_sharing_are_each_taken_once():
    assert modes_of(" mps, processes,mps") == ("mps", "processes")


@pytest.mark.parametrize("text", ["-5", "5.5", "½", "x"])
def test_a_percentage_is_a_whole_number(text):
    with pytest.raises(UsageError):
        percentages_of(text)
    assert percentages_of("") == priorities_of("") == ()


def test_what_runs_it_again_is_the_same_command_on_the_terminal():
    argv = ("python", "/home/alice/train.py", "--note", "x" * 80)
    spec = Contend(jobs=("edsr",), commands=(argv,))
    asked = Question(id="contend_causes", card="c", command=f"gputuner --cli {spec.command()} --causes")
    assert "/home/alice" not in asked.command
    told = shlex.split(whole(asked, spec.commands).command)
    assert parse([told[told.index("--command") + 1]]) == (argv,)
