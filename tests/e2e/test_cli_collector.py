"""A collector that dies at its first start, or each time: what commands say and end with. Its process is a real one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gputuner.cli.app import main
from gputuner.model.errors import ExitCode

SCRIPT = Path(__file__).parents[1] / "telemetry" / "scripted_source.py"
DIED = "The telemetry process has died (exit code -9)"
SILENT = "The driver did not answer"
END_6 = ("--", sys.executable, "-c", "raise SystemExit(6)")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends by a signal")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Lets commands read cards by the scripted collector in this mode."""

    def choose(mode: str) -> None:
        command = [sys.executable, str(SCRIPT), mode, str(tmp_path / "flag")]
        monkeypatch.setattr("gputuner.assembly.feeds.collector_command", lambda: command)

    monkeypatch.setattr("os.nice", lambda _step: 0)
    return choose


def test_one_that_dies_once_is_waited_for(collector, tmp_path, capfd):
    collector("die at start")
    assert main(["monitor", "--count", "1", "--json", "--data-dir", str(tmp_path / "data")]) == ExitCode.DONE
    document = json.loads(capfd.readouterr().out)
    assert [card["uuid"] for card in document["devices"]] == ["card-0", "card-1", "card-2"]


def test_the_watching_of_a_command_outlives_one_death(collector, tmp_path, capfd):
    collector("die at start")
    assert main(["watch", "--json", "--data-dir", str(tmp_path / "data"), *END_6]) == 6
    document = json.loads(capfd.readouterr().out)
    assert document["outcome"] == "completed"
    assert [card["uuid"] for card in document["devices"]] == ["card-0", "card-1", "card-2"]


def test_an_experiment_is_planned_after_one_death(collector, tmp_path, capfd):
    collector("die at start")
    assert main(["tune", "--dry-run", "--gpu", "0", "--data-dir", str(tmp_path / "data")]) == ExitCode.DONE
    assert DIED not in capfd.readouterr().err


@pytest.mark.parametrize("words", [["devices"], ["tune", "--dry-run"], ["monitor", "--count", "1"]])
def test_one_that_dies_each_time_ends_the_command_with_the_word_for_it(collector, tmp_path, capfd, words):
    collector("die always")
    assert main([*words, "--data-dir", str(tmp_path / "data")]) == ExitCode.DEVICE
    assert DIED in capfd.readouterr().err


def test_one_that_dies_each_time_costs_a_watched_command_nothing(collector, tmp_path, capfd):
    collector("die always")
    assert main(["watch", "--data-dir", str(tmp_path / "data"), *END_6]) == 6
    assert capfd.readouterr().err.count(DIED) == 1


def test_one_that_never_answers_is_not_taken_for_no_card(collector, tmp_path, capfd, monkeypatch):
    collector("hang at start")
    monkeypatch.setattr("gputuner.assembly.feeds.FIRST_ANSWER_S", 0.1)
    assert main(["devices", "--data-dir", str(tmp_path / "data")]) == ExitCode.DEVICE
    assert SILENT in capfd.readouterr().err
