"""The shipped helper (``python -m gputuner --helper``) over the fake NVML: the exact writes on every way to its end."""

import json
import queue
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputuner.devices.control_client import HelperControl
from gputuner.devices.helper import put_together
from gputuner.devices.helper_messages import MOST_BYTES
from gputuner.devices.nvml.writes import NvmlControl
from gputuner.model.control import Setting
from gputuner.model.errors import CardBusy, DeviceError, NoPermission, UsageError
from tests.devices.control_bench import GPU, HelperBench, Journal, kill, machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import HANG, error

POWER, LOCK, FAN = Setting.POWER_LIMIT, Setting.SM_CLOCK_LOCK, Setting.FAN
THERE, BACK = "0 SetPowerManagementLimit 450000 = 0", "0 SetPowerManagementLimit 500000 = 0"


@pytest.fixture
def bench(fake_nvml: FakeNvml, tmp_path: Path) -> HelperBench:
    return HelperBench(fake_nvml, tmp_path / "journal")


@contextmanager
def helper(bench: HelperBench) -> Iterator[HelperControl]:
    control = bench.start()
    try:
        yield control
    finally:
        control.close()


def test_finish_puts_back_what_is_held_and_leaves_what_is_kept(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        control.set(GPU, LOCK, (300.0, 1500.0), may_forget=True)
    assert bench.fake.writes() == [THERE, "0 SetGpuLockedClocks 300 1500 = 0", "0 ResetGpuLockedClocks = 0", BACK]
    assert [told.code for told in control.told()] == ["control_restored", "control_restored"]
    assert bench.pages() == ()
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        control.keep(GPU, POWER)
    with helper(bench) as control:
        assert control.show()[0].state(POWER).found == (500.0,)
        assert control.restore(GPU) == (POWER,)
    assert bench.fake.writes()[4:] == [THERE, BACK]


CLIENT = """
import signal, sys
from gputuner.devices.control_client import HelperControl
from gputuner.model.control import Setting
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests were started in the background
control = HelperControl([sys.executable, "-m", "gputuner", "--helper"])
control.set(sys.argv[1], Setting.POWER_LIMIT, (450.0,))
control.set(sys.argv[1], Setting.FAN, (0.7,))
print(control._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_death_of_the_client_puts_all_back(bench: HelperBench, number: signal.Signals) -> None:
    import psutil

    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, GPU],
        env=bench.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with client:
        assert client.stdout is not None
        pid = int(client.stdout.readline())
        of_helper = psutil.Process(pid)
        client.send_signal(number)
        client.wait()
        _, alive = psutil.wait_procs([of_helper], timeout=600)
    assert not alive
    assert bench.fake.writes() == [
        THERE,
        "0 SetFanSpeed_v2 0 70 = 0",
        "0 SetFanSpeed_v2 1 70 = 0",
        "0 SetDefaultFanSpeed_v2 0 = 0",
        "0 SetDefaultFanSpeed_v2 1 = 0",
        BACK,
    ]
    assert bench.pages() == ()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_helper_puts_all_back(bench: HelperBench, number: signal.Signals) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        control._process.send_signal(number)
        assert control._process.wait(600) == 0
        with pytest.raises(DeviceError) as gone:
            control.show()
        assert gone.value.code == "control_helper_gone"
    assert bench.fake.writes() == [THERE, BACK]


def test_ctrl_c_is_for_the_client(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        control._process.send_signal(signal.SIGINT)
        assert control.show()[0].state(POWER).now == (450.0,)
        assert bench.fake.writes() == [THERE]


def test_a_killed_helper_is_made_good_by_the_next(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        kill(control)
    assert bench.fake.writes() == [THERE]
    assert [(e.found, e.written, e.kept) for e in bench.entries()] == [((500.0,), ((450.0,),), False)]
    with helper(bench) as control:
        assert control.show()[0].state(POWER).now == (500.0,)
        assert [told.code for told in control.told()] == ["control_recovered"]
    assert bench.fake.writes() == [THERE, BACK]
    assert bench.pages() == ()


def test_only_restore_makes_good_and_ends(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        kill(control)
    done = subprocess.run(
        [sys.executable, "-m", "gputuner", "--helper", "--restore"],
        env=bench.environment(),
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["told"]["code"] == "control_recovered"
    assert bench.fake.writes() == [THERE, BACK]


def test_killed_between_journal_and_write_nothing_is_left_to_do(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    bench = HelperBench(fake_nvml, tmp_path / "journal", machine(nvmlDeviceSetPowerManagementLimit=HANG))
    control = bench.start()
    line = {"id": 1, "verb": "set", "card": GPU, "setting": "power_limit", "value": [450], "may_forget": False}
    assert control._process.stdin is not None
    control._process.stdin.write(json.dumps({**line, "for_s": None}).encode() + b"\n")
    control._process.stdin.flush()
    while not bench.entries():
        with pytest.raises(subprocess.TimeoutExpired):  # it lives, and has not come that far yet
            control._process.wait(0.02)
    kill(control)
    fake_nvml.show_settable(machine())
    with helper(bench) as control:
        control.show()
        assert [told.code for told in control.told()] == ["control_already_back"]
    assert bench.fake.writes() == []
    assert bench.pages() == ()


def test_a_power_cut_ends_what_was_set_and_is_told(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        kill(control)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().encode()
    bench.rewrite(boot, b"00000000-0000-0000-0000-000000000000")
    bench.fake.reload_driver()
    with helper(bench) as control:
        control.show()
        assert [told.code for told in control.told()] == ["control_dropped_boot"]
    assert bench.fake.writes() == [THERE]
    assert bench.pages() == ()


def test_drift_after_a_kill_is_left_alone(bench: HelperBench) -> None:
    with helper(bench) as control:
        control.set(GPU, POWER, (450.0,))
        kill(control)
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 320_000)
    with helper(bench) as control:
        assert control.show()[0].state(POWER).now == (320.0,)
        assert [told.code for told in control.told()] == ["control_dropped_changed"]
    assert bench.fake.writes() == [THERE]


def test_a_refused_write_claims_nothing(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    forbidden = machine(nvmlDeviceSetPowerManagementLimit=error("NO_PERMISSION"))
    bench = HelperBench(fake_nvml, tmp_path / "journal", forbidden)
    with helper(bench) as control:
        with pytest.raises(NoPermission) as refused:
            control.set(GPU, POWER, (450.0,))
        assert refused.value.code == "control_no_permission"
    assert bench.fake.writes() == ["0 SetPowerManagementLimit 450000 = 4"]
    assert bench.pages() == ()


def test_a_second_client_is_refused_while_the_first_holds(bench: HelperBench) -> None:
    with helper(bench) as first, helper(bench) as second:
        first.set(GPU, POWER, (450.0,))
        with pytest.raises(CardBusy) as refused:
            second.set(GPU, POWER, (400.0,))
        assert refused.value.params["pid"] == str(first._process.pid)
        with pytest.raises(UsageError):
            first.set(GPU, POWER, (50.0,))
    assert bench.fake.writes() == [THERE, BACK]


def test_without_a_driver_there_is_no_helper(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    from tests.fake_nvml.scenario import Scenario

    fake_nvml.show(Scenario(init="DRIVER_NOT_LOADED"))
    with pytest.raises(DeviceError) as refused:
        HelperControl([sys.executable, "-m", "gputuner", "--helper"], HelperBench.environment(_bare(fake_nvml)))
    assert refused.value.code == "nvml_driver_not_loaded"


def _bare(fake: FakeNvml) -> HelperBench:
    bench = HelperBench.__new__(HelperBench)
    bench.fake, bench.folder = fake, fake.folder
    return bench


def test_a_hundred_thousand_malformed_messages_change_nothing(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    """Broken, foreign and nearly right lines: the desk answers each with an error, and the card is never written."""
    fake_nvml.show_settable(machine())
    said: list[bytes] = []
    cards = NvmlControl()
    guard, desk = put_together(cards, Journal(tmp_path / "journal"), said.append)
    for line in _malformed(100_000, random.Random(6)):
        desk.line(line)
    guard.close()
    cards.close()
    assert len(said) == 100_000
    assert {json.loads(answer)["error"]["code"] for answer in said} <= FITTING
    assert fake_nvml.writes() == []
    assert list((tmp_path / "journal").glob("*.json")) == []


FITTING = {"control_malformed", "control_no_card", "control_out_of_range", "control_value"}
RIGHT = {"id": 7, "verb": "set", "card": GPU, "setting": "power_limit", "value": [450], "may_forget": False}
ODD: tuple[object, ...] = (
    None, True, -1, 0, 2**40, 1e300, -1e9, "", "x", "../../etc/passwd", "__class__", "\ud800", "GPU-" + "9" * 60, [],
    [1], [1, 2, 3], [[450]], [None], [True], ["450"], {}, {"$": 1}, "power_limit\n", "nvmlDeviceReset",
    [1e308, 1e308], "$(reboot)", [49], [701], [199.9], [float("inf")], [float("nan")],
)  # fmt: skip


def _malformed(count: int, chance: random.Random) -> Iterator[bytes]:
    right = {**RIGHT, "for_s": None}
    text = json.dumps(right).encode()
    for number in range(count):
        match number % 5:
            case 0:
                yield chance.randbytes(chance.randrange(60))
            case 1:  # a right line with bytes torn out or replaced inside its braces
                at = chance.randrange(1, len(text) - 1)
                torn = text[:at] + chance.choice((b"", b"\x00", b"{", b'"', b"\xff", b"[")) + text[at + 3 :]
                yield b"{}" if _right(torn) else torn
            case 2:  # one key with an odd value
                key = chance.choice(("id", "verb", "card", "setting", "value", "may_forget", "for_s"))
                odd = chance.choice(ODD)
                fits = (key == "id" and odd == 0) or (key == "for_s" and odd is None)
                fits = fits or (key == "may_forget" and odd is True)
                yield b"{}" if fits else json.dumps({**right, key: odd}).encode()
            case 3:  # one key too many, too few or twice
                extra = {f"k{chance.randrange(9)}": chance.choice(("a", 1))}
                left_out = chance.choice(list(right))
                less = {key: value for key, value in right.items() if key != left_out}
                twice = text[:-1] + b', "value": [300]}'
                yield chance.choice((json.dumps({**right, **extra}).encode(), json.dumps(less).encode(), twice))
            case _:
                yield chance.choice((b"[" * 5000, b"9" * 900, b'{"id": ' + b"1" * (MOST_BYTES - 8), b" " * 2000, b""))


def _right(line: bytes) -> bool:
    """Torn only where it does not matter."""
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return {key: told.get(key) for key in ("verb", "card", "setting")} == {
        key: RIGHT[key] for key in ("verb", "card", "setting")
    }


def test_the_fuzzed_helper_still_answers(bench: HelperBench) -> None:
    """Through the pipe: lines far too long and bytes that are no text, then a right one."""
    with helper(bench) as control:
        assert control._process.stdin is not None
        for line in (b"x" * 3_000_000, b"\xff\xfe", b"{" * 900, b'{"id": 1}'):
            control._process.stdin.write(line + b"\n")
        control._process.stdin.flush()
        answers = [control._answers.get(timeout=600) for _ in range(4)]
        assert [answer is not None and answer["error"]["code"] for answer in answers] == ["control_malformed"] * 4
        assert control.show()[0].uuid == GPU
        with pytest.raises(queue.Empty):
            control._answers.get_nowait()
