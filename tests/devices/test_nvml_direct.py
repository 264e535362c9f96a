"""Calls made ready: the second reading and those after it say what the ordinary way says, or hand over to it."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.errors import DeviceLost
from gputuner.model.quantities import Quantity as Q
from gputuner.model.quantities import Tier
from gputuner.model.readings import Reason
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

H200 = json.loads((Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json").read_text())
SECOND = 10**9
TIERS = pytest.mark.parametrize("tier", [Tier.FAST, Tier.SLOW])


def opened(fake: FakeNvml, **calls: Any) -> tuple[NvmlSource, str]:
    scene = Scenario.from_recording(H200, costs=False)
    scene.cards[0] |= calls
    fake.show(scene)
    source = NvmlSource()
    return source, source.cards()[0].uuid


def then(*answers: Any) -> dict[str, Any]:
    return {"sequence": list(answers)}


@TIERS
def test_the_second_reading_says_the_same_and_asks_each_thing_once(fake_nvml: FakeNvml, tier: Tier) -> None:
    source, uuid = opened(fake_nvml, **{"field(142)": 2, "field(143)": 3})
    ordinary = source.sample(uuid, tier, 0)
    before = len(fake_nvml.calls())
    ready = source.sample(uuid, tier, SECOND)
    asked = [name for _, name in fake_nvml.calls()[before:]]
    source.close()
    assert (ready.values, ready.missing) == (ordinary.values, ordinary.missing)
    assert len(asked) == len(set(asked))
    assert "nvmlDeviceGetFanSpeed" not in asked
    if tier is Tier.SLOW:
        assert ready.values[Q.REMAPPED_ROWS] == 5
        assert ready.values[Q.POWER_LIMIT_ENFORCED_W] == 700
        assert ready.values[Q.BAR1_USED_BYTES] == 1703936


def test_new_values_are_told(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(
        fake_nvml,
        **{
            "nvmlDeviceGetTemperature(0)": then(33, 33, 71),
            "nvmlDeviceGetMarginTemperature": then(54, -3),
            "field(83)": then(5_000_000_000_123, 5_000_000_000_456),
            "nvmlDeviceGetUtilizationRates": then({"gpu": 0, "memory": 0}, {"gpu": 97, "memory": 41}),
            "nvmlDeviceGetCurrentClocksEventReasons": then(1, 0x44),
        },
    )
    source.sample(uuid, Tier.FAST, 0)
    values = source.sample(uuid, Tier.FAST, SECOND).values
    source.close()
    assert values[Q.SLOWDOWN_MARGIN_C] == -3
    assert values[Q.ENERGY_J] == 5_000_000_000.456
    assert (values[Q.GPU_UTILISATION], values[Q.MEMORY_UTILISATION]) == (0.97, 0.41)
    assert values[Q.LIMIT_BITS] == 0x44
    assert (values[Q.SM_CLOCK_MHZ], values[Q.MEMORY_CLOCK_MHZ]) == (885, 3201)


def test_what_a_card_lacks_keeps_its_reason_and_its_neighbours_their_place(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml, **{"field(82)": NOT_SUPPORTED})
    source.sample(uuid, Tier.FAST, 0)
    sample = source.sample(uuid, Tier.FAST, SECOND)
    source.close()
    assert sample.missing[Q.MEMORY_TEMPERATURE_C] is Reason.NOT_SUPPORTED
    assert sample.values[Q.POWER_INSTANT_W] == 81.259
    assert sample.values[Q.ENERGY_J] == 2367.653


def test_a_sentinel_is_rejected_and_counted_once(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml, **{"field(186)": then(81259, 0xFFFFFFFF, 80000)})
    source.sample(uuid, Tier.FAST, 0)
    before = source.rejected
    sample = source.sample(uuid, Tier.FAST, SECOND)
    assert Q.POWER_INSTANT_W not in sample.values
    assert sample.missing[Q.POWER_INSTANT_W] is Reason.IMPLAUSIBLE
    assert source.rejected == before + 1
    again = source.sample(uuid, Tier.FAST, 2 * SECOND)
    source.close()
    assert again.values[Q.POWER_INSTANT_W] == 80
    assert Q.POWER_INSTANT_W not in again.missing


@pytest.mark.parametrize("call", ["nvmlDeviceGetClockInfo(1)", "field(82)"])
def test_an_error_is_taken_over_by_the_ordinary_way(fake_nvml: FakeNvml, call: str) -> None:
    value = 885 if "Clock" in call else 37
    source, uuid = opened(fake_nvml, **{call: then(value, error("UNKNOWN"), error("UNKNOWN"), value)})
    quantity = Q.SM_CLOCK_MHZ if "Clock" in call else Q.MEMORY_TEMPERATURE_C
    good = source.sample(uuid, Tier.FAST, 0)
    bad = source.sample(uuid, Tier.FAST, SECOND)
    assert bad.missing[quantity] is Reason.ERROR
    assert source.trouble(uuid) == "nvml_unknown"
    assert bad.values == {name: number for name, number in good.values.items() if name is not quantity}
    for t_s in (2, 70, 71):
        assert source.sample(uuid, Tier.FAST, t_s * SECOND).values == good.values
    assert source.trouble(uuid) is None
    source.close()


@pytest.mark.parametrize("call", ["nvmlDeviceGetMarginTemperature", "field(83)"])
def test_a_lost_card_is_not_asked_again(fake_nvml: FakeNvml, call: str) -> None:
    source, uuid = opened(fake_nvml, **{call: then(54, error("GPU_IS_LOST"))})
    source.sample(uuid, Tier.FAST, 0)
    with pytest.raises(DeviceLost):
        source.sample(uuid, Tier.FAST, SECOND)
    before = len(fake_nvml.calls())
    with pytest.raises(DeviceLost):
        source.sample(uuid, Tier.FAST, 2 * SECOND)
    assert len(fake_nvml.calls()) == before
    source.close()


@TIERS
def test_what_was_refused_is_asked_again_after_ten_minutes(fake_nvml: FakeNvml, tier: Tier) -> None:
    call = "nvmlDeviceGetMarginTemperature" if tier is Tier.FAST else "nvmlDeviceGetEncoderUtilization"
    quantity = Q.SLOWDOWN_MARGIN_C if tier is Tier.FAST else Q.ENCODER_UTILISATION
    answer = 54 if tier is Tier.FAST else [7, 100000]
    thresholds = {f"nvmlDeviceGetTemperatureThreshold({n})": NOT_SUPPORTED for n in range(8)}
    source, uuid = opened(fake_nvml, **{call: then(NOT_SUPPORTED, NOT_SUPPORTED, answer)}, **thresholds)
    told = [quantity in source.sample(uuid, tier, t_s * SECOND).values for t_s in (0, 1, 599, 1300, 2000, 2001)]
    source.close()
    assert told[-2:] == [True, True]
    assert not any(told[:3])


@pytest.mark.parametrize(
    ("tier", "call", "first"),
    [
        (Tier.FAST, "nvmlDeviceGetUtilizationRates", 0),
        (Tier.FAST, "nvmlDeviceGetUtilizationRates", 1),
        (Tier.FAST, "nvmlDeviceGetMarginTemperature", 1),
        (Tier.SLOW, "nvmlDeviceGetPerformanceState", 0),
        (Tier.SLOW, "nvmlDeviceGetPerformanceState", 1),
        (Tier.SLOW, "nvmlDeviceGetComputeRunningProcesses", 0),
        (Tier.SLOW, "nvmlDeviceGetComputeRunningProcesses", 1),
    ],
)
def test_the_call_that_is_out_is_named_in_either_way_and_only_while_it_is(
    fake_nvml: FakeNvml, tier: Tier, call: str, first: int
) -> None:
    """The answer takes 0.3 s of the library's own time, in which another thread looks."""
    answers = {"nvmlDeviceGetUtilizationRates": {"gpu": 0, "memory": 0}, "nvmlDeviceGetMarginTemperature": 54}
    answer = [] if call.endswith("Processes") else answers.get(call, 8)
    slow = {"value": answer, "us": 300_000}
    source, uuid = opened(fake_nvml, **{call: then(*[answer] * first, slow)})
    for t_s in range(first + 1):
        assert source.asking(uuid, tier) is None
        reader = threading.Thread(target=_read, args=(source, uuid, tier, t_s * SECOND))
        reader.start()
        seen: set[str | None] = set()
        while reader.is_alive():
            seen.add(source.asking(uuid, tier))
            reader.join(0.01)
    assert any(name is not None and name.startswith(call) for name in seen), seen
    assert source.asking(uuid, tier) is None
    source.close()


def _read(source: NvmlSource, uuid: str, tier: Tier, t_ns: int) -> None:
    source.sample(uuid, tier, t_ns)
    if tier is Tier.SLOW:
        source.processes(uuid, t_ns)


def test_opening_the_library_anew_makes_the_calls_ready_anew(fake_nvml: FakeNvml) -> None:
    source, uuid = opened(fake_nvml)
    first = source.sample(uuid, Tier.FAST, 0)
    source.sample(uuid, Tier.FAST, SECOND)
    source.reopen()
    second = [source.sample(uuid, Tier.FAST, t_s * SECOND) for t_s in (2, 3)]
    source.close()
    assert [sample.values for sample in second] == [first.values] * 2
