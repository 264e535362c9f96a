"""What is wrong with the file of preferences is told by every command."""

from pathlib import Path

import pytest

from gputuner.cli.app import main


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be understood, so the usual preferences hold"),
        ('{"version": 99}', "was written by a newer gputuner"),
        ('{"version": 1, "fast_hz": 5000}', "fast_hz has a value that cannot be"),
    ],
)
@pytest.mark.parametrize("command", [("sessions", "list"), ("devices", "--simulate", "rtx-4090-48g")])
def test_a_bad_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], command, text: str, told: str):
    (tmp_path / "preferences.json").write_text(text)
    assert main([*command, "--data-dir", str(tmp_path), "--lang", "en"]) == 0
    said = capsys.readouterr().err
    assert told in said
    assert str(tmp_path / "preferences.json") in said


def test_a_good_file_and_none_are_not_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert main(["sessions", "list", "--data-dir", str(tmp_path), "--lang", "en"]) == 0
        assert "preferences" not in capsys.readouterr().err
        (tmp_path / "preferences.json").write_text('{"version": 1, "fast_hz": 5}')
