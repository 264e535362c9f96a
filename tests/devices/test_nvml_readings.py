"""NvmlSource over the fake library: units, fallbacks, sentinels, memory of refusals."""

import json
from pathlib import Path

import pytest

from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.errors import DeviceError, DeviceLost
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, card, error

H200 = json.loads((Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json").read_text())
SECOND = 10**9


def first(source: NvmlSource, tier: Tier = Tier.FAST, t_ns: int = 0) -> Sample:
    return source.sample(source.cards()[0].uuid, tier, t_ns)


@pytest.fixture
def h200(fake_nvml: FakeNvml):
    fake_nvml.show(Scenario.from_recording(H200, costs=False))
    source = NvmlSource()
    yield source
    source.close()


def test_recorded_card_in_our_units(h200: NvmlSource) -> None:
    sample = first(h200)
    values = sample.values
    assert values[Quantity.POWER_AVERAGE_W] == 81.452
    assert values[Quantity.POWER_INSTANT_W] == 81.259
    assert values[Quantity.ENERGY_J] == 2367.653
    assert values[Quantity.CORE_TEMPERATURE_C] == 33
    assert values[Quantity.MEMORY_TEMPERATURE_C] == 37
    assert values[Quantity.SLOWDOWN_MARGIN_C] == 54
    assert values[Quantity.MEMORY_USED_BYTES] == 644939776
    assert values[Quantity.LIMIT_BITS] == 1
    assert sample.missing == {Quantity.HOTSPOT_TEMPERATURE_C: Reason.NOT_SUPPORTED}


def test_recorded_identity(h200: NvmlSource) -> None:
    (info,) = h200.cards()
    assert (info.name, info.sm_count, info.compute_capability) == ("NVIDIA H200", 132, "9.0")
    assert info.pci_bus_id == "0000:06:00.0"
    assert info.memory_total_bytes == 150754820096
    numbers = {name: info.number(name) for name in info.readings}
    assert numbers["power_limit_max_w"] == 700
    assert numbers["power_limit_min_w"] == 200
    assert numbers["slowdown_c"] == 89
    assert numbers["shutdown_c"] == 95
    assert numbers["sm_clock_max_mhz"] == 1980
    assert numbers["fan_count"] == 0
    assert info.readings["target_c"].reason is Reason.NOT_SUPPORTED
    assert info.readings["cuda_driver"].value == "13.0"
    assert info.readings["driver"].value == "580.159.04"
    assert info.readings["ecc_enabled"].value is True
    assert info.readings["row_remap_failed"].value is False


@pytest.mark.parametrize("tier", [Tier.FAST, Tier.SLOW])
def test_every_quantity_of_a_tier_is_a_value_or_a_reason(h200: NvmlSource, tier: Tier) -> None:
    sample = first(h200, tier)
    due = {quantity for quantity, info in QUANTITIES.items() if info.tier is tier}
    assert set(sample.values) | set(sample.missing) == due
    assert not set(sample.values) & set(sample.missing)


def test_all_values_survive_storage_at_their_resolution(h200: NvmlSource) -> None:
    for tier in (Tier.FAST, Tier.SLOW):
        for quantity, value in first(h200, tier).values.items():
            steps = value / QUANTITIES[quantity].resolution
            assert steps == pytest.approx(round(steps), abs=1e-6), quantity


def test_thresholds_from_t_limit_where_the_absolute_call_is_silent(fake_nvml: FakeNvml) -> None:
    # The H200 says 33 °C with margin 54; its nvidia-smi shows T.Limit offsets −2 (slowdown) and −8 (shutdown).
    calls = {f"nvmlDeviceGetTemperatureThreshold({n})": NOT_SUPPORTED for n in range(8)}
    calls |= {"nvmlDeviceGetTemperature": 33, "nvmlDeviceGetMarginTemperature": 54}
    fake_nvml.show(Scenario(card(**calls, **{"field(193)": -8, "field(194)": -2})))
    source = NvmlSource()
    (info,) = source.cards()
    source.close()
    assert info.number("slowdown_c") == 89
    assert info.number("shutdown_c") == 95


def test_margin_falls_back_to_the_threshold(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(nvmlDeviceGetTemperature=41)))
    source = NvmlSource()
    assert first(source).values[Quantity.SLOWDOWN_MARGIN_C] == 95 - 41
    source.close()


def test_each_field_has_its_own_status(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(**{"field(82)": NOT_SUPPORTED, "field(185)": 30123})))
    source = NvmlSource()
    sample = first(source)
    source.close()
    assert sample.missing[Quantity.MEMORY_TEMPERATURE_C] is Reason.NOT_SUPPORTED
    assert sample.values[Quantity.POWER_AVERAGE_W] == 30.123


