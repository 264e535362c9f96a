"""``batch --numerics``: the whole way on a processor and on a simulated card."""

import pytest

CARD = "rtx-4090-48g"
RECIPE = """
import torch
from torch import nn

class Bare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return inputs.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 3))
    def forward(self, inputs):
        return self.layers(Bare.apply(inputs.requires_grad_()))

def make():
    def batch(n):
        inputs = torch.randn(n, 8)
        return inputs, inputs[:, :3].argmax(1)
    return {
        "model": Model(),
        "batch": batch,
        "loss": lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    }
"""

pytestmark = pytest.mark.e2e


def verdicts(document):
    told = [point for point in document["points"] if point["metric"] == "numerics_verdict"]
    return {point["params"]["precision"]: point["params"]["verdict"] for point in told}


@pytest.mark.torch
def test_a_recipe_on_the_processor(gputuner, tmp_path):
    (tmp_path / "mine.py").write_text(RECIPE)
    ended = gputuner(
        "batch", "--recipe", "mine.py:make", "--numerics", "--minutes", "1", "--gpu", "cpu", "--memory-cap", "2",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    document = ended.document
    found = verdicts(document)
    assert (found["fp32"], found["bf16"]) == ("reference", "kept")
    assert "tf32" not in found
    assert {"numerics_absent", "numerics_cpu"} <= {warning["code"] for warning in document["warnings"]}
    metrics = {point["metric"] for point in document["points"]}
    assert {"train_loss", "train_loss_band", "autocast_kept", "numerics_trap", "activation_peak"} <= metrics
    assert "numerics.custom_function" in {advice["id"] for advice in document["advice"]}


def test_a_built_in_on_a_simulated_card_is_a_stand_in_and_says_so(gputuner):
    ended = gputuner("batch", "gpt", "--numerics", "--simulate", CARD, "--quiet")
    assert ended.code == 0, ended.err
    assert "stand-in" in ended.err
    assert "trains as FP32" in ended.out
    assert "simulated" in ended.out


@pytest.mark.parametrize(
    ("words", "told"), [(("--limit-only",), "exclude"), (("--precision", "fp12"), "fp12"), (("alexnet",), "alexnet")]
)
def test_what_cannot_be_meant_is_refused(gputuner, words, told):
    ended = gputuner("batch", "--numerics", *words, "--simulate", CARD)
    assert ended.code == 2
    assert told in ended.err


def test_a_dry_run_tells_the_steps(gputuner):
    ended = gputuner("batch", "--numerics", "--dry-run", "--simulate", CARD)
    assert ended.code == 0
    assert "training in FP32" in ended.out
