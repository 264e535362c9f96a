"""Runs of the numerical check on a processor: same start and batches, real autocast and gradient scaler, traps."""

import math

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.numerics import HOPELESS, Numerics  # noqa: E402
from gputuner.workloads.bodies.numerics_audit import OUTSIDE, Audit  # noqa: E402
from gputuner.workloads.bodies.recipe import RecipeError  # noqa: E402

pytestmark = pytest.mark.torch

HEAD = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.narrow = nn.Linear(16, 3)
    def forward(self, inputs):
        return self.narrow(self.norm(self.wide(inputs)).relu())

def batch(n):
    inputs = torch.randn(n, 8)
    return inputs, (inputs[:, :3]).argmax(1)

def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1])

def optimizer(parameters):
    return torch.optim.SGD(parameters, lr=0.1)
"""
PLAIN = (
    HEAD
    + """
def make():
    return {"model": Model(), "batch": batch, "loss": loss, "optimizer": optimizer}
"""
)
HALF = (
    HEAD
    + """
def make():
    return {"model": Model().half(), "batch": lambda n: (batch(n)[0].half(), batch(n)[1]), "loss": loss,
            "optimizer": optimizer}
"""
)
OVERFLOWS = (
    HEAD
    + """
class Huge(Model):
    def forward(self, inputs):
        return super().forward(1e4 * self.scaled(inputs))
    def __init__(self):
        super().__init__()
        self.scaled = nn.Linear(8, 8, bias=False)
        nn.init.constant_(self.scaled.weight, 1e4)

def make():
    return {"model": Huge(), "batch": lambda n: (torch.ones(n, 8), torch.zeros(n, dtype=torch.long)), "loss": loss,
            "optimizer": optimizer}
"""
)
CUSTOM = (
    HEAD
    + """
class Bare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return 2 * inputs
    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient

class Aware(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, inputs):
        return 2 * inputs
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        return 2 * gradient

class Doubling(Model):
    def forward(self, inputs):
        return super().forward(Aware.apply(Bare.apply(self.wide.weight.new_ones(1) * inputs.requires_grad_())))

def make():
    return {"model": Doubling(), "batch": batch, "loss": loss, "optimizer": optimizer}
"""
)
CASTS = (
    HEAD
    + """
class Casting(Model):
    def forward(self, inputs):
        features = self.norm(self.wide(inputs)).half()
        return self.narrow(features.softmax(1).float())

def make():
    return {"model": Casting(), "batch": batch, "loss": lambda m, b: loss(m, b).half(), "optimizer": optimizer}
"""
)
MASKED = (
    HEAD
    + """
class Masked(Model):
    def forward(self, inputs):
        scores = inputs @ inputs.T
        mask = torch.ones_like(scores, dtype=torch.bool).triu(1)
        hidden = (scores.masked_fill(mask, float("-inf")) + 0.0).softmax(-1) @ inputs
        return super().forward(hidden)

def make():
    return {"model": Masked(), "batch": batch, "loss": loss, "optimizer": optimizer}
"""
)
FIXED = (
    HEAD
    + """
def make():
    torch.manual_seed(0)
    return {"model": Model(), "batch": batch, "loss": loss, "optimizer": optimizer}
"""
)


def recipe(tmp_path, source, **changed):
    (tmp_path / "mine.py").write_text(source)
    params = {"recipe": "mine.py:make", "folder": str(tmp_path), "batch": 4, "precision": "fp32"}
    return Numerics(CpuDevice(None), **{"seed": 1, "training": "recipe", "steps": 6, **params, **changed})


def told(run, pace, kind):
    """(params, notes) of the parts of one kind, and the run's notes."""
    parts = list(run.parts(pace(60.0)))
    return [(part.params, part.notes) for part in parts if kind in part.params], run.notes()


def losses(run, pace):
    return [notes.get("loss", math.nan) for _params, notes in told(run, pace, "step")[0]]


def test_every_format_starts_alike_and_sees_the_same_batches(tmp_path, pace):
    fp32, bf16 = losses(recipe(tmp_path, PLAIN), pace), losses(recipe(tmp_path, PLAIN, precision="bf16"), pace)
    assert bf16 == pytest.approx(fp32, rel=0.02)
    assert bf16 != fp32
    assert losses(recipe(tmp_path, PLAIN), pace) == fp32


