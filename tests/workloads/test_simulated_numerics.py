"""The stand-in network of simulated cards: numbers rounded as the formats do, steps that take the card's time."""

import numpy as np
import pytest

from gputuner.analysis.trajectory import Verdict, judge
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads import simulated_numerics
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError
from gputuner.workloads.simulated_costs.shelf import is_survey, settings_of
from gputuner.workloads.simulated_numerics import ROUNDINGS, StandIn
from gputuner.workloads.specs import ResNet50Spec
from gputuner.workloads.specs_numerics import NumericsSpec
from gputuner.workloads.specs_recipe import RecipeSpec

NUMBERS = np.concatenate(
    [
        np.random.default_rng(1).standard_normal(4000).astype(np.float32)
        * np.float32(10.0) ** np.arange(-20, 20).repeat(100),
        np.array([0.0, -0.0, 1.0, 1.00390625, 1.01171875, -3.0e38, np.inf], dtype=np.float32),
    ]
).astype(np.float32)


@pytest.mark.torch
def test_bf16_rounds_as_torch_does():
    torch = pytest.importorskip("torch")
    wanted = torch.from_numpy(NUMBERS).to(torch.bfloat16).float().numpy()
    assert np.array_equal(ROUNDINGS["bf16"](NUMBERS), wanted)


def test_tf32_keeps_ten_bits_and_the_range_of_fp32():
    finite = NUMBERS[np.isfinite(NUMBERS)]
    rounded = ROUNDINGS["tf32"](finite)
    assert not (rounded.view(np.uint32) & np.uint32((1 << 13) - 1)).any()
    assert np.all(np.abs(rounded.astype(np.float64) - finite) <= 2.0**-11 * np.abs(finite.astype(np.float64)))
    assert np.isinf(ROUNDINGS["tf32"](NUMBERS)[-1])


def test_fp16_has_the_range_of_binary16():
    held = ROUNDINGS["fp16"](np.array([65504.0, 66246.4, 1e-9], dtype=np.float32))
    assert held.tolist() == [65504.0, np.inf, 0.0]


def losses(precision, draw=0, steps=200, twin=0):
    return [step.loss for step in StandIn(precision=precision, draw=draw, batches=8, twin=twin).run(steps)]


def twins():
    return [losses("fp32", twin=twin) for twin in (1, 2)]


def test_the_formats_as_they_are_stay_within_the_band():
    draws = [losses("fp32", draw) for draw in range(4)]
    for precision in ("tf32", "bf16", "fp16"):
        judged = judge(losses(precision), draws, twins())
        assert judged.verdict is Verdict.KEPT
        assert abs(judged.same_start) < 0.01


def test_one_bit_of_mantissa_does_not(monkeypatch):
    draws = [losses("fp32", draw) for draw in range(4)]
    monkeypatch.setitem(ROUNDINGS, "bf16", simulated_numerics._bits_kept(1))
    assert judge(losses("bf16"), draws, twins()).verdict is Verdict.APART


def test_a_few_skipped_steps_do_no_harm(monkeypatch):
    draws = [losses("fp32", draw) for draw in range(4)]
    monkeypatch.setattr(simulated_numerics, "FIRST_SCALE", 2.0**19)
    steps = StandIn(precision="fp16", draw=0, batches=8).run(200)
    assert 1 <= sum(step.skipped for step in steps) <= 20
    assert (
        judge([step.loss for step in steps], draws, twins(), skipped=[step.skipped for step in steps]).verdict
        is Verdict.KEPT
    )


def test_gradients_beyond_the_range_are_skipped_and_halve_the_scale(monkeypatch):
    monkeypatch.setattr(simulated_numerics, "FIRST_SCALE", 2.0**24)
    steps = StandIn(precision="fp16", draw=0, batches=8).run(60)
    skipped = [step.skipped for step in steps]
    assert skipped[0]
    assert not any(skipped[20:])
    assert steps[-1].scale == 2.0 ** (24 - sum(skipped))
    assert all((step.grad_norm is None) is step.skipped for step in steps)


def card_of(card_id):
    return SimulatedCards([card_id], SimulatedClock(), seed=0).models[0]


def spec(precision, steps=30):
    return NumericsSpec(training=ResNet50Spec(batch=32, precision=precision, channels_last=False), steps=steps)


def test_each_step_takes_the_time_of_the_training_and_says_that_it_is_a_stand_in():
    card = card_of("rtx-4090-48g")
    told = settings_of(card, "numerics", spec("bf16").params())
    training = settings_of(card, "resnet50", ResNet50Spec(batch=32, precision="bf16", channels_last=False).params())
    assert is_survey("numerics")
    assert [s.params["step"] for s in told if "step" in s.params] == list(range(30))
    assert {card.iteration_s(s.cost.load) for s in told} == {card.iteration_s(training[0].cost.load)}
    assert all(s.once and s.cost.notes["stand_in"] is True for s in told)


def test_the_worker_makes_each_step_once():
    cards = SimulatedCards(["rtx-4090-48g"], SimulatedClock(), seed=0)
    card = cards.models[0]
    worker = SimulatedWorker(card)
    worker.request(
        {"kind": "trial", "id": "t1", "workload": "numerics", "params": spec("bf16").params(), "measure_s": 20.0,
         "budget_s": 20.0, "warmup_s": None, "barrier": False, "seed": 0}
    )  # fmt: skip
    messages = [message for _t_ns, message in worker.step(60_000_000_000)]
    (result,) = [message for message in messages if message["kind"] == "result"]
    steps = [part for part in result["parts"] if "step" in part["params"]]
    assert len(steps) == 30
    assert all(len(part["iteration_s"]) == 1 for part in steps)
    assert (steps[-1]["t1_ns"] - steps[0]["t0_ns"]) / 1e9 == pytest.approx(30 * steps[0]["iteration_s"][0], rel=0.1)


def test_what_the_chip_lacks_or_a_recipe_is_refused():
    with pytest.raises(UnsupportedOnChipError):
        settings_of(card_of("rtx-2080-ti-22g"), "numerics", spec("tf32").params())
    recipe = NumericsSpec(training=RecipeSpec(recipe="mine.py:make", folder="/tmp"))
    with pytest.raises(UnsupportedOnChipError):
        settings_of(card_of("rtx-4090-48g"), "numerics", recipe.params())
