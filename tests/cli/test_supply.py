"""``supply`` on the command line: told watts, simulated cards without and with a session, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gputuner.advice.supply_again import OPTIONS
from gputuner.analysis.supply import RANGES, Section
from gputuner.cli.app import main

CARD = "rtx-4090-48g"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def call(*argv: str) -> tuple[int, str, str]:
        code = main(["supply", *argv, "--data-dir", str(tmp_path), "--lang", "en"])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def points(document: Any) -> dict[str, Any]:
    return {point["id"]: point for point in document["points"]}


def test_told_watts_need_no_card_and_answer_every_section(run: Run) -> None:
    code, out, _ = run("--watts", "450", "--cards", "2", "--psu-watts", "1200", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["schema"], document["origin"], document["simulated"]) == ("gputuner.supply/1", None, False)
    assert [each["source"] for each in document["devices"]] == ["told", "told"]
    assert {point["section"] for point in document["points"]} == {section.value for section in Section}
    found = points(document)
    machine = found["supply_machine"]
    assert (machine["low"], machine["value"], machine["unit"]) == (1125, 1250, "W")
    assert found["supply_size"]["value"] == 1600
    assert "12VHPWR" in found["supply_peak_load"]["how"]
    (advice,) = document["advice"]
    assert advice["id"] == "supply.tight", "94 to 104 %"
    assert advice["snippet"] is None, "no command for cards that are not here"
    assert set(advice["evidence"]) <= set(found)
    assert all(point["confidence"] in "HML" and point["how"] for point in document["points"])


def test_people_read_where_each_figure_comes_from(run: Run) -> None:
    code, out, _ = run("--watts", "350", "--watts", "300", "--price", "0.3", "--hours", "8", "--efficiency", "0.9")
    assert code == 0
    for told in ("as told", "NEC 210.20", "sampling cannot see milliseconds", "free-air rating", "at 0.3 per kWh"):
        assert told in out
    assert "at 90 % efficiency" in " ".join(out.split())
    assert "350 W · through the card's cables" in out
    assert "{" not in out


def test_a_card_without_sessions_is_sized_by_its_limit_and_says_so(run: Run) -> None:
    code, out, _ = run("--simulate", CARD, "--json")
    document = json.loads(out)
    assert (code, document["origin"], document["simulated"]) == (0, "simulated", True)
    (card,) = document["devices"]
    assert (card["source"], card["measured"], card["sustained_w"]) == ("limit", False, 450.0)
    assert document["advice"] == []
    asked = document["to_measure"][0]
    assert asked["id"] == "supply_draw"
    assert asked["command"].startswith("gputuner --cli cooling --simulate")
    out = run("--simulate", CARD)[1]
    assert "not measured" in out
    assert "All figures are simulated" in out


def test_a_card_with_a_session_is_sized_by_what_it_drew(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cooling", "--simulate", CARD, "--data-dir", str(tmp_path), "--minutes", "3", "--lang", "en"]) == 0
    assert "gputuner --cli supply --simulate rtx-4090-48g" in capsys.readouterr().out, "what next"
    document = json.loads(run("--simulate", CARD, "--psu-watts", "2000", "--cpu-watts", "200", "--json")[1])
    (card,) = document["devices"]
    assert (card["source"], card["measured"], card["simulated"]) == ("measured", False, True)
    assert 300 < card["sustained_w"] <= card["peak_w"]
    assert card["held_s"] >= 60
    assert card["session"]
    assert [each["id"] for each in document["advice"]] == ["supply.enough"]
    told = points(document)
    assert told["supply_cards_peak"]["value"] == pytest.approx(card["peak_w"])
    out = run("--simulate", CARD)[1]
    assert "highest mean over 15 s" in out


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--watts", "0"), 2),
        (("--watts", "nan"), 2),
        (("--watts", "300", "--cards", "0"), 2),
        (("--watts", "300", "--cards", "1.5"), 2),
        (("--watts", "300", "--efficiency", "92"), 2),
        (("--watts", "300", "--air-rise", "0"), 2),
        (("--watts", "300", "--circuit-volts", "inf"), 2),
        (("--watts", "300", "--hours", "25"), 2),
        (("--gpu", "cpu"), 3),
        (("--watts", "300", "--dry-run"), 2),
        (("--simulate", "no-such-card"), 2),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(run: Run, argv: tuple[str, ...], code: int) -> None:
    ended, out, err = run(*argv)
    assert (ended, out) == (code, "")
    assert len(err.strip().splitlines()) == 1


def test_every_wish_has_an_option_and_a_range() -> None:
    assert {*OPTIONS, "watts", "cards"} == set(RANGES)
