"""``supply`` as a user meets it: an idle recording sizes nothing, a module has no plugs, Chinese is complete."""

from pathlib import Path

import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.model.cards import Origin
from gputuner.model.events import Event
from gputuner.model.quantities import Quantity
from tests.e2e.conftest import Gputuner
from tests.sessions import streams

pytestmark = pytest.mark.e2e
KNOWN = ("--psu-watts", "650", "--cpu-watts", "200", "--rest-watts", "90")


def idle_minute(folder: Path, uuid: str) -> None:
    """A stored recording of a simulated card at 22 W, 2 Hz."""
    card = streams.card(uuid)
    events: list[Event] = [streams.started(origin=Origin.SIMULATED, experiment="record", cards=(card,))]
    for n in range(1, 121):
        t_ns = n * streams.S // 2
        events.append(streams.tick(n, t_ns, streams.sample(t_ns, {Quantity.POWER_AVERAGE_W: 22.0}, uuid)))
    streams.store(folder, [*events, streams.finished(121, 61 * streams.S)], streams.RUN)


def test_an_idle_recording_is_no_draw_to_size_by(fresh: Gputuner):
    """A card of 450 W that was seen at 22 W: 650 W are not told to be enough, nor 450 W to be bought."""
    card = ("--simulate", "rtx-4090-48g")
    idle_minute(fresh.data_dir, SimulatedCards(("rtx-4090-48g",), SimulatedClock()).models[0].uuid)
    ended = fresh("supply", *card, *KNOWN, "--json")
    document = ended.document
    (device,) = document["devices"]
    assert (ended.code, device["source"], device["sustained_w"]) == (0, "limit", 450.0)
    assert device["rest_w"] == pytest.approx(22.0)
    assert document["advice"] == []
    (size,) = (point for point in document["points"] if point["id"] == "supply_size")
    assert size["value"] == 1000, "450 + 200 + 90 W at 80 %"


def test_a_module_is_sized_without_plugs(fresh: Gputuner):
    ended = fresh("supply", "--simulate", "h200-sxm", *KNOWN, "--lang", "zh_CN")
    assert ended.code == 0, ended.err
    assert "8-pin" not in ended.out
    assert "模块形式，没有供电插头" in ended.out
    assert "{" not in ended.out
