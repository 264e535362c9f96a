"""The queue in words: every state and reason has its own, and waiting names who holds what (C-071, C-073)."""

import re
from pathlib import Path

import pytest

from gputuner.language import jobs as words
from gputuner.language.words import set_language
from gputuner.model.jobs import Job, JobState, Needs, NeedSource, NoteKind, Reason, RunnerNote

MIB = 2**20


def job(state=JobState.WAITING, **more):
    return Job(id=3, command=("python", "train.py"), folder="/", needs=Needs(), state=state, **more)


def memory(**more):
    params = {"card": "c", "index": 1, "need_bytes": 40960 * MIB, "free_bytes": 30217 * MIB, "total_bytes": 49140 * MIB}
    return Reason(code="memory", params={**params, **more})


def test_every_state_has_a_word_of_its_own():
    said = [words.state(state) for state in JobState]
    assert all(said)
    assert len(set(said)) == len(said)


def test_a_running_job_is_no_count_of_runs():
    """One English word, two Chinese ones."""
    set_language("zh_CN")
    try:
        assert words.state(JobState.RUNNING) == "运行中"
    finally:
        set_language("en")


def test_c073_who_holds_what_is_said():
    held = {"others_bytes": 18432 * MIB, "kept_bytes": 0, "holder": "blender", "pid": 77, "holder_bytes": 18432 * MIB}
    assert words.told(memory(**held)) == (
        "Needs 40 GiB; card 1 has 29.5 GiB of 48 GiB free, 18 GiB used by others, blender (process 77) holds 18 GiB."
    )


def test_c071_a_holder_that_idles_is_named_with_how_long():
    held = {"holder": "python", "pid": 5120, "holder_bytes": 11012 * MIB, "total_bytes": 11200 * MIB, "idle_s": 7200.0}
    assert "python (process 5120) holds 10.8 GiB of 10.9 GiB, 0 % load for 2 h 00 min" in words.told(memory(**held))
    assert "0 % load" not in words.told(memory(**{**held, "idle_s": 5.0}))


def test_how_a_job_ended():
    failed = job(JobState.FAILED, reason=Reason(code="out_of_memory"), started_unix_s=10.0, ended_unix_s=20.0)
    assert words.ended(failed) == "failed: It ran out of memory."
    told = words.note(RunnerNote(kind=NoteKind.ENDED, job=failed))
    assert told == "Job 3 ended after 10 s: failed: It ran out of memory."
    assert words.ended(job()) == ""


def test_needs_in_short():
    needs = Needs(memory_bytes=8 * 2**30, cards=2, minutes=90.0, alone=True, source=NeedSource.HISTORY)
    assert words.needs(Job(id=1, command=(), folder="/", needs=needs, state=JobState.WAITING)) == (
        "8 GiB, 2 cards, alone, 1 h 30 min, learned from earlier jobs"
    )


@pytest.mark.parametrize("tag", ["en", "zh_CN"])
def test_every_note_is_a_sentence(tag):
    set_language(tag)
    try:
        for kind in NoteKind:
            reason = memory() if kind is not NoteKind.RESUMED else Reason(code="memory_not_back", params={"index": 0})
            said = words.note(RunnerNote(kind=kind, job=job(), reason=reason))
            assert said.endswith((".", "。", "train.py")), kind
    finally:
        set_language("en")


def test_every_reason_that_the_queue_gives_has_words():
    root = Path(words.__file__).resolve().parents[1]
    sources = [*root.glob("jobs/*.py"), root / "analysis/placement.py", root / "assembly/queue.py"]
    codes = {code for path in sources for code in re.findall(r'(?:Reason\(code=|\{"code": )"(\w+)"', path.read_text())}
    assert {"memory", "rebooted", "out_of_memory"} <= codes
    assert {code for code in codes if words.told(Reason(code=code)) == code} <= {"never_cards", "never_memory"}


def test_no_control_signs_reach_the_terminal_by_names():
    named = Job(id=1, command=("x",), folder="/", needs=Needs(), state=JobState.WAITING, name="\x1b[2Jgone")
    assert words.command(named) == "\\x1b[2Jgone"
    held = {"others_bytes": MIB, "holder": "\x1b]0;me\x07", "pid": 7, "holder_bytes": MIB}
    assert words.told(memory(**held)).isprintable()


@pytest.mark.parametrize("code", ["behind", "card_taken", "card_silent", "heat", "power", "memory"])
def test_slots_are_the_processors_and_no_cards(code):
    params = {
        "card": "c", "index": 0, "job": 1, "jobs": "1", "temperature_c": 90.0, "limit_c": 80.0, "power_w": 60.0,
        "limit_w": 65.0, "need_bytes": 8 * MIB, "free_bytes": 4 * MIB, "total_bytes": 9 * MIB,
    }  # fmt: skip
    assert "ard 0" in words.told(Reason(code=code, params=params))
    said = words.told(Reason(code=code, params={**params, "cpu": True}))
    assert "ard 0" not in said
    assert "processor" in said or "machine" in said
