"""The guard over the fake NVML: what is refused, what is written, in which order, and what stands afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputuner.devices.control_journal import Moment
from gputuner.model.control import Setting
from gputuner.model.errors import CardBusy, DeviceError, NoPermission, NotSupported, StoreError, UsageError
from tests.devices.control_bench import GPU, OTHER, GuardBench, machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

POWER, LOCK, CORE, FAN = Setting.POWER_LIMIT, Setting.SM_CLOCK_LOCK, Setting.CORE_OFFSET, Setting.FAN
SET = "0 SetPowerManagementLimit {} = 0"


Make = Callable[..., GuardBench]


@pytest.fixture
def make(fake_nvml: FakeNvml, tmp_path: Path) -> Iterator[Make]:
    made: list[GuardBench] = []

    def make(scenario: Scenario | None = None, folder: str = "journal") -> GuardBench:
        made.append(GuardBench(fake_nvml, tmp_path / folder, scenario))
        return made[-1]

    yield make
    for bench in made:
        bench.shut()


@pytest.fixture
def bench(make: Make) -> GuardBench:
    return make()


def watts(*milli: int) -> list[str]:
    return [SET.format(value) for value in milli]


def test_c066_out_of_range_is_refused_and_restore_gives_what_was_found(bench: GuardBench) -> None:
    with pytest.raises(UsageError) as refused:
        bench.guard.set(GPU, POWER, (50.0,))
    assert refused.value.code == "control_out_of_range"
    assert (refused.value.params["low"], refused.value.params["high"]) == (200.0, 700.0)
    assert bench.fake.writes() == []
    applied = bench.guard.set(GPU, POWER, (450.0,))
    assert (applied.found, applied.reads, applied.enforced_w) == ((500.0,), (450.0,), 450.0)
    assert bench.guard.restore(GPU, POWER) == (POWER,)
    assert bench.fake.writes() == watts(450_000, 500_000)
    assert bench.reads(POWER) == (500.0,)
    assert bench.journal.pages() == ()


def test_the_journal_is_on_disk_before_the_card_is_written(bench: GuardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []
    write = bench.control.write

    def look(uuid: str, setting: Setting, value: tuple[float, ...]) -> None:
        seen.extend((e.setting, e.found, e.written, e.moment.boot) for e in bench.journal.entries(uuid))
        write(uuid, setting, value)

    monkeypatch.setattr(bench.control, "write", look)
    bench.guard.set(GPU, POWER, (450.0,))
    assert seen == [(POWER, (500.0,), ((450.0,),), "boot-1")]


def test_a_journal_that_cannot_be_written_leaves_the_card_alone(bench: GuardBench, tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file where a folder should be")
    with pytest.raises(StoreError):
        bench.guard.set(GPU, POWER, (450.0,))
    assert bench.fake.writes() == []


def test_closing_puts_back_all_that_is_held_in_reverse(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.guard.set(GPU, POWER, (400.0,))
    bench.guard.set(GPU, CORE, (90.0,))
    bench.guard.set(GPU, LOCK, (300.0, 1500.0), may_forget=True)
    bench.guard.set(GPU, FAN, (0.7,))
    bench.guard.close()
    assert bench.fake.writes() == [
        *watts(450_000, 400_000),
        "0 SetClockOffsets 0 0 90 = 0",
        "0 SetGpuLockedClocks 300 1500 = 0",
        "0 SetFanSpeed_v2 0 70 = 0",
        "0 SetFanSpeed_v2 1 70 = 0",
        "0 SetDefaultFanSpeed_v2 0 = 0",
        "0 SetDefaultFanSpeed_v2 1 = 0",
        "0 ResetGpuLockedClocks = 0",
        "0 SetClockOffsets 0 0 0 = 0",
        *watts(500_000),
    ]
    assert bench.reads(POWER) == (500.0,)
    assert bench.reads(CORE) == (0.0,)
    assert bench.reads(FAN) == ()
    assert bench.journal.pages() == ()


def test_what_is_kept_stays_and_a_later_process_puts_back_what_was_found_first(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.guard.keep(GPU, POWER)
    bench.guard.close()
    assert bench.reads(POWER) == (450.0,)
    later = bench.open()
    later.recover()
    state = later.show()[0].state(POWER)
    assert (state.now, state.found, state.kept, state.intact) == ((450.0,), (500.0,), True, True)
    later.set(GPU, POWER, (400.0,))
    later.close()
    assert bench.reads(POWER) == (450.0,)
    last = bench.open()
    last.set(GPU, POWER, (400.0,))
    last.keep(GPU, POWER)
    assert last.restore(GPU) == (POWER,)
    assert bench.fake.writes() == watts(450_000, 400_000, 450_000, 400_000, 500_000)
    assert bench.journal.pages() == ()


def test_an_unconfirmed_change_is_put_back_when_its_time_is_over(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    bench.now_s += 14.9
    bench.guard.tick()
    assert bench.fake.writes() == watts(450_000)
    bench.now_s += 0.1
    bench.guard.tick()
    assert bench.fake.writes() == watts(450_000, 500_000)
    assert bench.codes() == ["control_time_over"]
    bench.guard.set(GPU, POWER, (450.0,), for_s=15.0)
    bench.guard.keep(GPU, POWER)
    bench.now_s += 100
    bench.guard.tick()
    bench.guard.close()
    assert bench.reads(POWER) == (450.0,)


def test_clock_locks_are_taken_only_if_what_others_locked_may_be_lost(bench: GuardBench) -> None:
    with pytest.raises(UsageError) as refused:
        bench.guard.set(GPU, LOCK, (300.0, 1500.0))
    assert refused.value.code == "control_lock_unread"
    assert bench.fake.writes() == []
    assert bench.guard.set(GPU, LOCK, (300.0, 1500.0), may_forget=True).reads is None
    bench.guard.keep(GPU, LOCK)
    bench.guard.set(GPU, LOCK, (300.0, 1200.0))
    bench.guard.close()
    assert bench.fake.writes() == [
        "0 SetGpuLockedClocks 300 1500 = 0",
        "0 SetGpuLockedClocks 300 1200 = 0",
        "0 SetGpuLockedClocks 300 1500 = 0",
    ]
    with pytest.raises(UsageError, match="lowest clock is above"):
        bench.open().set(GPU, LOCK, (1500.0, 300.0), may_forget=True)


def test_a_fan_set_by_others_is_taken_only_if_that_may_be_lost(bench: GuardBench) -> None:
    bench.fake.meddle("nvmlDeviceGetFanControlPolicy_v2(0)", 1)
    bench.fake.meddle("nvmlDeviceGetTargetFanSpeed(0)", 55)
    with pytest.raises(UsageError) as refused:
        bench.guard.set(GPU, FAN, (0.7,))
    assert refused.value.code == "control_fan_taken"
    bench.guard.set(GPU, FAN, (0.7,), may_forget=True)
    with pytest.raises(UsageError):
        bench.guard.keep(GPU, FAN)
    bench.guard.close()
    assert bench.reads(FAN) == ()


@pytest.mark.parametrize("speed", [0.0, 0.29, 1.01])
def test_a_fan_below_its_floor_is_refused(bench: GuardBench, speed: float) -> None:
    with pytest.raises(UsageError, match="must lie between"):
        bench.guard.set(GPU, FAN, (speed,))
    assert bench.fake.writes() == []


def test_fans_go_back_when_the_temperature_cannot_be_read(make: Make, fake_nvml: FakeNvml) -> None:
    blind = machine(nvmlDeviceGetTemperature={"sequence": [41, 41, error("UNKNOWN")]})
    bench = make(blind)
    bench.guard.set(GPU, FAN, (0.5,))
    bench.guard.tick()
    bench.guard.tick()
    bench.guard.tick()
    assert bench.codes() == ["control_fan_blind"]
    assert bench.reads(FAN) == ()
    assert [w.split(" ")[1] for w in fake_nvml.writes()] == ["SetFanSpeed_v2"] * 2 + ["SetDefaultFanSpeed_v2"] * 2


def test_fans_go_back_when_the_card_is_about_to_slow_down(make: Make, fake_nvml: FakeNvml) -> None:
    bench = make(machine(nvmlDeviceGetTemperature={"sequence": [41, 93]}))
    bench.guard.set(GPU, FAN, (0.5,))
    bench.guard.tick()
    assert bench.codes() == ["control_fan_hot"]
    assert bench.reads(FAN) == ()


@pytest.mark.parametrize("told", [93, error("NOT_SUPPORTED")])
def test_a_fan_that_nobody_could_watch_is_not_set(make: Make, told: object) -> None:
    bench = make(machine(nvmlDeviceGetTemperature=told))
    with pytest.raises(DeviceError) as refused:
        bench.guard.set(GPU, FAN, (0.5,))
    assert refused.value.code == "control_fan_unsafe"
    assert bench.fake.writes() == []


def test_a_fan_that_fails_half_way_is_automatic_again(make: Make, fake_nvml: FakeNvml) -> None:
    half = machine(**{"nvmlDeviceSetFanSpeed_v2(1)": error("NOT_SUPPORTED")})
    bench = make(half)
    with pytest.raises(NotSupported):
        bench.guard.set(GPU, FAN, (0.7,))
    assert bench.reads(FAN) == ()
    assert fake_nvml.writes() == [
        "0 SetFanSpeed_v2 0 70 = 0",
        "0 SetFanSpeed_v2 1 70 = 3",
        "0 SetDefaultFanSpeed_v2 0 = 0",
        "0 SetDefaultFanSpeed_v2 1 = 0",
    ]
    assert bench.journal.pages() == ()


def test_c069_a_limit_that_does_not_follow_is_told_and_put_back(make: Make, fake_nvml: FakeNvml) -> None:
    stubborn = machine(
        nvmlDeviceSetPowerManagementLimit=1,
        nvmlDeviceGetPowerManagementLimit=80_000,
        nvmlDeviceGetEnforcedPowerLimit=80_000,
        nvmlDeviceGetPowerManagementLimitConstraints=[60_000, 100_000],
    )
    bench = make(stubborn)
    with pytest.raises(DeviceError) as refused:
        bench.guard.set(GPU, POWER, (100.0,))
    assert refused.value.code == "control_mismatch"
    assert (refused.value.params["wanted"], refused.value.params["shows"]) == ("100", "80")
    assert fake_nvml.writes() == watts(100_000)
    assert bench.journal.pages() == ()


def test_c069_a_limit_that_is_not_offered_is_refused_without_a_write(make: Make, fake_nvml: FakeNvml) -> None:
    laptop = machine(nvmlDeviceGetPowerManagementLimitConstraints=NOT_SUPPORTED)
    bench = make(laptop)
    with pytest.raises(NotSupported) as refused:
        bench.guard.set(GPU, POWER, (100.0,))
    assert refused.value.code == "control_not_supported"
    unknown = machine(nvmlDeviceGetPowerManagementLimitConstraints=[0, 0])
    with pytest.raises(NotSupported) as refused:
        make(unknown, "other").guard.set(GPU, POWER, (100.0,))
    assert refused.value.code == "control_range_unknown"
    assert fake_nvml.writes() == []


def test_c070_without_permission_nothing_is_claimed_and_nothing_noted(make: Make, fake_nvml: FakeNvml) -> None:
    for call in ("SetPowerManagementLimit", "SetGpuLockedClocks", "SetClockOffsets", "SetFanSpeed_v2"):
        scenario = machine(**{f"nvmlDevice{call}": error("NO_PERMISSION")})
        bench = make(scenario, call)
        asked = {"SetPow": (POWER, (450.0,)), "SetGpu": (LOCK, (300.0, 900.0)), "SetClo": (CORE, (30.0,))}
        setting, value = asked.get(call[:6], (FAN, (0.7,)))
        with pytest.raises(NoPermission):
            bench.guard.set(GPU, setting, value, may_forget=True)
        assert bench.journal.pages() == ()
        bench.guard.close()
        bench.control.close()
    assert [line.split(" ")[1] for line in fake_nvml.writes()] == [
        "SetPowerManagementLimit",
        "SetGpuLockedClocks",
        "SetClockOffsets",
        "SetFanSpeed_v2",
    ]
    assert all(line.endswith("= 4") for line in fake_nvml.writes())


def test_drift_is_told_and_the_value_of_others_stays(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 350_000)
    bench.guard.tick()
    (told,) = bench.told
    assert (told.code, told.params["wrote"], told.params["shows"]) == ("control_drift", "450", "350")
    bench.guard.close()
    assert bench.fake.writes() == watts(450_000)
    assert bench.reads(POWER) == (350.0,)
    assert bench.journal.pages() == ()


def test_recovery_writes_only_where_the_card_still_shows_what_was_written(bench: GuardBench) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.die()
    bench.open().recover()
    assert bench.codes() == ["control_recovered"]
    assert bench.reads(POWER) == (500.0,)
    bench.guard.set(GPU, POWER, (450.0,))
    bench.die()
    bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 350_000)
    bench.open().recover()
    assert bench.codes() == ["control_dropped_changed"]
    assert bench.fake.writes() == watts(450_000, 500_000, 450_000)


@pytest.mark.parametrize(
    ("moment", "code"),
    [
        (Moment(boot="boot-2", driver=7), "control_dropped_boot"),
        (Moment(boot="", driver=7), "control_dropped_boot"),
        (Moment(boot="boot-1", driver=8), "control_dropped_driver"),
    ],
)
def test_another_boot_or_driver_ends_what_was_set(bench: GuardBench, moment: Moment, code: str) -> None:
    bench.guard.set(GPU, POWER, (450.0,))
    bench.guard.set(GPU, LOCK, (300.0, 900.0), may_forget=True)
    bench.die()
    bench.moment = moment
    before = bench.fake.writes()
    bench.open().recover()
    assert bench.codes() == [code, code]
    assert bench.fake.writes() == before
    assert bench.journal.pages() == ()


def test_two_cannot_change_one_card_but_each_its_own(bench: GuardBench) -> None:
    first = bench.guard
    first.set(GPU, POWER, (450.0,))
    second = bench.open()
    second.recover()
    with pytest.raises(CardBusy):
        second.set(GPU, POWER, (400.0,))
    second.set(OTHER, POWER, (300.0,))
    second.close()
    first.close()
    assert bench.fake.writes() == [
        *watts(450_000),
        "1 SetPowerManagementLimit 300000 = 0",
        "1 SetPowerManagementLimit 350000 = 0",
        *watts(500_000),
    ]


def test_a_card_that_falls_off_keeps_its_entry_for_the_next_start(make: Make, fake_nvml: FakeNvml) -> None:
    bench = make()
    bench.guard.set(GPU, POWER, (450.0,))
    lost = machine(**{"*": error("GPU_IS_LOST")})
    fake_nvml.show_settable(lost)
    bench.control.close()
    fake_nvml.show_settable(machine(nvmlDeviceSetPowerManagementLimit=error("GPU_IS_LOST")))
    bench.control._binding.start(1)
    bench.control._find()
    bench.guard.close()
    assert bench.codes() == ["control_restore_failed"]
    assert [e.found for e in bench.journal.entries(GPU)] == [(500.0,)]


def test_suspend_is_told_while_something_is_held(bench: GuardBench) -> None:
    bench.guard.set(GPU, LOCK, (300.0, 900.0), may_forget=True)
    bench.moment = Moment(boot="boot-1", driver=7, suspended_s=3600.0)
    bench.guard.tick()
    bench.guard.tick()
    assert bench.codes() == ["control_suspended"]


def test_a_damaged_journal_is_set_aside_and_told(bench: GuardBench) -> None:
    bench.journal.folder.mkdir()
    (bench.journal.folder / "0123456789abcdef.json").write_text("{")
    bench.guard.recover()
    assert bench.codes() == ["control_journal_damaged"]
    assert [path.name for path in bench.journal.folder.iterdir()] == ["0123456789abcdef.damaged"]


def test_older_drivers_take_offsets_by_the_calls_before(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    old = machine(
        nvmlDeviceGetGpcClkVfOffset=15,
        nvmlDeviceGetGpcClkMinMaxVfOffset=[-500, 500],
        nvmlDeviceSetGpcClkVfOffset=0,
    )
    bench = make(old)
    monkeypatch.setattr(bench.control._binding, "pointer", lambda _name: None)
    state = bench.control.state(GPU, CORE)
    assert (state.now, state.low, state.high) == ((15.0,), -500.0, 500.0)
    bench.guard.set(GPU, CORE, (-60.0,))
    bench.guard.close()
    assert bench.fake.writes() == ["0 SetGpcClkVfOffset -60 = 0", "0 SetGpcClkVfOffset 15 = 0"]


def test_every_card_tells_range_and_value_of_each_setting(bench: GuardBench) -> None:
    first, second = bench.guard.show()
    assert (first.uuid, second.uuid, first.index, second.index, first.persistent) == (GPU, OTHER, 0, 1, True)
    told = {s.setting: (s.now, s.default, s.low, s.high, s.reason) for s in first.states}
    assert told == {
        POWER: ((500.0,), (700.0,), 200.0, 700.0, None),
        LOCK: (None, (), 210.0, 2100.0, None),
        Setting.MEMORY_CLOCK_LOCK: (None, (), 405.0, 9751.0, None),
        CORE: ((0.0,), (0.0,), -1000.0, 1000.0, None),
        Setting.MEMORY_OFFSET: ((0.0,), (0.0,), -2000.0, 6000.0, None),
        FAN: ((), (), 0.3, 1.0, None),
    }
    assert bench.fake.writes() == []
