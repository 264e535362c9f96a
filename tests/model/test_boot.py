"""A boot has a name of its own: Linux tells it, Windows counts it, and nowhere is it reckoned from the clock."""

import ctypes
import sys
from pathlib import Path

import pytest

from gputuner.model import boot
from gputuner.model.boot import boot_id


def test_linux_tells_it(tmp_path: Path) -> None:
    told = tmp_path / "sys/kernel/random/boot_id"
    told.parent.mkdir(parents=True)
    told.write_text("0b8f2f8e-6d1c-4c5d-9a53-0123456789ab\n")
    assert boot_id(tmp_path) == "0b8f2f8e-6d1c-4c5d-9a53-0123456789ab"


@pytest.mark.parametrize(("number", "told"), [(741, "windows-741"), (0, "")])
def test_windows_counts_it(tmp_path: Path, number: int, told: str) -> None:
    assert boot_id(tmp_path, lambda: number) == told


def test_the_number_of_windows_is_read_where_the_system_keeps_it(tmp_path: Path, monkeypatch) -> None:
    kept = ctypes.c_uint32(812)
    monkeypatch.setattr(boot, "WINDOWS_BOOT_ID", ctypes.addressof(kept))
    monkeypatch.setattr(sys, "platform", "win32")
    assert boot_id(tmp_path) == "windows-812"


def test_elsewhere_it_is_not_known(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert boot_id(tmp_path) == ""
