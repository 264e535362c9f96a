"""A data folder that may not be written is told as what it is."""

import errno
from pathlib import Path

import pytest

from gputuner.engine.locks import CardLock
from gputuner.model.errors import ExitCode, StoreError
from gputuner.settings.files import write_whole


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EROFS, ExitCode.NO_PERMISSION),
        (errno.EACCES, ExitCode.NO_PERMISSION),
        (errno.EIO, ExitCode.BAD_INPUT),
    ],
)
@pytest.mark.parametrize(
    "write", [lambda folder: CardLock(folder, "GPU-1"), lambda folder: write_whole(folder / "a" / "b", b"")]
)
def test_a_folder_on_a_read_only_disk_is_a_matter_of_permission(tmp_path, monkeypatch, number, code, write):
    def refuse(*_args, **_fields):
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError) as caught:
        write(tmp_path)
    assert caught.value.exit_code is code
