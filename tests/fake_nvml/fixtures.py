"""Fixture: the fake NVML inside this process, loaded under the name by which the real binding asks for it."""

import ctypes
import os
from pathlib import Path

import pytest

from tests.fake_nvml.build import SONAME, NoCompiler, environment, library
from tests.fake_nvml.scenario import Scenario


class FakeNvml:
    """Where a scenario is put, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        """Keep everything in ``folder``."""
        self.folder = folder
        self.path = folder / "scenario.txt"
        self.log = folder / "calls.log"
        self.state = folder / "state.txt"
        self.journal = folder / "writes.log"

    def show(self, scenario: Scenario, *, log: bool = True, reload: bool = False) -> Path:
        """Let the library answer this scenario; ``reload``: it looks at every call whether it was replaced."""
        if log:
            scenario.system["log"] = str(self.log)
        if reload:
            scenario.system["reload"] = 1
        return scenario.write(self.path)

    def calls(self) -> list[tuple[int, str]]:
        """Device (−1: none) and name of every call so far."""
        if not self.log.exists():
            return []
        whole, _, _being_written = self.log.read_text().rpartition("\n")
        return [(int(d), name) for d, name in (line.split(" ", 1) for line in whole.splitlines())]

    def show_settable(self, scenario: Scenario) -> Path:
        """As ``show``, for cards whose settings are changed: what is written lasts, and is noted."""
        scenario.system |= {"state": str(self.state), "writes": str(self.journal)}
        self.state.touch()
        return self.show(scenario, log=False)

    def writes(self) -> list[str]:
        """Every call of a setter so far: device, name, arguments, return code."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    def meddle(self, key: str, value: int, device: int = 0) -> None:
        """Let another program change what the card shows."""
        with open(self.state, "a") as file:
            file.write(f"{device}\t{key}\tset\tv:{value}\n")

    def reload_driver(self) -> None:
        """The card forgets all that was set."""
        self.state.write_text("")

    def environment(self, missing: tuple[str, ...] = ()) -> dict[str, str]:
        """Environment of a child process that meets this scenario."""
        return environment(self.path, missing)


@pytest.fixture(scope="session")
def fake_nvml_folder() -> Path:
    """Folder of the built library; skipped without a C compiler, an error in CI."""
    try:
        return library()
    except NoCompiler as err:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(err))


@pytest.fixture
def fake_nvml(fake_nvml_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """The fake NVML for this test, in this process and (through ``environment``) in its children."""
    ctypes.CDLL(str(fake_nvml_folder / SONAME))  # later loads of the soname meet this one
    fake = FakeNvml(tmp_path)
    monkeypatch.setenv("FAKE_NVML_SCENARIO", str(fake.path))
    return fake
