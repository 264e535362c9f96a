"""What a killed helper left changed is told by ``doctor``, until it is put back."""

from pathlib import Path

import pytest

from gputuner.assembly.doctor_control import examine_control
from gputuner.devices.control import Guard
from gputuner.devices.control_journal import Journal
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.devices.simulated_control import SimulatedControl
from gputuner.language.sentences import finding, remedy
from gputuner.model.control import Setting


def test_what_was_left_changed_is_told_until_it_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setattr("gputuner.assembly.doctor_control.ROOT_FOLDER", tmp_path / "nobody")
    cards = SimulatedCards(["rtx-4090-48g"], SimulatedClock())
    uuid = cards.models[0].uuid
    held = Guard(SimulatedControl(cards), Journal(tmp_path))
    held.set(uuid, Setting.POWER_LIMIT, (300.0,))
    assert list(examine_control()) == []
    held._locks.pop(uuid)()
    (found,) = examine_control()
    assert "power limit" in finding(found)
    assert "control show" in remedy(found)
    Guard(SimulatedControl(cards), Journal(tmp_path)).recover()
    assert list(examine_control()) == []
    kept = Guard(SimulatedControl(cards), Journal(tmp_path))
    kept.set(uuid, Setting.POWER_LIMIT, (300.0,))
    kept.keep(uuid, Setting.POWER_LIMIT)
    kept.close()
    assert list(examine_control()) == []
