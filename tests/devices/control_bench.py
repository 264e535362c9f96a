"""A guarded card for tests: the real guard or the real helper over the fake NVML, with the exact list of writes."""

import os
import signal
import sys
from pathlib import Path

import psutil

from gputuner.devices.control import Guard
from gputuner.devices.control_client import HelperControl
from gputuner.devices.control_journal import Entry, Journal, Moment, Page
from gputuner.devices.nvml.writes import NvmlControl
from gputuner.model.codec import decode, encode
from gputuner.model.control import Setting, Told, Value
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, settable

GPU = "GPU-00000000-aaaa-bbbb-cccc-000000000000"
OTHER = "GPU-00000001-aaaa-bbbb-cccc-000000000001"


def machine(**calls: object) -> Scenario:
    """C-066's card: 200 to 700 W, 700 by default, 500 set by the host; what else is given replaces its calls."""
    watts = {
        "nvmlDeviceGetPowerManagementLimitConstraints": [200_000, 700_000],
        "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
        "nvmlDeviceGetPowerManagementLimit": 500_000,
        "nvmlDeviceGetEnforcedPowerLimit": 500_000,
    }
    return Scenario(settable(0, **(watts | calls)), settable(1))


class GuardBench:
    """The guard in this process, on a clock that the test moves."""

    def __init__(self, fake: FakeNvml, folder: Path, scenario: Scenario | None = None) -> None:
        self.fake = fake
        fake.show_settable(scenario or machine())
        self.journal = Journal(folder)
        self.moment = Moment(boot="boot-1", driver=7)
        self.now_s = 1000.0
        self.told: list[Told] = []
        self.made: list[tuple[Guard, NvmlControl]] = []
        self.open()

    def open(self) -> Guard:
        """A guard as after the start of another process."""
        self.control = NvmlControl()
        self.guard = Guard(
            self.control,
            self.journal,
            tell=self.told.append,
            moment=lambda: self.moment,
            now_s=lambda: self.now_s,
            pause=lambda _s: None,
        )
        self.made.append((self.guard, self.control))
        return self.guard

    def shut(self) -> None:
        """Let go of everything."""
        for guard, control in self.made:
            for release in guard._locks.values():
                release()
            control.close()

    def die(self) -> None:
        """The process is gone without a word: the system drops its locks."""
        for release in self.guard._locks.values():
            release()
        self.control.close()

    def reads(self, setting: Setting, card: str = GPU) -> Value | None:
        return self.control.read(card, setting)

    def codes(self) -> list[str]:
        codes = [told.code for told in self.told]
        self.told.clear()
        return codes


class HelperBench:
    """The shipped helper in a process of its own."""

    def __init__(self, fake: FakeNvml, folder: Path, scenario: Scenario | None = None) -> None:
        self.fake = fake
        self.folder = folder
        fake.show_settable(scenario or machine())

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.fake.environment(), "STATE_DIRECTORY": str(self.folder)}

    def start(self) -> HelperControl:
        return HelperControl([sys.executable, "-m", "gputuner", "--helper"], self.environment())

    def pages(self) -> tuple[Page, ...]:
        return Journal(self.folder).pages()

    def entries(self) -> list[Entry]:
        return [entry for page in self.pages() for entry in page.entries]

    def rewrite(self, old: bytes, new: bytes) -> None:
        """Change what stands in the journal."""
        for path in self.folder.glob("*.json"):
            text = path.read_bytes()
            assert old in text
            path.write_bytes(text.replace(old, new))
            decode(path.read_bytes(), Page)


def kill(control: HelperControl) -> None:
    """kill -9, and wait until it is gone."""
    process = psutil.Process(control._process.pid)
    process.send_signal(signal.SIGKILL)
    control._process.wait()
    control.close()


__all__ = ["GPU", "OTHER", "GuardBench", "HelperBench", "encode", "kill", "machine"]