@pytest.mark.parametrize(
    ("capability", "quantity", "other"),
    [
        ([8, 6], Quantity.POWER_AVERAGE_W, Quantity.POWER_INSTANT_W),
        ([7, 5], Quantity.POWER_INSTANT_W, Quantity.POWER_AVERAGE_W),
        ([8, 0], Quantity.POWER_INSTANT_W, Quantity.POWER_AVERAGE_W),
    ],
)
def test_old_power_call_is_average_from_ampere_on_but_not_on_ga100(
    fake_nvml: FakeNvml, capability: list[int], quantity: Quantity, other: Quantity
) -> None:
    none = {"field(185)": NOT_SUPPORTED, "field(186)": NOT_SUPPORTED}
    fake_nvml.show(Scenario(card(nvmlDeviceGetCudaComputeCapability=capability, **none)))
    source = NvmlSource()
    sample = first(source)
    source.close()
    assert sample.values[quantity] == 31.0
    assert sample.missing[other] is Reason.NOT_SUPPORTED


@pytest.mark.parametrize("raw", [127, 255, 0, 4294967295])
def test_sentinel_temperatures_are_rejected_and_counted(fake_nvml: FakeNvml, raw: int) -> None:
    fake_nvml.show(Scenario(card(nvmlDeviceGetTemperature=raw)))
    source = NvmlSource()
    sample = first(source)
    assert sample.missing[Quantity.CORE_TEMPERATURE_C] is Reason.IMPLAUSIBLE
    assert source.rejected == 1
    source.close()
    assert source.rejected == 1


def test_sentinel_percent_and_all_ones(fake_nvml: FakeNvml) -> None:
    calls = {"nvmlDeviceGetUtilizationRates": {"gpu": 4294967295, "memory": 7}, "field(83)": 0xFFFFFFFFFFFFFFFF}
    fake_nvml.show(Scenario(card(**calls)))
    source = NvmlSource()
    sample = first(source)
    source.close()
    assert sample.missing[Quantity.GPU_UTILISATION] is Reason.IMPLAUSIBLE
    assert sample.values[Quantity.MEMORY_UTILISATION] == 0.07
    assert sample.missing[Quantity.ENERGY_J] is Reason.IMPLAUSIBLE
    assert source.rejected == 2


def test_old_names_are_used_where_new_ones_are_missing(fake_nvml: FakeNvml) -> None:
    new = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetCurrentClocksEventReasons")
    gone = {name: error("FUNCTION_NOT_FOUND") for name in new}
    fake_nvml.show(Scenario(card(**gone, nvmlDeviceGetCurrentClocksThrottleReasons=0x24)))
    source = NvmlSource()
    for t in range(3):
        sample = first(source, t_ns=t * SECOND)
    source.close()
    assert sample.values[Quantity.CORE_TEMPERATURE_C] == 41
    assert sample.values[Quantity.LIMIT_BITS] == 0x24
    names = [name.partition("(")[0] for _, name in fake_nvml.calls()]
    assert [names.count(name) for name in new] == [1, 1], "a missing symbol is asked for once"


