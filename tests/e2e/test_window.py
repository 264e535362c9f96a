"""The real window program, without a display."""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.program import all_gone
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, card

pytestmark = pytest.mark.e2e
STARTS_S = 600.0


def start(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **(environment or {})}
    return subprocess.Popen([sys.executable, "-m", "gputuner", *arguments], env=env, stderr=subprocess.PIPE)


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


def collectors(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The collector below a window, as soon as there is one."""
    end = time.monotonic() + STARTS_S
    while time.monotonic() < end and process.poll() is None:
        found = [c for c in psutil.Process(process.pid).children() if "--collector" in c.cmdline()]
        if found:
            return found
    raise AssertionError("no collector was started")


def test_screenshots_show_every_page_in_both_themes(tmp_path: Path):
    done = start("--screenshots", str(tmp_path), "--simulate", "rtx-4090-48g", "--minutes", "1")
    _, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    names = {p.name for p in tmp_path.glob("*.png")}
    for page in ("monitor", "tune", "sessions"):
        assert {f"{page}-light.png", f"{page}-dark.png"} <= names
    assert {png_size(p) for p in tmp_path.glob("*.png")} == {(1366, 768)}


@pytest.mark.parametrize("arguments", [["--simulate", "rtx-9090"], ["--theme", "pink"], ["--minutes", "-1"]])
def test_senseless_options_end_with_2_and_one_sentence(arguments: list[str], tmp_path: Path):
    done = start(*arguments, "--data-dir", str(tmp_path))
    _, err = done.communicate(timeout=600)
    assert done.returncode == 2
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_two_windows_share_a_data_folder_and_kill_9_leaves_no_collector(tmp_path: Path, fake_nvml: FakeNvml):
    fake_nvml.show(Scenario(card(0)))
    first, second = (start("--data-dir", str(tmp_path), environment=fake_nvml.environment()) for _ in range(2))
    try:
        of_first, of_second = collectors(first), collectors(second)
        first.kill()
        assert all_gone(of_first)
        assert second.poll() is None
        assert all(c.is_running() for c in of_second)
    finally:
        second.kill()
        first.communicate()
        second.communicate()
    assert all_gone(of_second)
