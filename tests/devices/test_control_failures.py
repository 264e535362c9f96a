"""What goes wrong while something is changed or put back: the card is as it was found, or it is told and retried."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gputuner.devices.control_journal import Entry, Moment
from gputuner.devices.nvml.errors import failed
from gputuner.model.control import Setting, Value
from gputuner.model.errors import DeviceError, DeviceLost, GputunerError, StoreError
from tests.devices.control_bench import GPU, OTHER, GuardBench, machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

POWER, LOCK, CORE, FAN = Setting.POWER_LIMIT, Setting.SM_CLOCK_LOCK, Setting.CORE_OFFSET, Setting.FAN
FANS_BACK = ["0 SetDefaultFanSpeed_v2 0 = 0", "0 SetDefaultFanSpeed_v2 1 = 0"]
Make = Callable[..., GuardBench]


@pytest.fixture
def make(fake_nvml: FakeNvml, tmp_path: Path) -> Iterator[Make]:
    made: list[GuardBench] = []

    def make(scenario: Scenario | None = None) -> GuardBench:
        made.append(GuardBench(fake_nvml, tmp_path / "journal", scenario))
        return made[-1]

    yield make
    for bench in made:
        bench.shut()


@pytest.fixture
def bench(make: Make) -> GuardBench:
    return make()


def fail_from_now(bench: GuardBench, *names: str, times: int = 10**9) -> None:
    """Let calls fail with an unknown error, the first ``times`` of them."""
    ask, left = bench.control._binding.ask, [times]

    def bad(name: str, *args: Any) -> Any:
        if name in names and left[0] > 0:
            left[0] -= 1
            return failed(999)
        return ask(name, *args)

    bench.control._binding.ask = bad


def left_in_journal(bench: GuardBench) -> list[tuple[Setting, Value]]:
    return [(e.setting, e.found) for page in bench.journal.pages() for e in page.entries]


# --- fans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ticks", [0, 3])
@pytest.mark.parametrize("calls", [("NumFans",), ("NumFans", "Temperature"), ("FanControlPolicy_v2", "Temperature")])
def test_fans_go_back_whatever_cannot_be_read(bench: GuardBench, calls: tuple[str, ...], ticks: int) -> None:
    bench.guard.set(GPU, FAN, (0.4,))
    fail_from_now(bench, *(f"nvmlDeviceGet{call}" for call in calls))
    for _ in range(ticks):
        bench.guard.tick()
    bench.guard.close()
    assert bench.fake.writes()[2:4] == FANS_BACK
    assert bench.journal.pages() == ()


def test_a_card_whose_fans_are_not_told_is_not_said_to_be_automatic(make: Make) -> None:
    bench = make(machine(nvmlDeviceGetNumFans=error("UNKNOWN")))
    assert bench.reads(FAN) is None
    with pytest.raises(GputunerError):
        bench.guard.set(GPU, FAN, (0.4,), may_forget=True)
    with pytest.raises(DeviceError):
        bench.control.write(GPU, FAN, ())
    assert bench.fake.writes() == []


def test_every_fan_is_tried_and_what_failed_is_tried_again(bench: GuardBench) -> None:
    bench.guard.set(GPU, FAN, (0.4,))
    fail_from_now(bench, "nvmlDeviceSetDefaultFanSpeed_v2", times=1)
    bench.guard.close()
    assert bench.fake.writes()[2:] == [FANS_BACK[1], *FANS_BACK]
    assert bench.codes() == ["control_restore_failed", "control_restored"]
    assert bench.journal.pages() == ()


@pytest.mark.parametrize(("core_c", "back"), [(79, False), (80, True)])
def test_without_a_slowdown_temperature_fans_go_back_at_80_degrees(make: Make, core_c: int, back: bool) -> None:
    told = {"nvmlDeviceGetTemperatureThreshold(1)": NOT_SUPPORTED}
    bench = make(machine(**told, nvmlDeviceGetTemperature={"sequence": [41, core_c]}))
    bench.guard.set(GPU, FAN, (0.4,))
    bench.guard.tick()
    assert bench.codes() == (["control_fan_hot"] if back else [])


def test_fans_go_back_exactly_three_degrees_before_the_slowdown(make: Make) -> None:
    told = {"nvmlDeviceGetTemperatureThreshold(1)": 90}
    bench = make(machine(**told, nvmlDeviceGetTemperature={"sequence": [41, 86, 87]}))
    bench.guard.set(GPU, FAN, (0.4,))
    bench.guard.tick()
    assert bench.codes() == []
    bench.guard.tick()
    assert bench.codes() == ["control_fan_hot"]


# --- putting back that fails ------------------------------------------------------------------------------------------


def test_a_timer_whose_write_fails_once_is_tried_at_the_next_look(make: Make) -> None:
    bench = make()
    bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    fail_from_now(bench, "nvmlDeviceSetPowerManagementLimit", times=2)
    bench.now_s += 15.0
    for _ in range(3):
        bench.guard.tick()
    assert bench.codes() == ["control_restore_failed", "control_time_over"]
    assert bench.reads(POWER) == (500.0,)


def test_an_undo_that_does_not_show_is_told_and_tried_again(bench: GuardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    write, deaf = bench.control.write, [True]

    def odd(uuid: str, setting: Setting, value: Value) -> None:
        if value == (450.0,):
            write(uuid, setting, (440.0,))
        elif not deaf[0]:
            write(uuid, setting, value)

    monkeypatch.setattr(bench.control, "write", odd)
    with pytest.raises(DeviceError) as told:
        bench.guard.set(GPU, POWER, (450.0,))
    assert told.value.code == "control_left_changed"
    assert bench.codes() == ["control_restore_failed"]
    assert left_in_journal(bench) == [(POWER, (500.0,))]
    deaf[0] = False
    bench.guard.tick()
    assert bench.reads(POWER) == (500.0,)
    assert bench.journal.pages() == ()


def test_putting_back_is_read_back(bench: GuardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.guard.set(GPU, CORE, (15.0,))
    monkeypatch.setattr(bench.control, "write", lambda *_args: None)
    bench.guard.close()
    assert bench.codes() == ["control_restore_failed"]
    assert left_in_journal(bench) == [(CORE, (0.0,))]


def test_one_setting_that_refuses_does_not_keep_the_others(make: Make) -> None:
    bench = make(machine(nvmlDeviceResetGpuLockedClocks=error("UNKNOWN")))
    for way in ("restore", "recover"):
        bench.guard.set(GPU, POWER, (450.0,))
        bench.guard.set(GPU, LOCK, (300.0, 1500.0), may_forget=True)
        if way == "restore":
            bench.guard.keep(GPU, POWER)
            with pytest.raises(DeviceError):
                bench.guard.restore(GPU)
        else:
            bench.die()
            assert bench.open().recover() is False
        assert bench.reads(POWER) == (500.0,)
        assert left_in_journal(bench) == [(LOCK, ())]


# --- the journal ------------------------------------------------------------------------------------------------------


def test_a_disk_that_fills_after_the_write_leaves_nothing_changed(
    bench: GuardBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = bench.journal.write, [0]

    def full(card: str, entries: tuple[Entry, ...]) -> None:
        written[0] += 1
        if written[0] > 1 and entries:
            raise StoreError("control_journal", "no space", path="x", message="no space")
        write(card, entries)

    monkeypatch.setattr(bench.journal, "write", full)
    with pytest.raises(StoreError) as told:
        bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    assert told.value.code == "control_journal_late"
    assert bench.reads(POWER) == (500.0,)
    assert bench.journal.pages() == ()


def test_the_journal_is_flushed_to_the_disk_before_the_card_is_written(
    bench: GuardBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noted(word: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: Any) -> Any:
            order.append(word)
            return call(*args)

        return noting

    monkeypatch.setattr(os, "fsync", noted("flush", os.fsync))
    monkeypatch.setattr(os, "replace", noted("name", os.replace))
    monkeypatch.setattr(bench.control, "write", noted("write", bench.control.write))
    bench.guard.set(GPU, POWER, (450.0,))
    assert order[:4] == ["flush", "name", "flush", "write"]


def test_killed_between_second_note_and_second_write_the_value_before_is_still_ours(
    bench: GuardBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_args: object) -> None:
        raise Killed

    bench.guard.set(GPU, POWER, (450.0,))
    monkeypatch.setattr(bench.control, "write", killed)
    with pytest.raises(Killed):
        bench.guard.set(GPU, POWER, (400.0,))
    bench.die()
    assert bench.open().recover()
    assert bench.reads(POWER) == (500.0,)
    assert bench.codes() == ["control_recovered"]


@pytest.mark.parametrize("bad", ['"found":[]', '"found":[500.0,1.0]', '"found":[5000.0]'])
def test_a_page_with_a_value_that_cannot_be_is_not_written_to_the_card(bench: GuardBench, bad: str) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.die()
    (path,) = bench.journal.folder.glob("*.json")
    path.write_text(path.read_text().replace('"found":[500.0]', bad))
    assert bench.open().recover() is False
    expected = "control_restore_failed" if "5000" in bad else "control_journal_damaged"
    assert bench.codes() == [expected]
    assert len(bench.fake.writes()) == 1


def test_what_cannot_be_read_after_a_crash_is_left_and_told(bench: GuardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.die()
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 320_000)
    bench.open()
    fail_from_now(bench, "nvmlDeviceGetPowerManagementLimit")
    assert bench.guard.recover() is False
    assert bench.codes() == ["control_restore_failed"]
    assert len(bench.fake.writes()) == 1
    assert left_in_journal(bench) == [(POWER, (500.0,))]


def test_a_boot_that_was_not_known_then_and_is_not_now_is_no_proof(bench: GuardBench) -> None:
    bench.moment = Moment(boot="", driver=7)
    bench.guard.set(GPU, POWER, (450.0,))
    bench.die()
    bench.open().recover()
    assert bench.codes() == ["control_dropped_boot"]
    assert len(bench.fake.writes()) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_others_may_read_the_journal_but_not_take_the_lock_whatever_the_umask(bench: GuardBench) -> None:
    before = os.umask(0o077)
    try:
        bench.guard.set(GPU, POWER, (450.0,))
    finally:
        os.umask(before)
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in bench.journal.folder.iterdir()}
    assert modes == {".json": 0o644, ".lock": 0o600}
    assert bench.journal.folder.stat().st_mode & 0o777 == 0o755


def test_a_recovery_that_another_process_keeps_out_is_told(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    first = bench.guard
    assert bench.open().recover() is False
    (told,) = bench.told
    assert (told.code, told.params["pid"]) == ("control_recovery_busy", str(os.getpid()))
    bench.told.clear()
    first.close()
    assert bench.guard.recover() is True


# --- near values, drift, late words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "first", "then", "found"),
    [(CORE, (100.0,), (15.0,), (0.0,)), (CORE, (15.0,), (14.0,), (0.0,)), (POWER, (450.0,), (500.5,), (500.0,))],
)
def test_a_value_near_to_what_was_found_is_no_less_a_change(
    bench: GuardBench, setting: Setting, first: Value, then: Value, found: Value
) -> None:
    assert bench.guard.set(GPU, setting, first).changed
    assert bench.guard.set(GPU, setting, then).changed
    assert bench.reads(setting) == then
    bench.guard.close()
    assert bench.reads(setting) == found


def test_a_kept_lock_is_put_back_after_one_that_is_near(bench: GuardBench) -> None:
    bench.guard.set(GPU, LOCK, (300.0, 1500.0), may_forget=True)
    bench.guard.keep(GPU, LOCK)
    bench.guard.set(GPU, LOCK, (310.0, 1490.0))
    bench.guard.close()
    assert bench.fake.writes()[-1] == "0 SetGpuLockedClocks 300 1500 = 0"


def test_after_drift_over_a_kept_change_the_value_of_others_is_what_was_found(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.guard.keep(GPU, POWER)
    bench.guard.set(GPU, POWER, (400.0,))
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 350_000)
    bench.guard.set(GPU, POWER, (420.0,))
    bench.guard.keep(GPU, POWER)
    bench.guard.restore(GPU)
    assert bench.reads(POWER) == (350.0,)


def test_what_was_put_back_meanwhile_cannot_be_kept(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    bench.now_s += 15.0
    bench.guard.tick()
    with pytest.raises(DeviceError) as told:
        bench.guard.keep(GPU, POWER)
    assert told.value.code == "control_not_held"
    bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    bench.guard.keep(GPU, POWER)


def test_a_lost_card_does_not_hide_the_others(bench: GuardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    state = bench.control.state

    def lost(uuid: str, setting: Setting) -> Any:
        if uuid == GPU:
            raise DeviceLost("nvml_gpu_lost", "lost", card=uuid)
        return state(uuid, setting)

    monkeypatch.setattr(bench.control, "state", lost)
    first, second = bench.guard.show()
    assert {s.reason for s in first.states} == {"lost"}
    assert second.state(POWER).now == (350.0,)
    bench.guard.set(OTHER, POWER, (300.0,))


def test_a_lock_that_is_taken_away_after_a_crash_says_what_else_may_go(bench: GuardBench) -> None:
    bench.guard.set(GPU, LOCK, (300.0, 1500.0), may_forget=True)
    bench.die()
    bench.open().recover()
    assert bench.codes() == ["control_recovered_lock"]
