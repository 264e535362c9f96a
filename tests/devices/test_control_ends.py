"""The shipped helper in a process of its own: signals, clocks, heat, and clients that do not read or vanish."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from gputuner.devices.control_client import HelperControl
from gputuner.model.control import Setting
from tests.devices.control_bench import GPU, HelperBench, kill, machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import error

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and sockets of POSIX")
POWER, FAN = Setting.POWER_LIMIT, Setting.FAN
THERE, BACK = "0 SetPowerManagementLimit 450000 = 0", "0 SetPowerManagementLimit 500000 = 0"
COMMAND = [sys.executable, "-m", "gputuner", "--helper"]


@pytest.fixture
def bench(fake_nvml: FakeNvml, tmp_path: Path) -> HelperBench:
    return HelperBench(fake_nvml, tmp_path / "journal")


def asked(number: int, verb: str, **words: object) -> bytes:
    return json.dumps({"id": number, "verb": verb, **words}).encode() + b"\n"


def wished(number: int, setting: Setting, value: list[float], for_s: float | None = None) -> bytes:
    return asked(number, "set", card=GPU, setting=setting.value, value=value, may_forget=True, for_s=for_s)


@contextmanager
def piped(bench: HelperBench) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes], IO[bytes]]]:
    """A helper with its streams, past its first word."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bench.environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert b"hello" in process.stdout.readline()
        try:
            yield process, process.stdin, process.stdout
        finally:
            process.kill()


def test_no_signal_that_can_be_caught_leaves_a_card_changed(bench: HelperBench) -> None:
    numbers = [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU]
    for number in numbers:
        with piped(bench) as (process, stdin, stdout):
            stdin.write(wished(1, POWER, [450]))
            stdin.flush()
            stdout.readline()
            for stopping in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE):
                process.send_signal(stopping)
            process.send_signal(number)
            assert process.wait(600) == 0, number
    assert bench.fake.writes() == [THERE, BACK] * len(numbers)
    assert bench.pages() == ()


def test_the_helper_has_a_session_of_its_own(bench: HelperBench) -> None:
    """So neither Ctrl-Z nor Ctrl-\\ of the terminal reaches it."""
    with piped(bench) as (process, _stdin, _stdout):
        assert os.getsid(process.pid) == process.pid


def test_clock_and_heat_are_watched_while_nobody_speaks(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    hot = machine(nvmlDeviceGetTemperature={"sequence": [41, 41, 93]})
    bench = HelperBench(fake_nvml, tmp_path / "journal", hot)
    with piped(bench) as (_process, stdin, stdout):
        stdin.write(wished(1, FAN, [0.4]) + wished(2, POWER, [450], 0.1))
        stdin.flush()
        told: list[str] = []
        while len(told) < 2:
            answer = json.loads(stdout.readline())
            told += [answer["told"]["code"]] if "told" in answer else []
        assert sorted(told) == ["control_fan_hot", "control_time_over"]
    assert sorted(bench.fake.writes()[3:]) == [*(f"0 SetDefaultFanSpeed_v2 {fan} = 0" for fan in (0, 1)), BACK]


def test_a_client_that_vanishes_with_an_answer_unread_is_gone(bench: HelperBench) -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, env=bench.environment())
    theirs.close()
    with process, ours:
        stream = ours.makefile("rb")
        assert b"hello" in stream.readline()
        stream.close()
        ours.sendall(wished(1, POWER, [450]))
        while ours.recv(1, socket.MSG_PEEK) == b"":
            pass
        ours.close()
        assert process.wait(600) == 0
    assert bench.fake.writes() == [THERE, BACK]


def test_a_client_that_does_not_read_stops_neither_clock_nor_end(bench: HelperBench) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:  # what the helper says finds no room at all
            os.write(writing, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=writing, env=bench.environment())
    with process:
        assert process.stdin is not None
        process.stdin.write(wished(1, POWER, [450], 0.1))
        process.stdin.flush()
        while bench.fake.writes() != [THERE, BACK]:
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.05)
        os.close(writing)
        os.close(reading)
        process.send_signal(signal.SIGTERM)
        assert process.wait(600) == 0


def test_restore_that_fails_says_so_by_its_exit_code(bench: HelperBench) -> None:
    control = bench.start()
    control.set(GPU, POWER, (450.0,))
    kill(control)
    assert [told.code for told in control.told()] == ["control_helper_gone"]
    bench.fake.show_settable(machine(nvmlDeviceSetPowerManagementLimit=error("UNKNOWN")))
    done = subprocess.run(
        [*COMMAND, "--restore"], env=bench.environment(), capture_output=True, check=False, timeout=600
    )
    assert done.returncode == 7
    assert json.loads(done.stdout)["told"]["code"] == "control_restore_failed"
    assert len(bench.entries()) == 1


def test_a_folder_full_of_foreign_modules_gives_the_helper_none(
    bench: HelperBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gputuner.assembly.control import helper_command

    for name in ("json", "queue", "gputuner", "pynvml"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(66)")
    monkeypatch.chdir(tmp_path)
    control = HelperControl(helper_command("auto"), bench.environment())
    assert control.show()[0].uuid == GPU
    control.close()
