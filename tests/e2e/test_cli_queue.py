"""The queue from end to end: real runners, real supervisors, real commands."""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass

import pytest

from gputuner.assembly.queue import open_queue
from gputuner.jobs.lease import RunnerLease
from gputuner.jobs.log_cap import first_line
from gputuner.model.errors import CardBusy
from gputuner.model.jobs import JobState, Request

pytestmark = pytest.mark.e2e
SH = ("sh", "-c")
CARD = ("--simulate", "rtx-4090-48g")


def until(fact):
    """Wait for a fact."""
    end = time.monotonic() + 600.0
    while time.monotonic() < end:
        if found := fact():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


@dataclass(frozen=True)
class Answer:
    """What one command line came to."""

    code: int
    out: str
    err: str

    @property
    def jobs(self):
        """The jobs of its document by id."""
        return {job["id"]: job for job in json.loads(self.out)["jobs"]}


@pytest.fixture
def here(tmp_path, capsys):
    """The command line in this process, which starts faster; options of ours stand before ``--``."""
    from gputuner.cli.app import main

    def run(*words):
        place = words.index("--") if "--" in words else len(words)
        code = main([*words[:place], "--data-dir", str(tmp_path / "data"), "--lang", "en", *words[place:]])
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return run


def test_a_list_is_run_to_its_end_in_order_with_logs_and_codes(here):
    added = here("queue", "add", "--name", "one", "--json", "--", *SH, "echo hello; exit 0")
    assert added.jobs[1]["state"] == "waiting"
    here("queue", "add", "--array", "1-2", "--", *SH, "echo index {index} is $GPUTUNER_ARRAY_INDEX")
    here("queue", "add", "--after", "1", "--retry", "1", "--", *SH, "echo oh no; exit 3")
    assert "Nobody serves" in here("queue", "list").out
    ran = here("queue", "run", "--until-empty", "--slots", "2")
    assert ran.code == 6, ran.err
    assert "oh no" in ran.err
    found = here("queue", "list", "--json").jobs
    assert [found[each]["state"] for each in (1, 2, 3, 4)] == ["done", "done", "done", "failed"]
    assert (found[4]["attempt"], found[4]["exit_code"], found[4]["tail"]) == (2, 3, "oh no")
    assert here("queue", "log", "3").out == "index 2 is 2\n"
    assert here("queue", "cancel", "4").code == 2
    assert here("queue", "retry", "4").code == 0
    assert here("queue", "list", "--json").jobs[4]["state"] == "waiting"
    assert here("queue", "cancel", "4").code == 0
    assert here("queue", "run", "--until-empty").code == 0


def test_can_never_fit_is_said_when_it_is_added(here):
    ended = here("queue", "add", "--memory", "82", *CARD, "--", "true")
    assert ended.code == 5
    assert "can never fit" in ended.err
    assert here("queue", "add", "--cards", "2", *CARD, "--", "true").code == 5
    assert here("queue", "add", "--memory", "40", *CARD, "--", "true").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "--"), "nothing to run"),
        (("add", "--memory", "-1", "--", "true"), "--memory"),
        (("add", "--memory", "x", "--", "true"), "--memory"),
        (("add", "--cards", "0", "--", "true"), "--cards"),
        (("add", "--timeout", "soon", "--", "true"), "write a time as"),
        (("add", "--after", "a", "--", "true"), "names no jobs"),
        (("add", "--after", "7", "--memory", "0.1", "--", "true"), "no job 7"),
        (("add", "--array", "5-1", "--", "true"), "names no indices"),
        (("add", "--array", "1-10001", "--", "true"), "more than 10000"),
        (("add", "--array", "1-9000,10000-19000", "--", "true"), "more than 10000"),
        (("add", "--alone", "--share", "--", "true"), "--share"),
        (("add", "--on-reboot", "maybe", "--", "true"), "--on-reboot"),
        (("add", "--folder", "/no/such/folder", "--", "true"), "/no/such/folder"),
        (("add", "true"), "Write -- before the command"),
        (("add", "python", "train.py", "--lr", "1"), "Write -- before the command"),
        (("cancel", "9"), "no job 9"),
        (("retry", "x-y"), "names no jobs"),
        (("log", "1-2"), "takes one"),
        (("move", "1,2", "--first"), "takes one"),
        (("move", "1"), "--before"),
        (("run", "--slots", "0"), "--slots"),
        (("run", "--slowdown", "0.5"), "--slowdown"),
    ],
)
def test_bad_input_is_refused_in_words(words, said, here):
    answer = here("queue", *words)
    assert answer.code in (2, 127)
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_help_says_what_common_options_mean_to_the_queue(here):
    told = " ".join(here("queue", "add", "--help").out.split())
    assert "expected to run" in told
    assert "never measured, if they may too" in told
    assert "Experiments:" not in told
    assert "--dry-run" not in told
    told = here("queue", "list", "--help").out
    assert "--minutes" not in told
    assert "--json" in told


def test_nothing_secret_is_told(here, monkeypatch):
    monkeypatch.setenv("QUEUE_SECRET", "hush-environment")
    here("queue", "add", "--memory", "0.1", "--", "train", "--token", "hush-word")
    told = here("queue", "list", "--json").out + here("queue", "list", "--all").out
    assert "hush" not in told
    assert "***" in told
    long = "x" * 100
    added = here("queue", "add", "--memory", "0.1", "--json", "--", "sh", "-c", f"export A=1 HF_TOKEN=hush {long}")
    assert added.jobs[2]["command"] == ["sh", "-c", f"export A=1 HF_TOKEN=*** {long}"]
    assert "hush" not in here("queue", "list").out


