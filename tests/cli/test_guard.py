"""``bench --against``: the guard's verdict and exit code, on simulated cards."""

import json

import pytest

from gputuner.cli import experiment
from gputuner.cli.running import follow
from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.model.cards import CardInfo
from gputuner.model.points import Flag
from tests.cli.stored import planted, session_of

CHEAP = "gemm-fp32"
OTHER = "launch"
BEFORE = "20260101-000000-bench-aaaa"


@pytest.fixture
def measured(whole):
    """A session of benchmarks."""

    def measure(*names, card="rtx-4090-48g"):
        return session_of(whole("bench", *names, "--json", card=card)[1])

    return measure


def last_line(out):
    return out.rstrip("\n").splitlines()[-1]


def test_an_unchanged_card_passes(whole, measured):
    session = measured(CHEAP)
    code, out, _err = whole("bench", "--against", session.stem)
    assert code == 0
    assert "0 worse" in out
    assert last_line(out) == f"Against {session.stem}: passed, 1 figure is not worse."


def test_a_card_that_became_worse_ends_with_9(whole, measured):
    better = planted(measured(CHEAP, OTHER), 1.2, BEFORE, only=CHEAP)
    code, out, err = whole("bench", "--against", better, "--json")
    document = json.loads(out)
    told = document["regression"]
    assert (code, document["outcome"], told["verdict"]) == (9, "completed", "worse")
    assert {each["after"]["extra"]["benchmark"] for each in told["worse"]} == {CHEAP}
    assert all(each["change"] == pytest.approx(1 / 1.2 - 1, abs=0.03) for each in told["worse"])
    assert told["again_outcome"] == "completed"
    assert f"Worse at first sight: {CHEAP}; measuring once more" in err


def test_who_will_not_wait_for_the_second_measurement_gets_no_verdict(whole, measured, monkeypatch):
    better = planted(measured(CHEAP, OTHER), 1.2, BEFORE, only=CHEAP)
    runs = []

    def impatient(run, views, found):
        runs.append(run)
        if len(runs) == 2:
            run.cancel(force=True)
            raise KeyboardInterrupt
        return follow(run, views, found)

    monkeypatch.setattr(experiment, "follow", impatient)
    code, out, err = whole("bench", "--against", better)
    assert code == 130
    assert "Against" not in out
    assert err.splitlines()[-1].startswith("Interrupted")


def test_the_verdict_is_the_last_line_and_the_rows_are_marked(whole, measured):
    better = planted(measured(CHEAP, OTHER), 1.2, BEFORE, only=CHEAP)
    code, out, _err = whole("bench", "--against", better)
    assert code == 9
    assert last_line(out) == f"Against {better}: 1 figure worse, confirmed."
    (row,) = [line for line in out.splitlines() if "worse, and again: -1" in line]
    assert row.startswith(CHEAP)
    assert "Worse is a change of more than " in out


def test_the_alarm_goes_on(whole, measured):
    """Runs of the guard and sessions after its own do not widen what counts as usual."""
    fast = planted(measured(CHEAP), 1.2, BEFORE)
    for i in (1, 2, 3):
        planted(measured(CHEAP), 1.2, f"2026010{i + 1}-000000-bench-aaaa", days=0.1 * i)
    codes, limits = [], []
    for _ in range(4):
        code, out, _err = whole("bench", CHEAP, "--against", fast, "--json")
        codes.append(code)
        limits.append(json.loads(out)["regression"]["limit"])
    assert codes == [9] * 4
    assert [each["sessions"] for each in limits] == [1] * 4
    assert limits[0] == limits[3]


def test_earlier_sessions_tell_the_spread_but_earlier_runs_of_the_guard_do_not(whole, measured):
    first = measured(CHEAP)
    for i in range(3):
        planted(first, 1.0, f"2026010{i + 1}-000000-bench-aaaa", days=-10.0 + i)
    guarded = session_of(whole("bench", CHEAP, "--against", first.stem, "--json")[1])
    planted(guarded, 1.5, "20260107-000000-bench-aaaa", days=-5.0)
    document = json.loads(whole("bench", CHEAP, "--against", first.stem, "--json")[1])
    assert document["regression"]["limit"]["sessions"] == 4


def test_a_card_that_became_better_passes(whole, measured):
    slower = planted(measured(CHEAP), 0.8, BEFORE)
    code, out, _err = whole("bench", "--against", slower)
    assert code == 0
    assert "better" in out


