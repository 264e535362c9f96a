"""``batch --switches``: the command line down to the worker, on the processor and on a simulated card."""

import pytest

CARD = "rtx-4090-48g"
TINY = """
import torch
from torch import nn


def make():
    return {
        "model": nn.Sequential(nn.Sequential(nn.Linear(64, 64), nn.ReLU()), nn.Sequential(nn.Linear(64, 8))),
        "batch": lambda n: (torch.randn(n, 64), torch.randint(8, (n,))),
        "loss": lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
    }
"""

pytestmark = pytest.mark.e2e


@pytest.mark.torch
def test_the_switches_of_a_recipe_on_the_processor(gputuner, tmp_path):
    (tmp_path / "mine.py").write_text(TINY)
    ended = gputuner(
        "batch", "--recipe", "mine.py:make", "--switches", "--no-compile", "--batch-size", "64", "--minutes", "0.7",
        "--gpu", "cpu", "--memory-cap", "2", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["schema"] == "gputuner.switches/1"
    rates = [point for point in document["points"] if point["metric"] == "train_throughput"]
    assert {point["params"]["precision"] for point in rates} == {"fp32", "bf16"}
    assert {point["params"]["batch"] for point in rates} == {64}
    assert {point["workload"] for point in rates} == {"mine.py:make"}
    assert "switches.best" in {entry["id"] for entry in document["advice"]}
    reasons = " ".join(str(warning["params"].get("reason", "")) for warning in document["warnings"])
    assert "scaled_dot_product_attention" in reasons or "stage_skipped" in {w["code"] for w in document["warnings"]}


def test_a_built_in_on_a_simulated_card(gputuner):
    ended = gputuner("batch", "gpt", "--switches", "--simulate", CARD, "--json", "--quiet")
    document = ended.document
    assert (ended.code, document["simulated"]) == (0, True)
    best = next(entry for entry in document["advice"] if entry["id"] == "switches.best")
    assert best["gain"]["low"] > 0
    assert "model.compile()" in best["snippet"]
    assert best["params"]["base_precision"] == "fp32", "untouched, matrix products are FP32"
    answer = next(point for point in document["points"] if point["metric"] == "switches_gain")
    assert answer["value"] == pytest.approx(1.0 + best["gain"]["value"])
    reasons = {warning["params"].get("reason", "") for warning in document["warnings"]}
    assert any("a simulated card cannot tell" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--switches", "--limit-only"), "exclude each other"),
        (("--switches", "--numerics"), "exclude each other"),
        (("--batch-size", "8"), "--batch-size"),
        (("--switches", "--batch-size", "-4"), "-4"),
        (("--switches", "--recipe", "mine.py:make"), "simulated"),
    ],
)
def test_what_cannot_be_meant_is_refused(gputuner, words, told):
    ended = gputuner("batch", *words, "--simulate", CARD)
    assert ended.code == 2
    assert told in ended.err


def test_a_dry_run_tells_the_trials(gputuner):
    ended = gputuner("batch", "--switches", "--dry-run", "--simulate", CARD)
    assert ended.code == 0
    assert "two settings in turn" in ended.out + ended.err
