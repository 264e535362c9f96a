"""Advice about heat names the source of a disputed temperature (C-021)."""

import pytest

from gputuner.advice.limits import memory_rule, thermal_rule
from gputuner.advice.sources import RESTS_ON, naming_sources
from gputuner.analysis.telemetry_quality import SOURCES_DISAGREE, QualityNote
from gputuner.language.sentences import advice_why
from gputuner.model.advice import Advice


def note(quantity: str, uuid: str, **more: str | float) -> QualityNote:
    params = {"uuid": uuid, "quantity": quantity, "source": "nvml", "other": "gputemps", "difference": 14.0}
    return QualityNote(code=SOURCES_DISAGREE, params={**params, **more})


@pytest.fixture
def told(lab) -> dict[str, Advice]:
    """Both kinds of advice about heat, from their rules."""
    card = lab.card(target_c=83.0)
    warm = {"core_temperature_end_c": 83.0, "memory_temperature_end_c": 86.0, "fan_fraction": 0.9}
    cool = {"core_temperature_end_c": 62.0, "memory_temperature_end_c": 86.0}
    both = []
    for held, values, rule in (("thermal_hardware", warm, thermal_rule), ("thermal_software", cool, memory_rule)):
        load = lab.rate("p", 128, 1000.0, phase="sustained", conditions=lab.conditions(limited={held: 5.0}, **values))
        both += rule(lab.Evidence(card=card, points=(load,)))
    return {entry.id: entry for entry in both}


def test_the_reason_names_source_other_and_difference(lab, told):
    disputed = [note("core_temperature_c", lab.UUID, difference=9.0), note("memory_temperature_c", lab.UUID)]
    core = "The core temperature is from NVML; gputemps differs by 9 °C."
    memory = "The memory temperature is from NVML; gputemps differs by 14 °C."
    thermal, heat = naming_sources([told["limit.thermal"], told["memory_heat.suspected"]], disputed)
    assert core in advice_why(thermal)
    assert memory not in advice_why(thermal)
    assert core in advice_why(heat)
    assert memory in advice_why(heat)
    assert set(RESTS_ON) == set(told)


def test_what_is_not_disputed_stays_as_it_is(lab, told):
    elsewhere = [note("memory_temperature_c", "GPU-other"), note("power_average_w", lab.UUID)]
    assert naming_sources(told.values(), elsewhere) == tuple(told.values())
    assert naming_sources(told.values(), []) == tuple(told.values())


def test_of_several_the_first_is_named(lab, told):
    disputed = [note("memory_temperature_c", lab.UUID), note("memory_temperature_c", lab.UUID, other="second")]
    (heat,) = naming_sources([told["memory_heat.suspected"]], disputed)
    assert heat.params["memory_other"] == "gputemps"
