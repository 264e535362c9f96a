"""Users' situations C-033 … C-036: which card is meant."""

from pathlib import Path

import pytest

from gputuner.devices.nvml.source import NvmlSource
from gputuner.devices.selection import select
from gputuner.devices.visible import visible
from gputuner.model.cards import CardInfo
from gputuner.model.errors import UsageError
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import Scenario, card, case

CASES = Path(__file__).parents[1] / "data" / "cases"


def cards_of(fake: FakeNvml, scenario: Scenario) -> tuple[CardInfo, ...]:
    fake.show(scenario)
    source = NvmlSource()
    found = source.cards()
    source.close()
    return found


def test_c033_each_form_of_the_variable(fake_nvml: FakeNvml) -> None:
    found = case(CASES / "c033_ident_uuid.json")
    cards = cards_of(fake_nvml, Scenario.from_case(found))
    for variant in found["env_variants"]:
        value = variant["CUDA_VISIBLE_DEVICES"]
        environment = {"CUDA_VISIBLE_DEVICES": value}
        if variant.get("expect") == "ambiguous":
            with pytest.raises(UsageError, match=value):
                visible(environment, cards)
        else:
            got = visible(environment, cards).devices
            assert [device.card.index for device in got] == variant["expect_nvml"], value


def test_c034_an_index_of_cuda_is_not_an_index_of_nvml(fake_nvml: FakeNvml) -> None:
    found = case(CASES / "c034_ident_fastest_first.json")
    cards = cards_of(fake_nvml, Scenario.from_case(found))
    order = [cards[entry["same_as_nvml"]].uuid for entry in found["cuda_devices"]]
    got = visible({}, cards, cuda_order=order)
    assert [device.card.name for device in got.devices] == ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce GTX 1650"]
    unknown = visible({"CUDA_VISIBLE_DEVICES": "0"}, cards)
    assert not unknown.order_known
    assert [note.code for note in unknown.notes] == ["visible_order_unknown"]
    chosen = select(found["settings"]["selected"], cards)
    assert chosen == (cards[0].uuid,), "what is shown as 0 is what is meant, by UUID"
    assert [device.card.uuid for device in visible({"CUDA_VISIBLE_DEVICES": chosen[0]}, cards).devices] == [*chosen]


def test_c035_of_two_mig_instances_one_is_usable(fake_nvml: FakeNvml) -> None:
    value = ",".join(f"MIG-00000000-1111-2222-3333-00000000000{n}" for n in (1, 2))
    scenario = Scenario.from_case(case(CASES / "c020_nvml_mig.json"))
    first = scenario.mig[0][0]
    memory = {"total": 20 << 30, "free": 19 << 30, "used": 1 << 30}
    second = {"nvmlDeviceGetUUID": value.split(",")[1], "nvmlDeviceGetMemoryInfo": memory}
    scenario.mig[0] = [first, first | second]
    cards = cards_of(fake_nvml, scenario)
    got = visible({"CUDA_VISIBLE_DEVICES": value}, cards)
    (device,) = got.devices
    assert [note.code for note in got.notes] == ["visible_one_mig"]
    assert device.card.uuid == cards[0].uuid, "power and temperature are the parent's"
    assert device.mig is not None
    assert device.mig.memory_used_bytes == 33120 << 20, "memory is the instance's"


@pytest.mark.parametrize(
    ("value", "expected", "code"),
    [("", [], "visible_none"), ("-1", [], "visible_none"), ("0,9,1", [0], "visible_stops_at")],
)
def test_c036_hidden_or_bad_entries(fake_nvml: FakeNvml, value: str, expected: list[int], code: str) -> None:
    cards = cards_of(fake_nvml, Scenario(card(0), card(1)))
    got = visible({"CUDA_VISIBLE_DEVICES": value}, cards)
    assert [device.card.index for device in got.devices] == expected
    assert [note.code for note in got.notes] == [code]
    assert len(cards) == 2, "telemetry still shows all cards"
