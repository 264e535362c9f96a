"""Loading for a simulated card: the card's own step and link, a stand-in for the host."""

import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError
from gputuner.workloads.simulated_costs.links import link_rate
from gputuner.workloads.simulated_costs.loading import CORES, SAMPLE_S
from gputuner.workloads.simulated_costs.shelf import is_survey, settings_of
from gputuner.workloads.specs_loading import LoaderSetting, LoadingSpec

BATCH = 64


def card_of(card_id):
    return SimulatedCards([card_id], SimulatedClock(), seed=0).models[0]


def rates(card, part="supply", **changes):
    spec = LoadingSpec(part=part, batch=BATCH, precision="fp16", setting=LoaderSetting(**changes))
    assert is_survey(spec.workload)
    found = settings_of(card, spec.workload, spec.params())
    return [BATCH / card.iteration_s(each.cost.load) for each in found]


@pytest.mark.parametrize("card_id", ["rtx-4090-48g", "rtx-2080-ti-22g", "h200-sxm", "rtx-3090"])
def test_a_fed_training_is_no_faster_than_what_it_eats_or_is_given(card_id):
    card = card_of(card_id)
    (demand,) = rates(card, "demand")
    for workers in (0, 1, 4, 16):
        for pin in (False, True):
            alone, fed = rates(card, workers=workers, pin=pin)
            assert fed <= 1.001 * demand
            assert alone <= (max(1, workers)) / SAMPLE_S
    assert rates(card, workers=8)[0] > 7 * rates(card, workers=1)[0] * 0.9
    assert rates(card, workers=4 * CORES)[0] == rates(card, workers=CORES)[0]


def test_what_is_not_pinned_waits_for_the_link():
    card = card_of("rtx-3090")
    (demand,) = rates(card, "demand")
    pinned, pageable = (rates(card, workers=16, pin=pin)[1] for pin in (True, False))
    copy_s = BATCH * (3 * 224 * 224 * 4 + 8) / min(9e9, 0.55 * link_rate(card))
    assert pinned == pytest.approx(demand, rel=0.1)
    assert BATCH / pageable - BATCH / pinned == pytest.approx(copy_s, rel=0.2)


def test_what_a_model_cannot_know_is_refused():
    spec = LoadingSpec(
        part="supply", batch=BATCH, precision="fp16", setting=LoaderSetting(workers=2, decode="dali_card")
    )
    with pytest.raises(UnsupportedOnChipError):
        settings_of(card_of("rtx-3090"), spec.workload, spec.params())


def test_params_of_a_recipe_and_of_the_demand_name_only_what_is_theirs():
    recipe = LoadingSpec(part="supply", batch=8, precision="fp32", recipe="mine.py:make", folder="/x")
    assert "image" not in recipe.params()
    assert recipe.params()["prefetch"] == 2
    demand = LoadingSpec(part="demand", batch=8, precision="fp32")
    assert set(demand.params()) == {"part", "batch", "precision", "channels_last", "image"}