def test_refusals_are_remembered_and_asked_again_rarely(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(nvmlDeviceGetMarginTemperature={"sequence": [NOT_SUPPORTED, 50]})))
    source = NvmlSource()
    for t in range(10):
        sample = first(source, t_ns=t * SECOND)
        assert sample.values[Quantity.SLOWDOWN_MARGIN_C] == 54, "from the threshold"
    assert sum(name == "nvmlDeviceGetMarginTemperature" for _, name in fake_nvml.calls()) == 1
    assert first(source, t_ns=1000 * SECOND).values[Quantity.SLOWDOWN_MARGIN_C] == 50
    source.close()


def test_initialised_once_and_few_calls_per_fast_tick(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(0), card(1)))
    source = NvmlSource()
    cards = source.cards()
    before = len(fake_nvml.calls())
    for t in range(10):
        for info in cards:
            source.sample(info.uuid, Tier.FAST, t * SECOND)
    source.close()
    calls = fake_nvml.calls()
    assert sum(name == "nvmlInitWithFlags" for _, name in calls) == 1
    assert (len(calls) - before) / 20 <= 9


def test_a_driver_that_only_fails_is_raised_and_reopened(fake_nvml: FakeNvml) -> None:
    scenario = Scenario(card(0))
    fake_nvml.show(scenario, reload=True)
    source = NvmlSource()
    uuid = source.cards()[0].uuid
    scenario.cards[0]["*"] = error("UNKNOWN")
    fake_nvml.show(scenario, reload=True)
    with pytest.raises(DeviceError) as caught:
        source.sample(uuid, Tier.FAST, 1)
    assert caught.value.code == "nvml_unknown"
    assert source.trouble(uuid) == "nvml_unknown"
    del scenario.cards[0]["*"]
    fake_nvml.show(scenario, reload=True)
    source.reopen()
    assert source.sample(uuid, Tier.FAST, 2).values[Quantity.CORE_TEMPERATURE_C] == 41
    assert source.trouble(uuid) is None
    source.close()


def test_a_card_lost_in_mid_run_is_not_touched_again_and_found_anew(fake_nvml: FakeNvml) -> None:
    scenario = Scenario(card(0), card(1))
    fake_nvml.show(scenario, reload=True)
    source = NvmlSource()
    gone, stays = (info.uuid for info in source.cards())
    scenario.cards[0]["*"] = error("GPU_IS_LOST")
    scenario.cards[0]["handle"] = error("GPU_IS_LOST")
    fake_nvml.show(scenario, reload=True)
    with pytest.raises(DeviceLost):
        source.sample(gone, Tier.FAST, 7)
    before = len(fake_nvml.calls())
    for _ in range(3):
        with pytest.raises(DeviceLost):
            source.sample(gone, Tier.FAST, 8)
        with pytest.raises(DeviceLost):
            source.processes(gone, 8)
    assert len(fake_nvml.calls()) == before
    lost, fine = source.cards()
    assert (lost.uuid, lost.state, lost.lost_since_ns) == (gone, "lost", 7)
    assert fine.state == "ready"
    assert source.sample(stays, Tier.FAST, 9).values
    del scenario.cards[0]["*"], scenario.cards[0]["handle"]
    fake_nvml.show(scenario, reload=True)
    assert [info.state for info in source.cards()] == ["ready", "ready"]
    assert source.sample(gone, Tier.FAST, 10).values
    source.close()


def test_limits_of_zero_are_unknown(fake_nvml: FakeNvml) -> None:
    none = {f"field({n})": NOT_SUPPORTED for n in (187, 188)}
    fake_nvml.show(Scenario(card(nvmlDeviceGetPowerManagementLimitConstraints=[0, 0], **none)))
    source = NvmlSource()
    (info,) = source.cards()
    source.close()
    assert info.readings["power_limit_min_w"].reason is Reason.NOT_SUPPORTED
    assert info.readings["power_limit_max_w"].reason is Reason.NOT_SUPPORTED


def test_fans_show_the_fastest_intended_speed(fake_nvml: FakeNvml) -> None:
    calls = {"nvmlDeviceGetFanSpeed_v2(0)": 40, "nvmlDeviceGetFanSpeed_v2(1)": 104, "nvmlDeviceGetFanSpeedRPM": 2100}
    fake_nvml.show(Scenario(card(**calls)))
    source = NvmlSource()
    sample = first(source, Tier.SLOW)
    source.close()
    assert sample.values[Quantity.FAN_FRACTION] == 1.04
    assert sample.values[Quantity.FAN_RPM] == 2100