def test_simulated_cards_share_out_a_list(here):
    here("queue", "add", "--memory", "5", "--array", "1-4", *CARD, *CARD, "--", *SH, "echo $CUDA_VISIBLE_DEVICES")
    ran = here("queue", "run", "--until-empty", "--json", "--share", *CARD, *CARD)
    assert ran.code == 0, ran.err
    assert "simulated" in ran.err
    assert sorted(ran.jobs) == [1, 2, 3, 4]
    for number, job in ran.jobs.items():
        assert here("queue", "log", str(number)).out.strip() == job["cards"][0]


def test_the_log_is_shown_whole_by_its_last_lines_and_as_part_of_a_document(here, tmp_path, monkeypatch):
    here("queue", "add", "--", *SH, r"printf 'one\033[2J\ntwo\n 10 %%\r100 %%'")
    here("queue", "run", "--until-empty", "--slots", "1")
    assert here("queue", "log", "1").out == "one[2J\ntwo\n100 %\n"
    assert here("queue", "log", "1", "--lines", "2").out == "two\n100 %\n"
    assert here("queue", "log", "1", "--follow").out.startswith("one[2J\ntwo\n100 %")
    found = json.loads(here("queue", "log", "1", "--json", "--lines", "1").out)
    assert (found["log"], found["log_bytes"]) == ("100 %", 23)
    assert json.loads(here("queue", "list", "--json").out)["logs"]["bytes"] == 23
    monkeypatch.setattr("gputuner.cli.queue.LOGS_BYTES", 23)
    assert str(tmp_path / "data" / "queue" / "logs") in "".join(here("queue", "list").err.split("\n"))
    log = tmp_path / "data" / "queue" / "logs" / "1.1.log"
    log.write_bytes(first_line(3 << 30, 64 << 20) + b"the rest\n")
    shown = here("queue", "log", "1")
    assert shown.out.endswith("the rest\n")
    assert "3 GiB" in shown.err
    assert json.loads(here("queue", "log", "1", "--json").out)["log_cut_bytes"] == 3 << 30
    log.unlink()
    assert here("queue", "log", "1").out == ""


def test_nobody_invented_takes_memory_of_a_simulated_card(here):
    here("queue", "add", "--memory", "45", *CARD, "--", *SH, "exit 0")
    ran = here("queue", "run", "--until-empty", "--json", *CARD)
    assert ran.jobs[1]["state"] == "done"
    assert "train.py" not in ran.err
    assert "waits" not in ran.err


def test_the_runner_may_end_be_killed_and_come_back_while_a_job_runs(fresh, tmp_path):
    go = tmp_path / "go"
    script = f"echo begun; while [ ! -e {go} ]; do sleep 0.02; done; echo over"
    queue = open_queue(fresh.data_dir)
    (job,) = queue.add(Request(command=(*SH, script), folder="/", environment=dict(os.environ)), ())
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = fresh.start("queue", "run", **quiet)
    until(lambda: queue.job(job.id).state is JobState.RUNNING)
    with pytest.raises(CardBusy):
        RunnerLease(fresh.data_dir)
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=600) == 0
    assert queue.job(job.id).state is JobState.RUNNING
    second = fresh.start("queue", "run", **quiet)
    until(queue.runner)
    second.kill()
    second.wait()
    following = fresh.start("queue", "log", "1", "--follow", stdout=subprocess.PIPE)
    queue.start_runner()
    go.touch()
    assert following.communicate(timeout=600)[0] == "begun\nover\n"
    until(lambda: queue.job(job.id).state is JobState.DONE)
    queue.stop_runner()
    assert queue.runner() is None
    assert queue.job(job.id).attempt == 1


def test_ctrl_c_ends_the_serving_and_cancel_a_running_job(fresh):
    queue = open_queue(fresh.data_dir)
    (job,) = queue.add(Request(command=("sleep", "1000"), folder="/", environment=dict(os.environ)), ())
    serving = fresh.start("queue", "run", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: queue.job(job.id).state is JobState.RUNNING)
    queue.cancel(job.id)
    until(lambda: queue.job(job.id).state is JobState.CANCELLED)
    serving.send_signal(signal.SIGINT)
    assert serving.wait(timeout=600) == 130


def test_an_alert_that_meets_a_job_is_told_and_stands_in_a_session(here, tmp_path):
    here("alerts", "set", "temperature", "30", "--for", "0")
    here("alerts", "notify", "off")
    script = f"for i in $(seq 2000); do ls {tmp_path}/data/sessions/*.sqlite && exit 0; sleep 0.1; done; exit 1"
    here("queue", "add", "--memory", "5", *CARD, "--", *SH, script)
    ran = here("queue", "run", "--until-empty", "--json", *CARD)
    assert ran.jobs[1]["state"] == "done", ran.err
    (alert,) = json.loads(ran.out)["alerts"]
    assert (alert["event"], alert["kind"], alert["unit"]) == ("raised", "temperature", "degC")
    assert f"Alert: {alert['message']}" in ran.err
    (session,) = json.loads(here("sessions", "list", "--json").out)["sessions"]
    assert (session["experiment"], session["simulated"], session["outcome"]) == ("record", True, "completed")
    shown = here("sessions", "show", session["session_id"])
    assert "Jobs of the queue on " in shown.out + shown.err
