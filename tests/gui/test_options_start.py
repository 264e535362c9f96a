"""What is looked at before Qt starts: the display, the folder of the pictures, the files."""

import socket

import pytest

from gputuner.assembly.display import display_trouble
from gputuner.gui.app import main


@pytest.fixture
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")


def test_no_display_is_one_sentence(capsys, no_display, tmp_path):
    assert main(["--data-dir", str(tmp_path), "--lang", "en"]) == 2
    said = capsys.readouterr().err
    assert "no display" in said
    assert "--cli" in said
    assert "ssh -X" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("environment", [{"QT_QPA_PLATFORM": "offscreen"}, {"WAYLAND_SOCKET": "7"}, {"DISPLAY": "x/y"}])
def test_what_is_named_on_purpose_is_trusted(monkeypatch, environment):
    monkeypatch.setattr("sys.platform", "linux")
    assert display_trouble(environment) is None


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_need_no_variable(monkeypatch, system):
    monkeypatch.setattr("sys.platform", system)
    assert display_trouble({}) is None


def test_a_display_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    for environment in ({"DISPLAY": ":9876"}, {"WAYLAND_DISPLAY": "gone-0", "XDG_RUNTIME_DIR": str(tmp_path)}):
        trouble = display_trouble(environment)
        assert trouble is not None
        assert trouble.code == "display_silent"
        assert trouble.params["display"] in environment.values()


def test_a_display_that_listens_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "w-0"))
        server.listen()
        assert display_trouble({"WAYLAND_DISPLAY": "w-0", "XDG_RUNTIME_DIR": str(tmp_path)}) is None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X9875")
        server.listen()
        assert display_trouble({"DISPLAY": ":9875.0"}) is None


def test_pictures_need_a_folder(capsys, tmp_path):
    (tmp_path / "a.txt").touch()
    words = ["--screenshots", str(tmp_path / "a.txt"), "--simulate", "rtx-3090", "--data-dir", str(tmp_path / "d")]
    assert main([*words, "--lang", "en"]) == 8
    assert "a.txt" in capsys.readouterr().err


def test_files_that_are_no_sessions_are_named(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    (tmp_path / "garbage.sqlite").write_text("garbage")
    for name in (tmp_path / "garbage.sqlite", tmp_path / "none.sqlite", tmp_path):
        assert main([str(name), "--simulate", "rtx-3090", "--data-dir", str(tmp_path / "d"), "--lang", "en"]) == 8
        said = capsys.readouterr().err
        assert str(name) in said
        assert said.count("\n") == 1
