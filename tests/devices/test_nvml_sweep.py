"""All cards in one go: what is told is what each card tells for itself, and nothing is lost where that fails."""

import json
import threading
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from gputuner.devices.nvml.source import NvmlSource
from gputuner.devices.nvml.sweep import Sweep
from gputuner.devices.packing import Bundle, Swept, Unpacker
from gputuner.model.errors import DeviceLost
from gputuner.model.quantities import Quantity as Q
from gputuner.model.quantities import Tier
from gputuner.model.samples import Sample
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

H200 = json.loads((Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json").read_text())
SECOND = 10**9
EVENT = "nvmlEventSetWait"


def opened(fake: FakeNvml, *cards: dict[str, Any], **system: Any) -> tuple[NvmlSource, list[str]]:
    """Three cards, ``cards`` says in what they differ from the recorded one; each was read once."""
    scene = Scenario.from_recording(H200, 3, costs=False)
    for card, calls in zip(scene.cards, cards, strict=False):
        card |= calls
    scene.system |= system
    fake.show(scene)
    ticks = count(10 * SECOND)
    source = NvmlSource(now_ns=lambda: next(ticks))
    uuids = [info.uuid for info in source.cards()]
    for uuid in uuids:
        source.sample(uuid, Tier.FAST, 0)
    return source, uuids


def ready(source: NvmlSource, uuids: list[str]) -> Sweep:
    sweep = source.sweep(uuids, SECOND)
    assert sweep is not None
    return sweep


def samples(swept: Swept | None) -> list[Sample]:
    assert swept is not None
    packed = swept.packed
    assert isinstance(packed.packing, Bundle)
    return Unpacker(*packed.packing.packings).samples(packed.t_ns, packed.data)


def then(*answers: Any) -> dict[str, Any]:
    return {"sequence": list(answers)}


def test_each_card_tells_what_it_tells_for_itself_and_when_it_was_read(fake_nvml: FakeNvml) -> None:
    """Three cards that differ in values, in a sensor that one lacks and in one that tells a sentinel."""
    source, uuids = opened(
        fake_nvml,
        {"nvmlDeviceGetTemperature": 41},
        {"nvmlDeviceGetTemperature": 42, "field(82)": NOT_SUPPORTED},
        {"nvmlDeviceGetTemperature": 43, "field(186)": 0xFFFFFFFF},
    )
    alone = [source.sample(uuid, Tier.FAST, SECOND) for uuid in uuids]
    swept = ready(source, uuids).read(2 * SECOND)
    source.close()
    together = samples(swept)
    assert [(s.card, s.values, s.missing) for s in together] == [(s.card, s.values, s.missing) for s in alone]
    assert swept is not None
    assert list(swept.cards) == uuids
    assert list(swept.times[:-1]) == [sample.t_ns for sample in together]
    assert all(first < second for first, second in pairwise(swept.times))


def test_each_thing_is_asked_once_card_by_card_and_xid_errors_last(fake_nvml: FakeNvml) -> None:
    source, uuids = opened(fake_nvml)
    sweep = ready(source, uuids)
    before = len(fake_nvml.calls())
    sweep.read(SECOND)
    asked = fake_nvml.calls()[before:]
    source.close()
    assert asked[-1] == (-1, EVENT)
    assert [device for device, _ in asked[:-1]] == sorted(device for device, _ in asked[:-1])
    assert len(asked) == len(set(asked)) == 3 * 8 + 1


def test_it_is_the_same_as_long_as_nothing_has_changed(fake_nvml: FakeNvml) -> None:
    source, uuids = opened(fake_nvml)
    sweep = ready(source, uuids)
    source.cards()
    assert source.sweep(uuids, 2 * SECOND) is sweep
    assert source.sweep(uuids[:2], SECOND) is not sweep
    source.reopen()
    assert source.sweep(uuids, SECOND) is None, "nothing has been read since"
    source.close()


def test_what_was_refused_is_to_be_asked_again_after_ten_minutes(fake_nvml: FakeNvml) -> None:
    source, uuids = opened(fake_nvml, {"field(82)": NOT_SUPPORTED})
    sweep = ready(source, uuids)
    assert sweep.read(599 * SECOND) is not None
    assert sweep.read(600 * SECOND) is None
    assert source.sweep(uuids, 600 * SECOND) is None
    source.close()


@pytest.mark.parametrize("call", ["nvmlDeviceGetMarginTemperature", "field(83)"])
def test_after_a_failure_no_further_card_is_asked_and_the_card_itself_says_what_it_is(
    fake_nvml: FakeNvml, call: str
) -> None:
    lost = error("GPU_IS_LOST")
    source, uuids = opened(fake_nvml, {}, {call: then(54, lost)})
    sweep = ready(source, uuids)
    before = len(fake_nvml.calls())
    assert sweep.read(SECOND) is None
    asked = {device for device, _ in fake_nvml.calls()[before:]}
    assert 2 not in asked or call.startswith("field"), "a field's own failure is seen when all is read"
    with pytest.raises(DeviceLost):
        source.read(uuids[1], Tier.FAST, SECOND)
    assert source.sweep(uuids, SECOND) is None
    assert source.sweep([uuids[0], uuids[2]], SECOND) is not None
    source.close()


def test_an_xid_error_is_never_lost(fake_nvml: FakeNvml) -> None:
    quiet = error("TIMEOUT")
    source, uuids = opened(fake_nvml, **{EVENT: then(quiet, [1, 79], [0, 13], quiet)})
    sweep = ready(source, uuids)
    assert sweep.read(SECOND) is not None
    assert sweep.read(2 * SECOND) is None
    assert [(seen.card, seen.xid) for seen in source.xids()] == [(uuids[1], 79), (uuids[0], 13)]
    assert source.xids() == ()
    assert sweep.read(3 * SECOND) is not None
    source.close()


def test_cut_short_it_asks_no_further_card_and_names_the_call_that_is_out(fake_nvml: FakeNvml) -> None:
    """The second card's answer takes half a second of the library's own time, in which another thread cuts."""
    slow = {"value": 54, "us": 500_000}
    source, uuids = opened(fake_nvml, {}, {"nvmlDeviceGetMarginTemperature": then(54, slow, 55)})
    sweep = ready(source, uuids)
    told: list[Swept | None] = []
    before = len(fake_nvml.calls())
    reader = threading.Thread(target=lambda: told.append(sweep.read(SECOND)))
    reader.start()
    while (1, "nvmlDeviceGetMarginTemperature") not in fake_nvml.calls()[before:]:
        reader.join(0.01)
    begun = sweep.since_ns()
    place = sweep.cut()
    name = source.asking(uuids[place], Tier.FAST)
    reader.join()
    asked = {device for device, _ in fake_nvml.calls()[before:]}
    assert (told, place, name, asked) == ([None], 1, "nvmlDeviceGetMarginTemperature", {0, 1})
    assert begun is not None
    assert begun > 10 * SECOND
    assert samples(sweep.read(2 * SECOND))[1].values[Q.SLOWDOWN_MARGIN_C] == 55
    source.close()


def test_cards_that_may_sleep_are_looked_at_one_by_one(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    folder = tmp_path / "sys" / "bus" / "pci" / "devices" / "0000:06:00.0"
    (folder / "power").mkdir(parents=True)
    for name, line in (("vendor", "0x10de"), ("class", "0x030200"), ("power/control", "auto")):
        (folder / name).write_text(line)
    (folder / "power" / "runtime_status").write_text("active")
    fake_nvml.show(Scenario.from_recording(H200, 1, costs=False))
    source = NvmlSource(sysfs=tmp_path / "sys")
    (uuid,) = [info.uuid for info in source.cards()]
    source.sample(uuid, Tier.FAST, 0)
    assert source.sweep([uuid], SECOND) is None
    source.close()
