"""``devices`` and ``monitor``: every reading is a value or a reason."""

import json
from dataclasses import replace

from gputuner.model.cards import CardState
from gputuner.model.quantities import Quantity
from gputuner.telemetry.feed import Tick


def test_devices_tells_identity_mod_features_and_readings(program):
    out = program("devices").out
    assert "[0] RTX 4090 48G (48 GiB) · simulated" in out
    assert "recognised as a memory mod of GeForce RTX 4090" in out
    assert _value(out, "FP8") == "native"
    assert _value(out, "NVLink") == "absent"
    assert _value(out, "slows down at") == "90 °C"
    assert _value(out, "core temperature") == "61 °C"
    assert _value(out, "GPU busy") == "98 %"
    assert _value(out, "limited by") == "power limit"


def test_devices_says_why_a_reading_is_missing(program):
    out = program("devices").out
    lines = [line.strip() for line in out.splitlines()]
    assert "— not supported by this card: memory temperature at most" in lines
    assert "— not supported by this card: memory temperature" in lines
    assert any(line.startswith("— not read yet: ") and "encoder busy" in line for line in lines)
    assert "— not reported by this machine: frequency governor" in lines


def test_devices_json_has_every_quantity(program):
    document = json.loads(program("devices", "--json").out)
    (card,) = document["devices"]
    assert document["schema"] == "gputuner.devices/1"
    assert set(card["readings"]) == {quantity.value for quantity in Quantity}
    assert card["readings"]["core_temperature_c"] == {"value": 61.0, "unit": "degC", "reason": None}
    assert card["readings"]["memory_temperature_c"] == {"value": None, "unit": "degC", "reason": "not_supported"}
    assert card["limits"]["power_limit_enforced_w"]["value"] == 450.0
    assert card["features"]["bf16"] == "native"


def test_a_sleeping_card_is_told_as_asleep(program):
    sleeping = replace(program.setup.known[0], state=CardState.ASLEEP)
    program.setup.known = (sleeping,)
    program.setup.feed.ticks = ()
    out = program("devices").out
    assert _value(out, "state") == "asleep"
    assert "— the card sleeps and is not woken: core temperature, memory temperature" in out


def test_an_unknown_card_is_one_sentence_and_code_3(program):
    result = program("devices", "--gpu", "GPU-nope")
    assert result.code == 3
    assert result.out == ""
    assert result.err == "There is no card GPU-nope here; see what `gputuner --cli devices` lists.\n"


def test_the_feed_is_left_without_subscribers(program):
    program("devices")
    program("monitor", "--count", "1")
    assert program.setup.feed.subscribers == 0


def test_monitor_prints_a_line_per_card_and_reading(program):
    lines = program("monitor", "--count", "2", "--interval", "0.1").out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:2] == ["time", "card"]
    for line in lines[1:]:
        for cell in (
            "[0] RTX 4090 48G · simulated",
            "61 °C",
            "312 W",
            "2610 MHz",
            "98 %",
            "38.2 GiB",
            "60 %",
            "power limit",
        ):
            assert cell in line


def test_monitor_json_takes_one_reading_by_default(program):
    document = json.loads(program("monitor", "--json").out)
    (shot,) = document["samples"]
    (readings,) = shot["cards"].values()
    assert readings["power_average_w"] == {"value": 312.4, "unit": "W", "reason": None}
    assert readings["memory_temperature_c"]["reason"] == "not_supported"


def test_monitor_follows_a_card_that_is_lost(program):
    lost = replace(program.setup.known[0], state=CardState.LOST)
    program.setup.feed.ticks = (Tick(t_ns=1, cards=(lost,)),)
    out = program("monitor", "--count", "1").out
    assert out.splitlines()[1].split()[-1] == "—"
    assert "lost" in out


def test_monitor_interrupted_ends_with_130(program):
    def interrupted(_callback):
        raise KeyboardInterrupt

    program.setup.feed.subscribe = interrupted
    assert program("monitor").code == 130


def _value(out: str, name: str) -> str:
    line = next(line for line in out.splitlines() if line.strip().startswith(f"{name}  "))
    return line.strip().removeprefix(name).strip()
