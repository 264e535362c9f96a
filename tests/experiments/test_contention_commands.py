"""Commands as jobs of a mix: their names, what is refused, and what is said where one fails."""

import pytest

from gputuner.experiments.contention_commands import check_commands, command_jobs, tell_command, tell_rate_unknown
from gputuner.model.errors import ExitCode, UsageError, UserCodeError
from gputuner.model.steps import Trial, UserCodeFailed, Warn


class Course:
    """The part of a course that tells."""

    def __init__(self):
        self.said = set()

    def first(self, what):
        new = what not in self.said
        self.said.add(what)
        return new

    def warn(self, code, **params):
        yield Warn(code=code, params=params)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("python", "-u", "/home/ann/train.py", "--lr", "1"), "train.py"),
        (("torchrun", "--nproc-per-node", "2", "src/train.py"), "train.py"),
        (("/usr/bin/python3.12", "-m", "pkg.train", "x.py"), "pkg.train"),
        (("./run.sh",), "run.sh"),
        (("python", "a+b:c d.py"), "a_b_c_d.py"),
        (("/opt/tool/bin/trainer", "go"), "trainer"),
    ],
)
def test_a_command_is_named_by_its_script(argv, name):
    (job,) = command_jobs([argv])
    assert job.name == job.label == name


def test_alike_commands_bear_one_name_and_others_of_the_same_script_another():
    commands = [("python", "train.py"), ("python", "train.py", "--big"), ("python", "train.py")]
    jobs = command_jobs(commands)
    assert [job.name for job in jobs] == ["train.py", "train.py#2", "train.py"]
    assert [job.number for job in jobs] == [1, 2, 3]
    work = jobs[1].work("contend_alone", 4.0, idle=1)
    assert (work.runtime, work.params, work.idle) == ("command", {"command": 2}, 1)
    assert work.measure_s >= 4.0


@pytest.mark.parametrize(
    ("modes", "mps_commands", "code"),
    [(("streams",), False, "contend_command_streams"), (("processes", "mps"), False, "contend_command_mps")],
)
def test_modes_that_a_command_cannot_have_unasked_are_refused(modes, mps_commands, code):
    with pytest.raises(UsageError) as caught:
        check_commands([("python", "train.py")], modes, mps_commands=mps_commands)
    assert caught.value.code == code
    check_commands([], modes, mps_commands=False)


def test_under_mps_once_its_danger_was_accepted():
    check_commands([("python", "train.py")], ("mps",), mps_commands=True)


@pytest.mark.parametrize("reason", ["command_failed", "command_ended", "command_not_started"])
def test_one_that_fails_alone_ends_the_run_with_its_last_lines(reason):
    failed = UserCodeFailed(message="exit code 3", traceback="epoch 1\nKeyError: 'x'", reason=reason)
    with pytest.raises(UserCodeError) as caught:
        list(tell_command(Course(), "train.py", failed, 1))
    assert caught.value.exit_code == ExitCode.USER_CODE
    assert caught.value.code == f"contend_{reason}"
    assert caught.value.params["where"] == "epoch 1\nKeyError: 'x'"


def test_one_that_fails_only_beside_others_is_told_and_the_run_goes_on():
    failed = UserCodeFailed(message="exit code 3", traceback="epoch 1\nKeyError: 'x'", reason="command_failed")
    (warned,) = tell_command(Course(), "train.py", failed, 2)
    assert warned.code == "command_ended_beside"
    assert warned.params == {"command": "train.py", "how": "exit code 3", "last": "KeyError: 'x'", "jobs": 2}


def test_an_unknown_rate_is_told_once():
    (job,) = command_jobs([("./run.sh",)])
    course, blank = Course(), Trial(iteration_s=(), t0_ns=0, t1_ns=1)
    assert [warned.code for warned in tell_rate_unknown(course, job, blank)] == ["command_rate_unknown"]
    assert list(tell_rate_unknown(course, job, blank)) == []
    assert list(tell_rate_unknown(course, job, Trial(iteration_s=(0.1,), t0_ns=0, t1_ns=1))) == []