def test_another_draw_starts_elsewhere_but_sees_the_same_batches(tmp_path, pace):
    first, second = recipe(tmp_path, PLAIN), recipe(tmp_path, PLAIN, draw=1)
    for ours, theirs in zip(first._batches, second._batches, strict=True):
        assert torch.equal(ours[0][0], theirs[0][0])
    assert losses(first, pace)[0] != losses(second, pace)[0]


def test_a_twin_starts_alike_but_for_a_rounding_and_sees_the_same_batches_in_order(tmp_path, pace):
    first, twin, again = (recipe(tmp_path, PLAIN, twin=which) for which in (0, 1, 1))
    for ours, theirs in zip(first._training.model.parameters(), twin._training.model.parameters(), strict=True):
        assert not torch.equal(ours, theirs) or not ours.any()
        assert torch.all((ours - theirs).abs() <= 2.0**-8 * ours.abs() * 1.0001)
    assert all(
        torch.equal(ours[0][0], theirs[0][0]) for ours, theirs in zip(first._batches, twin._batches, strict=True)
    )
    straight = twin._turns()
    assert all(next(straight) is batch for batch in twin._batches)
    found = losses(twin, pace)
    assert found == losses(again, pace)
    assert found != losses(first, pace)


def test_what_steps_draw_at_random_differs_between_twins(tmp_path, pace):
    """Number formats draw other dropout masks on a card, so what that does belongs to the twins' scatter."""
    source = PLAIN.replace("self.norm(", "nn.functional.dropout(self.norm(").replace(
        "(inputs)).relu()", "(inputs)), 0.5).relu()"
    )
    assert "dropout" in source
    first, twin = (losses(recipe(tmp_path, source, twin=which), pace) for which in (0, 1))
    plain, other = (losses(recipe(tmp_path, PLAIN, twin=which), pace) for which in (0, 1))
    apart = max(abs(a - b) for a, b in zip(first, twin, strict=True))
    assert apart > 5 * max(abs(a - b) for a, b in zip(plain, other, strict=True))


def test_each_turn_of_another_draw_takes_every_batch_once_in_an_order_of_its_own(tmp_path):
    first, second = recipe(tmp_path, PLAIN), recipe(tmp_path, PLAIN, draw=1)
    turns = [next(batches) for batches in [second._turns()] for _ in range(16)]
    places = [next(i for i, batch in enumerate(second._batches) if batch is turn) for turn in turns]
    assert sorted(places[:8]) == sorted(places[8:]) == list(range(8))
    assert places[:8] != places[8:]
    straight = first._turns()
    assert all(next(straight) is batch for batch in first._batches)


