"""How ``bench`` ends where benchmarks fail, where the time is too short, and where the card is none to measure."""

import json
import re

import pytest


@pytest.mark.parametrize(
    ("argv", "code", "why"),
    [
        (("gpt", "--memory-cap", "0.5"), 5, "No benchmark gave a figure (gpt: needs 3.24 GiB of memory)."),
        (("attention", "--memory-cap", "0.1"), 5, "No benchmark gave a figure (attention: "),
    ],
)
def test_where_all_that_was_asked_for_fails_the_code_fits_and_the_session_is_no_completed_one(whole, argv, code, why):
    ended, out, err = whole("bench", *argv, "--json")
    document = json.loads(out)
    assert (ended, document["outcome"], document["error"]["exit_code"]) == (code, "failed", code)
    assert why in err
    listed = json.loads(whole("sessions", "list", "--json")[1])["sessions"]
    assert [each["outcome"] for each in listed] == ["failed"]


def test_where_some_fail_the_figures_of_the_others_count_and_the_failure_is_told(whole):
    code, out, err = whole("bench", "gpt", "launch", "--memory-cap", "1", "--json")
    document = json.loads(out)
    assert (code, document["outcome"]) == (0, "completed")
    assert {point["extra"]["benchmark"] for point in document["points"]} == {"launch"}
    assert "gpt gave no figure: needs 3.24 GiB of memory." in err
    assert "benchmark_failed" in {each["code"] for each in document["warnings"]}


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize("names", [(), ("launch",), ("gemm-fp32", "gpt")])
def test_a_budget_without_room_for_anything_is_refused_with_the_least_that_works(whole, tmp_path, names, more):
    code, out, err = whole("bench", *names, "--minutes", "0.2", *more)
    assert (code, out) == (2, "")
    assert not (tmp_path / "sessions").exists()
    told = re.match(r"--minutes 0.2 is too short; ([0-9.]+) is the least", err)
    assert told, err
    code, out, _err = whole("bench", *names, "--minutes", told[1], "--json")
    assert code == 0
    assert json.loads(out)["points"]


@pytest.mark.parametrize("argv", [("bench", "launch"), ("bench", "--list"), ("tune", "--dry-run"), ("devices",)])
def test_there_is_no_processor_among_simulated_cards(whole, argv):
    code, out, err = whole(*argv, "--gpu", "cpu")
    assert (code, out) == (2, "")
    assert err == "There is no processor among the simulated cards, so --gpu cpu names none; leave it out.\n"
