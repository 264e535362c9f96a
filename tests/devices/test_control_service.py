"""The helper behind a socket, as systemd starts it (one per connection), and the files that install it."""

import configparser
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from gputuner.assembly.control import INSTALLED, SOCKET
from gputuner.devices.control_client import HelperControl
from gputuner.devices.control_socket import SocketHelper
from gputuner.model.control import Setting
from gputuner.model.errors import DeviceError
from tests.devices.control_bench import GPU, HelperBench
from tests.fake_nvml.fixtures import FakeNvml

PACKAGING = Path(__file__).resolve().parents[2] / "packaging/helper"


def test_each_connection_has_a_helper_that_ends_with_it(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    bench = HelperBench(fake_nvml, tmp_path / "journal")
    path = tmp_path / "helper.sock"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()

    def accept() -> None:
        connection, _ = listening.accept()
        with connection:
            command = [sys.executable, "-m", "gputuner", "--helper"]
            codes.append(
                subprocess.run(
                    command, stdin=connection, stdout=connection, env=bench.environment(), check=False, timeout=600
                ).returncode
            )

    codes: list[int] = []
    systemd = threading.Thread(target=accept)
    systemd.start()
    control = HelperControl(SocketHelper(path))
    assert control.set(GPU, Setting.POWER_LIMIT, (450.0,)).reads == (450.0,)
    assert control.show()[0].state(Setting.POWER_LIMIT).found == (500.0,)
    control.close()
    systemd.join(240)
    listening.close()
    assert codes == [0]
    assert [told.code for told in control.told()] == ["control_restored"]
    assert fake_nvml.writes() == ["0 SetPowerManagementLimit 450000 = 0", "0 SetPowerManagementLimit 500000 = 0"]


def test_a_socket_that_nobody_serves_is_told(tmp_path: Path) -> None:
    with pytest.raises(DeviceError) as refused:
        SocketHelper(tmp_path / "helper.sock")
    assert refused.value.code == "control_no_helper"


def test_the_installed_files_name_one_helper_one_socket_and_one_folder() -> None:
    policy = ElementTree.parse(PACKAGING / "org.gputuner.helper.policy").getroot()
    paths = [each.text for each in policy.iter("annotate")]
    assert paths == [str(INSTALLED)]
    assert {each.text for each in policy.iter("allow_any")} == {"auth_admin"}
    unit = _ini("gputuner-helper.socket")
    assert unit["Socket"]["ListenStream"] == str(SOCKET)
    assert unit["Socket"]["SocketMode"] == "0660"
    service = _ini("gputuner-helper@.service")["Service"]
    assert service["ExecStart"] == str(INSTALLED)
    assert service["ExecStopPost"] == f"{INSTALLED} --restore"
    assert service["StateDirectory"] == "gputuner/control"
    starter = (PACKAGING / "gputuner-helper").read_text()
    assert starter.rstrip().endswith('exec "$PYTHON" -I -m gputuner --helper "$@"')


def _ini(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=True)
    found.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    found.read_string((PACKAGING / name).read_text())
    return found