def test_a_recipe_that_fixes_its_seed_still_differs_by_the_order_of_its_batches(tmp_path, pace):
    first, second = recipe(tmp_path, FIXED), recipe(tmp_path, FIXED, draw=1)
    weights = [dict(run._training.model.named_parameters()) for run in (first, second)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert losses(first, pace) != losses(second, pace)


@pytest.mark.parametrize("draw", [0, 1])
def test_a_built_in_training_takes_turns_over_several_batches(pace, draw):
    params = {"batch": 2, "precision": "fp32", "image": 32}
    run = Numerics(CpuDevice(None), seed=1, training="resnet50", steps=3, batches=3, draw=draw, **params)
    assert [len(inputs) for inputs, _targets in run._batches] == [2, 2, 2]
    steps, notes = told(run, pace, "step")
    assert len(steps) == 3
    assert all(math.isfinite(step["loss"]) and step["grad_norm"] > 0 for _params, step in steps)
    assert notes["weights_finite"] is True


def test_the_gradient_scaler_on_a_processor_is_real(tmp_path, pace):
    steps, _notes = told(recipe(tmp_path, PLAIN, precision="fp16"), pace, "step")
    scales = [notes["scale"] for _params, notes in steps]
    for (_params, notes), before, after in zip(steps, [65536.0, *scales], scales, strict=False):
        assert notes["skipped"] is (after < before)
        assert notes["skipped"] or notes["grad_norm"] > 0


def test_a_run_without_end_of_skips_is_given_up_and_names_the_place(tmp_path, pace):
    steps, notes = told(recipe(tmp_path, OVERFLOWS, precision="fp16", steps=100), pace, "step")
    assert len(steps) == HOPELESS + 1
    assert notes["ended"] == "not_finite"
    assert notes["first_bad_place"] == "scaled"


def test_the_same_in_bf16_shows_what_fp16_could_not_hold(tmp_path, pace):
    peaks, _notes = told(recipe(tmp_path, OVERFLOWS, precision="bf16"), pace, "activation")
    sizes = {params["activation"]: notes for params, notes in peaks}
    assert sizes["scaled"]["largest"] == pytest.approx(8e4, rel=0.01)
    assert sizes["scaled"]["half"] is True


def test_operations_that_autocast_keeps_in_fp32_are_listed(tmp_path, pace):
    operations, _notes = told(recipe(tmp_path, PLAIN, precision="bf16"), pace, "operation")
    kept = {params["operation"]: notes for params, notes in operations if params["kept"] == "autocast"}
    assert kept["cross_entropy"]["where"] == OUTSIDE
    assert "linear" not in kept
    assert told(recipe(tmp_path, PLAIN), pace, "operation")[0] == []


def test_what_meets_fp32_is_promoted_and_not_kept_by_autocast(tmp_path, pace):
    source = (
        PLAIN.replace("Model()", "Shortcut()")
        + """
class Shortcut(Model):
    def forward(self, inputs):
        return super().forward(inputs + nn.functional.linear(inputs, torch.eye(8)))
"""
    )
    operations, _notes = told(recipe(tmp_path, source, precision="bf16"), pace, "operation")
    assert {"operation": "add", "kept": "input"} in [params for params, _notes in operations]
    assert {"operation": "add", "kept": "autocast"} not in [params for params, _notes in operations]


def trap_names(run, pace):
    return {(params["trap"], params["name"]): notes for params, notes in told(run, pace, "trap")[0]}


def test_weights_in_half_precision_are_found_and_the_scaler_refuses_them(tmp_path, pace):
    run = recipe(tmp_path, HALF, precision="fp16")
    found = trap_names(run, pace)
    assert found["half_weights", "float16"]["count"] == 6
    assert "wide.weight" in found["half_weights", "float16"]["where"]
    assert run.notes()["ended"] == "failed"
    assert "FP16 gradients" in run.notes()["failed"]


def test_frozen_weights_may_lie_in_half_precision(tmp_path, pace):
    source = (
        PLAIN
        + """
class Frozen(Model):
    def __init__(self):
        super().__init__()
        self.wide.half().requires_grad_(False)

def make():
    return {"model": Frozen(), "batch": batch, "loss": loss, "optimizer": optimizer}
"""
    )
    assert trap_names(recipe(tmp_path, source, precision="fp16"), pace) == {}


def test_custom_functions_without_autocast_handling_are_found(tmp_path, pace):
    found = trap_names(recipe(tmp_path, CUSTOM, precision="bf16"), pace)
    assert [name for kind, name in found if kind == "custom_function"] == ["Bare"]


def test_casts_by_hand_and_what_runs_in_half_after_them_are_found(tmp_path, pace):
    found = trap_names(recipe(tmp_path, CASTS), pace)
    assert {("hand_cast", "half"), ("half_operation", "softmax"), ("half_loss", "float16")} <= set(found)
    assert not {kind for kind, _name in trap_names(recipe(tmp_path, PLAIN), pace)}


def test_autocast_of_the_recipes_own_is_found_where_none_was_asked_for(tmp_path, pace):
    source = (
        PLAIN.replace('"loss": loss,', '"loss": own,')
        + """
def own(model, batch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return loss(model, batch)
"""
    )
    assert ("own_autocast", "bfloat16") in trap_names(recipe(tmp_path, source), pace)
    assert trap_names(recipe(tmp_path, source, precision="bf16"), pace) == {}


def test_the_infinities_of_a_mask_are_no_overflow(tmp_path, pace):
    peaks, _notes = told(recipe(tmp_path, MASKED, precision="fp16"), pace, "activation")
    assert all(notes["finite"] for _params, notes in peaks)


def test_an_audit_leaves_no_hook_behind():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with Audit(model, "cpu") as audit, pytest.raises(RuntimeError):
        model(torch.ones(1, 3))  # of another shape
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert audit.ranges == {}


def test_time_and_stop_end_the_steps_and_keep_them(tmp_path, pace):
    run = recipe(tmp_path, PLAIN, steps=50)
    parts = list(run.parts(pace(60.0, stop_after=3)))
    assert 0 < sum("step" in part.params for part in parts) < 50
    assert run.notes()["ended"] == "time"


def test_a_broken_recipe_is_the_recipes_error(tmp_path):
    with pytest.raises(RecipeError):
        recipe(tmp_path, "def make():\n    return {}\n")
