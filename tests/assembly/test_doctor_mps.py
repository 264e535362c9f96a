"""What doctor says of MPS and of cards that let one process in."""

from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.assembly import doctor_mps
from gputuner.engine import mps_ground
from gputuner.language.findings import FINDINGS, finding
from gputuner.language.sharing_words import WARNINGS
from gputuner.language.warnings import warning
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Reading

CARD = CardInfo(uuid="GPU-1", index=0, name="Card", compute_capability="8.9")
HOST = HostFingerprint(readings={})
REASONS = ("not_linux", "wsl", "before_volta", "program_missing", "program_missing_in_container")


@pytest.fixture(autouse=True)
def nobodys_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    monkeypatch.setattr(mps_ground, "USUAL_PIPE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))


def codes(*cards: CardInfo, host: HostFingerprint = HOST) -> list[str]:
    return [found.code for found in doctor_mps.examine_mps(cards, host)]


def test_the_processor_and_cards_that_only_exist_as_a_model_have_no_say():
    assert codes(replace(CARD, uuid="cpu"), replace(CARD, origin=Origin.SIMULATED)) == []


def test_what_is_missing_is_named_unless_one_card_can(tmp_path: Path):
    assert codes(CARD) == ["mps_absent_program_missing"]
    program = tmp_path / "nvidia-cuda-mps-control"
    program.touch(0o755)
    assert codes(CARD) == ["mps_fine"]
    old = replace(CARD, compute_capability="6.1")
    assert codes(old) == ["mps_absent_before_volta"]
    assert codes(old, CARD) == ["mps_fine"]


def test_a_daemon_of_the_users_and_an_exclusive_card_are_noted(tmp_path: Path):
    (tmp_path / "control").touch()
    exclusive = replace(CARD, readings={"compute_mode": Reading(value="exclusive_process")})
    assert codes(exclusive)[1:] == ["mps_users", "compute_mode_exclusive"]
    said = [finding(found) for found in doctor_mps.examine_mps([exclusive], HOST)]
    assert "exclusive_process" in said[2]


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_words(reason: str):
    assert f"mps_absent_{reason}" in FINDINGS
    assert f"mps_unavailable:{reason}" in WARNINGS
    assert reason not in warning("mps_unavailable", {"reason": reason})
