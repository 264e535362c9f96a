"""Users' situations in which the window must open although the driver does not answer."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import run
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, case

pytestmark = pytest.mark.e2e
CASES = Path(__file__).parents[1] / "data" / "cases"
WINDOW = """
import json, sys
from pathlib import Path
from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.gui.app import make_application
from gputuner.gui.screenshots import wait_until
from gputuner.gui.theme import Choice
from gputuner.gui.window import MainWindow

application = make_application()
setup = open_setup(data_dir=Path(sys.argv[1]))
window = MainWindow(WindowPorts(setup), Choice.LIGHT)
window.show()
told = {}
for page in ("monitor", "tune", "sessions"):
    window.show_page(page)
    told[page] = window.page
wait_until(lambda: len(window.sessions.table.rows.keys) > 0, 30)
told["kept"] = len(window.sessions.table.rows.keys)
window.show_page("monitor")
wait_until(lambda: bool(window.monitor.notice.text) or bool(window.conductor.live.cards), 30)
window.monitor.refresh()
told["notice"] = window.monitor.notice.text
told["cards"] = list(window.conductor.live.cards)
told["startable"] = window.tune.can_start
window.close()
setup.close()
print(json.dumps(told))
"""


@pytest.fixture
def opened(tmp_path: Path, fake_nvml: FakeNvml):
    """Opens the window over a case, on a data folder with one recording, and gives what it showed."""

    def show(name: str) -> dict[str, Any]:
        data = str(tmp_path / "data")
        code, _, err = run("record", "--simulate", "rtx-3090", "--duration", "5", "--data-dir", data)
        assert code == 0, err
        fake_nvml.show(Scenario.from_case(case(CASES / f"{name}.json")), log=False)
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LC_ALL": "C.UTF-8", **fake_nvml.environment()}
        command = [sys.executable, "-c", WINDOW, data]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        found = json.loads(done.stdout)
        assert [found[page] for page in ("monitor", "tune", "sessions")] == ["monitor", "tune", "sessions"]
        assert found["kept"] == 1, "past sessions are there"
        return found

    return show


def test_c025_without_nvml_the_window_works_on_the_processor(opened):
    found = opened("c025_nvml_absent")
    assert found["cards"] == ["cpu"]
    assert found["startable"] is True


def test_c028_with_a_mismatch_the_window_opens_and_says_what_to_do(opened):
    found = opened("c028_nvml_mismatch")
    assert found["cards"] == []
    assert "differ in version" in found["notice"]
    assert "restart" in found["notice"]
    assert found["startable"] is False
