import math

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.shelf import make_body  # noqa: E402
from gputuner.workloads.bodies.switches import Switches  # noqa: E402
from gputuner.workloads.bodies.training import TrainingStep  # noqa: E402
from gputuner.workloads.bodies.training_optimizer import OPTIMIZERS, make_optimizer, steps_taken  # noqa: E402

pytestmark = pytest.mark.torch


def step_of(optimizer="sgd_momentum", precision="fp32", rate=0.1, **options):
    torch.manual_seed(1)
    body = TrainingStep(CpuDevice(None), batch=8, precision=precision, **options)
    source = (torch.randn(8, 16), torch.randn(8, 4))
    model = torch.nn.Linear(16, 4)
    body.build(model, source, torch.nn.functional.mse_loss, rate=rate, optimizer=optimizer, flop_per_sample=384.0)
    return body, model


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_brings_the_loss_of_a_repeated_batch_down(optimizer):
    body, _ = step_of(optimizer, rate=0.02)
    for _ in range(20):
        body.iterate()
    notes = body.notes()
    assert notes["last_loss"] < 0.9 * notes["first_loss"]
    assert notes["optimizer"] == optimizer
    assert notes["parameters"] == 16 * 4 + 4
    assert notes["model_flop_per_sample"] == 384.0


def test_samples_and_tokens_are_those_of_the_batch():
    assert step_of(tokens=128)[0].work == {"samples": 8.0, "tokens": 1024.0}
    assert step_of()[0].work == {"samples": 8.0}


def test_accumulated_batches_make_the_step_of_the_whole_batch():
    """Four times the gradient of the same batch, each a quarter: the weights after a step are those of one batch."""
    plain, one = step_of("adamw_fused")
    split, four = step_of("adamw_fused")
    split.accumulate_over(4)
    for body in (plain, split):
        for _ in range(3):
            body.iterate()
    assert torch.allclose(one.weight, four.weight, atol=1e-6)
    assert split.work == {"samples": 32.0}
    assert (split.notes()["accumulate"], "accumulate" in plain.notes()) == (4, False)


def test_accumulated_batches_are_counted_as_one_step_by_a_scaler():
    body, _ = step_of(precision="fp16")
    body.accumulate_over(2)
    body.iterate()
    body.mark()
    for _ in range(3):
        body.iterate()
    assert body.notes()["skipped_steps"] == 0


def test_the_worker_makes_a_training_over_several_batches():
    body = make_body("resnet50", CpuDevice(None), {"batch": 2, "precision": "fp32", "image": 32, "accumulate": 3}, 1)
    assert body.work == {"samples": 6.0}


@pytest.mark.parametrize("optimizer", ["sgd_momentum", "adamw_fused"])
def test_steps_that_the_scaler_skips_are_told_apart_from_those_taken(optimizer):
    body, model = step_of(optimizer, precision="fp16")
    for _ in range(3):
        body.iterate()
    body.mark()
    for _ in range(2):
        body.iterate()
    with torch.no_grad():
        model.weight.fill_(float("inf"))
    for _ in range(3):
        body.iterate()
    notes = body.notes()
    assert notes["skipped_steps"] == 3
    assert notes["loss_finite"] is False
    assert math.isfinite(notes["loss_scale"])


def test_fused_optimizers_count_their_own_steps():
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = make_optimizer("adamw_fused", [weight], 0.1)
    assert steps_taken(optimizer) is None
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()
    assert steps_taken(optimizer) == 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, in importing its compiler
def test_a_compiler_that_fails_means_unsupported():
    import torch._inductor.config as inductor

    body, _ = step_of(switches=Switches(compile=True))
    with (
        inductor.patch({"cpp.cxx": (None, "no-such-compiler")}),
        pytest.raises(UnsupportedError, match=r"torch\.compile"),
    ):
        body.iterate()
