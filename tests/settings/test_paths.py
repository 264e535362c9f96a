"""Everything lies under one data folder."""

from dataclasses import fields
from pathlib import Path

import platformdirs
import pytest

from gputuner.model.errors import UsageError
from gputuner.sessions.files import session_file
from gputuner.settings.paths import Paths, paths


def test_all_under_the_folder_that_was_named(tmp_path: Path) -> None:
    found = paths(tmp_path)
    names = [name for name in dir(Paths) if not name.startswith("_") and name not in {f.name for f in fields(Paths)}]
    assert len(names) >= 5
    assert all(getattr(found, name).parent == tmp_path for name in names)
    assert list(tmp_path.iterdir()) == []


def test_else_the_platform_s_own() -> None:
    assert paths().data_dir == Path(platformdirs.user_data_dir("gputuner", appauthor=False))


def test_sessions_lie_where_the_room_sessions_puts_them(tmp_path: Path) -> None:
    assert session_file(tmp_path, "x").parent == paths(tmp_path).sessions


def test_without_a_home_there_is_no_place_and_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nowhere(*_names: object, **_options: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr("gputuner.settings.paths.user_data_path", nowhere)
    with pytest.raises(UsageError) as caught:
        paths()
    assert (caught.value.code, caught.value.exit_code) == ("home_unknown", 2)
    assert paths(tmp_path).data_dir == tmp_path


def test_a_place_that_is_not_absolute_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gputuner.settings.paths.user_data_path", lambda *_names, **_options: Path("~/.local/share"))
    with pytest.raises(UsageError):
        paths()