def test_a_fan_that_turned_and_stands_is_told_and_one_without_a_tachometer_is_not(fake_nvml: FakeNvml) -> None:
    told: list[float | Reason] = []
    for speeds in ([1100, 0], [0, 0]):
        fake_nvml.show(Scenario(card(nvmlDeviceGetFanSpeedRPM={"sequence": speeds})))
        source = NvmlSource()
        for t in range(2):
            sample = first(source, Tier.SLOW, t)
            told.append(sample.values.get(Quantity.FAN_RPM, sample.missing.get(Quantity.FAN_RPM, Reason.NOT_READ)))
        source.close()
    assert told == [1100, 0, Reason.NOT_SUPPORTED, Reason.NOT_SUPPORTED]


def test_a_second_fan_that_turned_and_stands_though_it_is_to_turn_is_told(fake_nvml: FakeNvml) -> None:
    told: list[float] = []
    for asked in (40, 0):
        calls: dict[str, object] = {"nvmlDeviceGetFanSpeed_v2(0)": 40, "nvmlDeviceGetFanSpeed_v2(1)": asked}
        calls |= {"nvmlDeviceGetFanSpeedRPM(0)": 1500, "nvmlDeviceGetFanSpeedRPM(1)": {"sequence": [1480, 0]}}
        fake_nvml.show(Scenario(card(**calls)))
        source = NvmlSource()
        told += [first(source, Tier.SLOW, t).values[Quantity.FAN_RPM] for t in range(2)]
        source.close()
    assert told == [1500, 0, 1500, 1500], "one that is to rest may"


def test_activity_counters_between_two_slow_ticks(fake_nvml: FakeNvml) -> None:
    gpm = {"nvmlGpmQueryDeviceSupport": 1, "gpm(2)": 9312, "gpm(5)": 8101, "gpm(10)": 2590}
    fake_nvml.show(Scenario(card(**gpm)))
    source = NvmlSource()
    assert first(source, Tier.SLOW).missing[Quantity.SM_ACTIVE] is Reason.NOT_READ
    values = first(source, Tier.SLOW, 5 * SECOND).values
    source.close()
    assert values[Quantity.SM_ACTIVE] == pytest.approx(0.9312)
    assert values[Quantity.TENSOR_ACTIVE] == pytest.approx(0.8101)
    assert values[Quantity.DRAM_ACTIVE] == pytest.approx(0.2590)


def test_xid_errors_are_told_once(fake_nvml: FakeNvml) -> None:
    scenario = Scenario(card(0), card(1))
    quiet = error("TIMEOUT")
    scenario.system["nvmlEventSetWait"] = {"sequence": [quiet, [1, 79], [0, 13], quiet]}
    fake_nvml.show(scenario)
    source = NvmlSource(now_ns=lambda: 42)
    uuids = [info.uuid for info in source.cards()]
    assert source.xids() == ()
    assert [(x.card, x.xid, x.t_ns) for x in source.xids()] == [(uuids[1], 79, 42), (uuids[0], 13, 42)]
    assert source.xids() == ()
    source.close()


def test_sentinels_among_the_once_read_facts(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(**{"nvmlDeviceGetMaxClockInfo(1)": 4294967295, "nvmlDeviceGetNumFans": 4294967295})))
    source = NvmlSource()
    (info,) = source.cards()
    assert info.readings["sm_clock_max_mhz"].reason is Reason.IMPLAUSIBLE
    assert info.readings["fan_count"].reason is Reason.IMPLAUSIBLE
    assert source.rejected == 2
    source.close()


