"""``power`` as a user meets it: simulated cards, and one played by the fake NVML, on which nothing may be set."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.devices.control_bench import HelperBench, machine
from tests.e2e.conftest import Gputuner
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario

pytestmark = pytest.mark.e2e
CARD = "rtx-4090-48g"
ANSWERS = {"power_knee", "power_fastest", "power_best_energy", "power_plateau"}


def test_a_sweep_needs_no_other_argument_and_advises(gputuner: Gputuner):
    ended = gputuner("power", "--simulate", CARD, "--json", "--quiet")
    document = ended.document
    assert (ended.code, document["schema"], document["simulated"]) == (0, "gputuner.power/1", True)
    metrics = [point["metric"] for point in document["points"]]
    assert set(metrics) >= ANSWERS | {"power_rate", "power_energy"}
    assert len(metrics) >= 5
    advice = document["advice"]
    assert advice
    assert any(f"control set power-limit {point_of(document, 'power_knee')}" in str(a["snippet"]) for a in advice)
    assert "money_saved" not in str(document)  # no price, no money
    ended = gputuner("power", "--simulate", CARD, "--passive", "--json", "--quiet")
    rates = [p for p in ended.document["points"] if p["metric"] == "power_rate"]
    assert {p["params"]["cap_w"] for p in rates if p["params"]["visit"] == 0} >= {200.0, 450.0}  # of the session above
    (knee,) = (p for p in ended.document["points"] if p["metric"] == "power_knee")
    assert knee["extra"]["how"] == "passive"
    assert knee["value"] == pytest.approx(point_of(document, "power_knee"), rel=0.1)


def test_what_stored_sessions_saw_is_a_line_a_setting_and_whole_in_the_document(gputuner: Gputuner):
    for _ in range(2):
        gputuner("power", "gpt:batch=2", "--simulate", CARD, "--quiet")
    ended = gputuner("power", "gpt:batch=2", "--simulate", CARD, "--passive", "--json")
    stored = [point for point in ended.document["points"] if point["params"].get("visit") == 0]
    groups = {(point["metric"], point["params"]["cap_w"]) for point in stored}
    lines = [line for line in ended.err.splitlines() if "stored session" in line]
    assert len(stored) > len(groups) == len(lines)
    for line in lines:
        assert line.endswith(" visits in 2 stored sessions)")
        assert "from a stored session" not in line


def point_of(document: dict[str, Any], metric: str) -> int:
    return round(next(p["value"] for p in document["points"] if p["metric"] == metric))


def test_people_read_tables_money_and_where_figures_come_from(gputuner: Gputuner):
    ended = gputuner("power", "bert:batch=8", "--simulate", CARD, "--price", "0.30", "--hours", "4000")
    assert ended.code == 0
    for told in ("What was visited", "What it says", "4000 hours a year", "not measured on a real card", "of the best"):
        assert told in ended.out
    assert "Traceback" not in ended.err


def test_a_dry_run_says_what_it_would_set_and_touches_nothing(gputuner: Gputuner):
    before = gputuner("sessions", "list", "--json").document["sessions"]
    ended = gputuner("power", "--simulate", CARD, "--dry-run")
    assert ended.code == 0
    assert "between 200 and 450 W" in ended.err
    assert "put back to 450 W" in ended.err
    assert ended.out.count("the load at one setting") >= 12
    assert gputuner("sessions", "list", "--json").document["sessions"] == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--price", "0.3", "--simulate", CARD), "--hours"),
        (("--gpu", "cpu"), "graphics card"),
    ],
)
def test_what_cannot_be_meant_is_refused(gputuner: Gputuner, words: tuple[str, ...], told: str):
    ended = gputuner("power", *words)
    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err


def test_nothing_is_set_where_nobody_can_be_asked(fake_nvml: FakeNvml, fresh: Gputuner, tmp_path: Path):
    bench = HelperBench(fake_nvml, tmp_path / "journal", one_card())
    environment = {**fresh.environment(), **bench.environment()}
    ended = subprocess.run(
        fresh.command("power"),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert "--yes" in ended.stderr
    assert bench.fake.writes() == []
    assert bench.pages() == ()


def one_card() -> Scenario:
    scenario = machine()
    del scenario.cards[1]
    return scenario


def test_a_load_that_does_not_fit_ends_with_its_code(gputuner: Gputuner):
    ended = gputuner("power", "bert:batch=4000", "--simulate", CARD)
    assert ended.code == 5
    assert "It needs at least" in ended.err or "it needs at least" in ended.err
