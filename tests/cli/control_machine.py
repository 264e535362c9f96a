"""The command line of ``control`` on a machine with the fake NVML."""

from pathlib import Path

import pytest

from gputuner.cli.app import main
from tests.devices.control_bench import HelperBench
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario


class Machine:
    """Runs ``control`` in this process, with a data folder of its own; its helper is a real one."""

    def __init__(
        self,
        fake: FakeNvml,
        folder: Path,
        patch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        scenario: Scenario,
    ) -> None:
        self.fake, self.folder, self.capsys = fake, folder, capsys
        self.has(scenario)
        for name, value in self.bench.environment().items():
            patch.setenv(name, value)

    def has(self, scenario: Scenario) -> None:
        """Other cards."""
        self.bench = HelperBench(self.fake, self.folder / "journal", scenario)

    @property
    def writes(self) -> list[str]:
        return self.bench.fake.writes()

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        code = main(["control", *argv, "--data-dir", str(self.folder), "--lang", "en"])
        told = self.capsys.readouterr()
        return code, told.out, told.err
