"""``control`` of the real program: simulated cards, and real ones played by the fake NVML."""

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.devices.control_bench import HelperBench, machine
from tests.e2e.conftest import Gputuner
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario

pytestmark = pytest.mark.e2e
THERE, BACK = "0 SetPowerManagementLimit 450000 = 0", "0 SetPowerManagementLimit 500000 = 0"


class Machine:
    """The program on a machine with the fake NVML."""

    def __init__(self, fake: FakeNvml, program: Gputuner, folder: Path, scenario: Scenario) -> None:
        self.bench = HelperBench(fake, folder / "journal", scenario)
        self.program = program

    @property
    def writes(self) -> list[str]:
        return self.bench.fake.writes()

    def environment(self) -> dict[str, str]:
        return {**self.program.environment(), **self.bench.environment()}

    def on_terminal(self, *argv: str, says: str, before: str = "") -> tuple[int, str]:
        """Exit code and what stood on the terminal; ``before`` is typed at once, ``says`` when something is asked."""
        near, far = pty.openpty()
        os.write(near, before.encode())
        child = subprocess.Popen(
            self.program.command("control", *argv), env=self.environment(), stdin=far, stdout=far, stderr=far
        )
        os.close(far)
        seen = b""
        typed = False
        while True:
            try:
                part = os.read(near, 4096)
            except OSError:  # the terminal's last user has gone
                break
            if not part:
                break
            seen += part
            if not typed and (b"y:" in seen or b"[y/N]" in seen):
                typed = True
                os.write(near, says.encode())
        os.close(near)
        return child.wait(600), seen.decode()


def one_card(**calls: Any) -> Scenario:
    scenario = machine(**calls)
    del scenario.cards[1]
    return scenario


@pytest.fixture
def there(fake_nvml: FakeNvml, fresh: Gputuner, tmp_path: Path) -> Machine:
    return Machine(fake_nvml, fresh, tmp_path, one_card())


def test_on_a_terminal_a_change_stays_only_if_confirmed(there: Machine) -> None:
    code, seen = there.on_terminal("set", "power-limit", "450", before="y\n", says="n\n")
    assert (code, there.writes) == (0, [THERE, BACK]), seen
    code, seen = there.on_terminal("set", "power-limit", "450", says="y\n")
    assert (code, there.writes[2:]) == (0, [THERE]), seen
    assert "control reset power-limit" in seen


@pytest.mark.parametrize("whom", ["program", "helper"])
def test_kill_9_leaves_the_card_as_it_was_found(there: Machine, whom: str) -> None:
    child = subprocess.Popen(
        there.program.command("control", "set", "power-limit", "450", "--for", "600"),
        env=there.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert "set to 450 W" in child.stdout.readline()
        (helper,) = [c for c in psutil.Process(child.pid).children() if "--helper" in c.cmdline()]
        if whom == "program":
            child.kill()
            _, alive = psutil.wait_procs([helper], timeout=600)
            assert not alive
        else:
            helper.kill()
            assert child.wait(600) == 7
            assert child.stderr is not None
            assert "put back to 500 W" in child.stderr.read()
    assert there.writes == [THERE, BACK]
    assert there.bench.pages() == ()