def test_a_benchmark_that_no_longer_fits_ends_with_9_and_its_reason(whole, measured):
    session = measured(CHEAP, "gpt")
    code, out, _err = whole("bench", "--against", session.stem, "--memory-cap", "1", "--json")
    document = json.loads(out)
    assert (code, document["outcome"]) == (9, "completed")
    (gone,) = document["regression"]["gone"]
    assert (gone["benchmark"], gone["reason"]) == ("gpt", "memory_too_small")
    text = whole("bench", "--against", session.stem, "--memory-cap", "1")[1]
    assert "- gpt: needs 3.24 GiB of memory" in text
    assert last_line(text) == f"Against {session.stem}: 1 benchmark without a figure now."


def test_all_benchmarks_that_no_longer_fit_end_with_9_too(whole, measured):
    session = measured("gpt")
    code, out, err = whole("bench", "--against", session.stem, "--memory-cap", "1", "--json")
    document = json.loads(out)
    assert (code, document["outcome"], document["error"]["exit_code"]) == (9, "failed", 9)
    assert "No benchmark gave a figure (gpt: " in err


def test_what_was_not_asked_for_is_not_missed(whole, measured):
    session = measured(CHEAP, OTHER)
    code, out, _err = whole("bench", CHEAP, "--against", session.stem, "--json")
    assert code == 0
    assert (json.loads(out)["regression"]["gone"], json.loads(out)["regression"]["missing"]) == ([], [])


def test_what_is_left_out_for_lack_of_time_is_told_and_passes(whole, measured):
    session = measured(CHEAP, "gpt")
    alone = Bench(names=(CHEAP,)).least_minutes(Machine(card=CardInfo(uuid="GPU-1", index=0, name="card")))
    code, out, _err = whole("bench", "--against", session.stem, "--minutes", f"{alone + 0.005:.3f}", "--json")
    told = json.loads(out)["regression"]
    assert (code, told["gone"], told["missing"]) == (0, [], ["gpt"])


def test_figures_that_mean_nothing_pass_nothing(whole, measured):
    shared = planted(measured(CHEAP), 1.0, BEFORE, flag=Flag.SHARED)
    code, out, _err = whole("bench", "--against", shared)
    assert code == 8
    assert "Session: " in out
    assert last_line(out) == f"Against {shared}: nothing can be compared."


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_benchmarks_that_the_session_has_not_are_refused_before_anything_is_measured(whole, measured, tmp_path, more):
    session = measured(CHEAP)
    code, _out, err = whole("bench", OTHER, "--against", session.stem, *more)
    assert code == 2
    assert f"Session {session.stem} has figures of {CHEAP}, none of {OTHER}" in err
    assert len(list(tmp_path.glob("sessions/*.sqlite"))) == 1


def test_a_session_that_is_not_there_is_told_by_a_dry_run_too(whole):
    code, _out, err = whole("bench", "--dry-run", "--against", "nope")
    assert code == 8
    assert "There is no session nope" in err


def test_the_session_of_another_card_is_no_guard(whole, measured):
    session = measured(CHEAP, card="rtx-3090")
    code, _out, err = whole("bench", "--against", session.stem)
    assert code == 2
    assert "only the same card can have become worse" in err


@pytest.mark.parametrize("command", [("record", "--duration", "2"), ("tune", "--quick", "--minutes", "1", "--quiet")])
def test_a_session_without_benchmarks_is_no_guard(whole, command):
    whole(*command)
    session = json.loads(whole("sessions", "list", "--json")[1])["sessions"][0]["session_id"]
    code, _out, err = whole("bench", CHEAP, "--against", session)
    assert code == 8
    assert "holds no figure of a benchmark" in err


def test_as_markdown_all_of_it_is_markdown(whole, measured):
    better = planted(measured(CHEAP), 1.2, BEFORE)
    code, out, _err = whole("bench", "--against", better, "--markdown")
    assert code == 9
    lines = out.splitlines()
    assert f"## Against {better}" in lines
    assert len([line for line in lines if line.startswith("| ---")]) == 2
    (row,) = [line for line in lines if "worse, and again" in line]
    assert row.startswith(f"| {CHEAP} |")
    assert last_line(out) == f"**Against {better}: 1 figure worse, confirmed.**"


def test_several_cards_each_have_their_verdict(whole, measured):
    better = planted(measured(CHEAP), 1.2, BEFORE)
    code, out, _err = whole("bench", "--against", better, "--gpu", "all", "--simulate", "rtx-4090-48g")
    assert code == 9
    verdicts = [line for line in out.splitlines() if f"Against {better}: 1 figure worse" in line]
    assert len(verdicts) == 2
    assert all("RTX 4090" in line.partition("Against")[0] for line in verdicts)