def test_one_failing_reading_is_an_error_there_and_named(fake_nvml: FakeNvml) -> None:
    fine = {"total": 256, "free": 256, "used": 0}
    fake_nvml.show(Scenario(card(nvmlDeviceGetBAR1MemoryInfo={"sequence": [fine, error("UNKNOWN")]})))
    source = NvmlSource()
    sample = first(source, Tier.SLOW)
    assert sample.missing[Quantity.BAR1_USED_BYTES] is Reason.ERROR
    assert sample.values[Quantity.PCIE_WIDTH] == 16
    assert source.trouble(sample.card) == "nvml_unknown"
    source.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [(0, "default"), (1, "exclusive_thread"), (2, "prohibited"), (3, "exclusive_process"), (9, "unknown_9")],
)
def test_who_may_compute_is_told(fake_nvml: FakeNvml, code: int, told: str) -> None:
    """Case C-065: a card in exclusive-process mode takes one context; the codes are ``nvmlComputeMode_t``'s."""
    fake_nvml.show(Scenario(card(nvmlDeviceGetComputeMode=code)))
    source = NvmlSource()
    assert source.cards()[0].readings["compute_mode"].value == told
    source.close()


def test_ecc_and_remapped_rows(fake_nvml: FakeNvml) -> None:
    fake_nvml.show(Scenario(card(**{"field(3)": 5, "field(4)": 2, "field(142)": 1, "field(143)": 2})))
    source = NvmlSource()
    values = first(source, Tier.SLOW).values
    source.close()
    assert values[Quantity.ECC_CORRECTED] == 5
    assert values[Quantity.ECC_UNCORRECTED] == 2
    assert values[Quantity.REMAPPED_ROWS] == 3


def test_time_in_each_limit_in_ns(fake_nvml: FakeNvml) -> None:
    fields = {74: 1_000_000_001, 76: 2, 269: 3, 270: 4, 271: 5}
    fake_nvml.show(Scenario(card(**{f"field({number})": value for number, value in fields.items()})))
    source = NvmlSource()
    values = first(source, Tier.SLOW).values
    source.close()
    assert values[Quantity.LIMITED_POWER_NS] == 1_000_000_001
    assert values[Quantity.LIMITED_SYNC_BOOST_NS] == 2
    assert values[Quantity.LIMITED_THERMAL_SOFTWARE_NS] == 3
    assert values[Quantity.LIMITED_THERMAL_HARDWARE_NS] == 4
    assert values[Quantity.LIMITED_POWER_BRAKE_NS] == 5


def test_limits_are_read_again_after_half_a_minute(fake_nvml: FakeNvml) -> None:
    now = 0
    scenario = Scenario(card(nvmlDeviceGetEnforcedPowerLimit=350000))
    fake_nvml.show(scenario, reload=True)
    source = NvmlSource(now_ns=lambda: now)
    assert source.cards()[0].number("power_limit_enforced_w") == 350
    scenario.cards[0]["nvmlDeviceGetEnforcedPowerLimit"] = 280000
    fake_nvml.show(scenario, reload=True)
    assert source.cards()[0].number("power_limit_enforced_w") == 350
    now = 31 * SECOND
    assert source.cards()[0].number("power_limit_enforced_w") == 280
    source.close()


def test_what_cannot_change_is_read_again_only_after_ten_minutes_or_when_it_failed(fake_nvml: FakeNvml) -> None:
    now = 0
    vbios = {"nvmlDeviceGetVbiosVersion": {"sequence": [error("UNKNOWN"), "96.00.AF.00.01"]}}
    fake_nvml.show(Scenario(card(), card(1, **vbios)))
    source = NvmlSource(now_ns=lambda: now)
    source.cards()
    asked: list[set[int]] = []
    for minute in (1, 2, 9, 11):
        now, before = minute * 60 * SECOND, len(fake_nvml.calls())
        found = source.cards()
        calls = fake_nvml.calls()[before:]
        assert {device for device, name in calls if name == "nvmlDeviceGetCurrPcieLinkWidth"} == {0, 1}
        asked.append({device for device, name in calls if name == "nvmlDeviceGetVbiosVersion"})
        assert [info.readings["vbios"].value is not None for info in found] == [True, True]
    source.close()
    assert asked == [{1}, set(), set(), {0, 1}]
