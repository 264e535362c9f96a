"""``alerts run`` over the driver's stand-in library, with the real collector between."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.alerts import AlertKind, AlertPlan, AlertRule, default_rule
from gputuner.model.cards import CPU_CARD
from gputuner.settings.alerts import save
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, case

CASES = Path(__file__).parents[1] / "data" / "cases"
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")]


@pytest.fixture
def told(tmp_path: Path, fake_nvml: FakeNvml) -> Iterator[Callable[..., list[str]]]:
    """The first lines of ``alerts run`` over a case by these rules; the program must end well on SIGTERM."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *rules: AlertRule, lines: int) -> list[str]:
        fake_nvml.show(Scenario.from_case(case(CASES / name)))
        save(tmp_path / "alerts.json", AlertPlan(rules=rules))
        command = [sys.executable, "-m", "gputuner", "--cli", "alerts", "run", "--data-dir", str(tmp_path)]
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **fake_nvml.environment()}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=environment, text=True, **streams)
        started.append(process)
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGTERM)
        rest, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert all(found), err
        return [*found, *rest.splitlines()]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_c024_a_lost_card_is_told_and_the_others_are_watched_on(told: Callable[..., list[str]]):
    warm = replace(default_rule(AlertKind.TEMPERATURE), threshold=30.0, hold_s=0.0)
    lines = told("c024_nvml_one_lost.json", default_rule(AlertKind.LOST), warm, lines=2)
    assert sorted(line.split()[1:3] for line in lines) == [["raised", "lost"], ["raised", "temperature"]]
    assert "the core is at 35 °C" in next(line for line in lines if "temperature" in line)


def test_c027_a_hot_card_without_a_fan_is_told_for_its_heat_alone(told: Callable[..., list[str]]):
    fan = replace(default_rule(AlertKind.FAN), hold_s=0.0)
    hot = replace(default_rule(AlertKind.TEMPERATURE), threshold=70.0, hold_s=2.0)
    lines = told("c027_nvml_zero_fans.json", fan, hot, lines=1)
    assert [line.split()[1:3] for line in lines] == [["raised", "temperature"]]


def test_the_processor_beside_cards_is_watched_where_an_alert_names_it_and_else_refused(
    tmp_path: Path, fake_nvml: FakeNvml
):
    fake_nvml.show(Scenario.from_case(case(CASES / "c027_nvml_zero_fans.json")))
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **fake_nvml.environment()}

    def watched(*words: str) -> tuple[int, list[str]]:
        """Exit code, and what was said of the cards until it watched, or of why it does not."""
        command = [sys.executable, "-m", "gputuner", "--cli", "alerts", "run", *words, "--data-dir", str(tmp_path)]
        with subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                if line.startswith("Watching"):
                    process.send_signal(signal.SIGTERM)
                    break
                said.append(line)
            process.communicate(timeout=300)
            return process.returncode, said

    general = default_rule(AlertKind.TEMPERATURE)
    save(tmp_path / "alerts.json", AlertPlan(rules=(general,)))
    code, said = watched("--gpu", "cpu")
    assert (code, len(said)) == (3, 1), said
    save(tmp_path / "alerts.json", AlertPlan(rules=(general, replace(general, name="host", cards=(CPU_CARD,)))))
    code, processor = watched("--gpu", "cpu")
    assert (code, len(processor)) == (0, 1), processor
    code, both = watched()
    assert code == 0
    assert len(both) == 2, "the card of the case and the processor"
    assert processor[0] in both
