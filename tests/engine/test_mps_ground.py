"""Whether MPS can be had, and the user's own daemon, which is never started, stopped or changed."""

import os
from pathlib import Path

import pytest

from gputuner.engine import mps_ground
from gputuner.engine.mps import UsersMps
from gputuner.engine.mps_daemon import Daemon
from gputuner.language.warnings import WARNINGS
from gputuner.model.cards import CardInfo
from gputuner.model.events import Warned
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Reading
from gputuner.model.steps import Done
from tests.engine.mps_rig import ASKED, Lab, install, notes, pair, run, warned
from tests.engine.rig import CARD, work


def users_daemon(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    own = Daemon(lab.folder / "users", str(lab.folder / "nvidia-cuda-mps-control"))
    own.folder.mkdir()
    own.start(CARD.uuid)
    (lab.folder / "journal").unlink()
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(own.pipe))
    monkeypatch.setenv("PATH", f"{lab.folder}{os.pathsep}{os.environ['PATH']}")
    return own


def test_the_users_daemon_is_neither_used_nor_touched(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    users = users_daemon(lab, monkeypatch)
    try:
        events, seen = run(lab, work(), pair(), work())
        assert warned(events) == ["mps_users_daemon"]
        for result in (seen[0], seen[2]):
            (pipe,) = notes(result, "pipe")
            assert not Path(str(pipe)).exists()
        assert str(users.pipe) not in notes(seen[1], "pipe")
        assert users.alive()
        assert users.clients() == []
    finally:
        users.end()


def test_the_users_daemon_is_used_when_told_and_only_asked(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    users = users_daemon(lab, monkeypatch)
    try:
        events, seen = run(lab, pair(thread_percentages=(50, 50)), work(), users_mps=True)
        assert warned(events) == []
        assert notes(seen[0], "pipe") == [str(users.pipe)] * 2
        assert notes(seen[0], "percentage") == ["50", "50"]
        assert notes(seen[1], "pipe") != [str(users.pipe)]
        assert lab.journal() == ["get_server_list", *ASKED]  # who is there before ours come, and then
        assert users.alive()
    finally:
        users.end()


def test_clients_of_the_users_own_are_not_taken_for_ours(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    users = users_daemon(lab, monkeypatch)
    for pid in (os.getpid(), os.getppid()):  # two that live: a training of the user's and another
        (users.pipe / "clients" / str(pid)).touch()
    try:
        events, seen = run(lab, pair("past_mps", "past_mps"), users_mps=True)
        assert warned(events) == ["mps_not_clients"]
        assert seen[0].mode == "processes"
        assert users.alive()
    finally:
        users.end()


def test_a_daemon_outside_that_knows_ours_by_other_numbers(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    users = users_daemon(lab, monkeypatch)
    (users.pipe / "clients" / str(os.getpid())).touch()
    try:
        mps = UsersMps(users.pipe)
        mps.start()
        assert not mps.serves({1, 2})
        (users.pipe / "clients" / str(os.getppid())).touch()
        mps.start()  # of the next step: ours are there already
        assert mps.serves({1})
        assert not mps.serves({1, 2})
    finally:
        users.end()


def test_told_to_use_a_daemon_that_is_not_there(lab: Lab):
    events, seen = run(lab, pair(), users_mps=True)
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params) == ("mps_unavailable", {"reason": "no_users_daemon"})
    assert seen[0].mode == "processes"
    assert lab.journal() == []


def test_a_client_that_cannot_connect_is_told_and_runs_without_mps(lab: Lab):
    """Case C-064: the host's daemon cannot be reached from the container, so that every call of CUDA fails."""
    lab.arguments.append("--mps-unreachable")
    events, seen = run(lab, work())
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert told.code == "mps_cannot_connect"
    assert "MPS_CONNECTION_FAILED" in str(told.params["message"])
    assert isinstance(seen[0], Done)
    assert lab.journal() == []


def host(**facts: object) -> HostFingerprint:
    return HostFingerprint(readings={name: Reading(value=value, unit="") for name, value in facts.items()})


@pytest.mark.parametrize(
    ("card", "facts", "program", "reason"),
    [
        (CardInfo(uuid="cpu", index=0, name="processor"), {}, True, "processor"),
        (CardInfo(uuid="G", index=0, name="x", compute_capability="8.9"), {"wsl": True}, True, "wsl"),
        (CardInfo(uuid="G", index=0, name="x", compute_capability="6.1"), {}, True, "before_volta"),
        (CardInfo(uuid="G", index=0, name="x", compute_capability="8.9"), {}, False, "program_missing"),
        (
            CardInfo(uuid="G", index=0, name="x", compute_capability="8.9"),
            {"container": "docker"},
            False,
            "program_missing_in_container",
        ),
        (CardInfo(uuid="G", index=0, name="x", compute_capability="7.0"), {}, True, None),
        (CardInfo(uuid="G", index=0, name="x", compute_capability="10.0"), {}, True, None),
        (CardInfo(uuid="G", index=0, name="x"), {}, True, None),
    ],
)
def test_obstacles(tmp_path: Path, card: CardInfo, facts: dict[str, object], program: bool, reason: str | None):
    path = install(tmp_path) if program else str(tmp_path / "nothing")
    assert mps_ground.obstacle(card, host(**facts), path) == reason


@pytest.mark.parametrize(
    ("text", "code", "mps_error"),
    [
        ("CUDA error: the MPS client failed to connect to the MPS control daemon or the MPS server", None, True),
        ("CUDA cannot be used: CUDA_ERROR_MPS_CONNECTION_FAILED", 805, True),
        ("CUDA error: initialization error", 3, False),
        ("no CUDA-capable device is detected", 100, False),
    ],
)
def test_errors_of_mps_are_told_apart(text: str, code: int | None, mps_error: bool):
    assert mps_ground.speaks_of_mps(text, code) is mps_error


@pytest.mark.parametrize("code", ["not_started", "refused", "wedged", "not_clients", "cannot_connect"])
def test_every_way_to_fail_has_words(code: str):
    assert f"mps_{code}" in WARNINGS
