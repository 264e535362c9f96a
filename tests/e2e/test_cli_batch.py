"""``batch``: the examples of the docs really run; a broken recipe is told; nothing else is harmed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CARD = "rtx-4090-48g"
EXAMPLES = Path(__file__).parents[2] / "docs/examples"

pytestmark = pytest.mark.e2e


@pytest.mark.torch
@pytest.mark.parametrize("name", ["plain_torch", "transformers_model", "lightning_module"])
def test_the_examples_of_the_docs_run(gputuner, name):
    ended = gputuner(
        "batch", "--recipe", f"{name}.py:make", "--limit-only", "--precision", "fp32", "--minutes", "0.7",
        "--gpu", "cpu", "--memory-cap", "4", "--json", cwd=EXAMPLES,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["schema"] == "gputuner.batch/1"
    assert {w["code"] for w in document["warnings"]} <= {"stage_skipped", "limit_untold", "limit_untold_few"}
    told = {point["metric"]: point for point in document["points"]}
    assert told["train_throughput"]["workload"] == f"{name}.py:make"
    if "batch_limit" not in told:  # where other work leaves time for tiny sizes only, none is told, and it is asked for
        assert "batch_limit" in {question["id"] for question in document["to_measure"]}
        return
    assert told["memory_per_sample"]["value"] > 0
    limit, safe = told["batch_limit"], told["batch_safe"]["value"]
    if "size_most" in limit["extra"]:  # not memory ended it but the largest size that is tried
        assert 1 < safe <= limit["value"]
        return
    # A size that ran is safe where the smallest that failed is a margin above it; else a margin is kept from the limit.
    assert 1 < safe <= 0.9 * limit["extra"].get("fails", limit["value"])


@pytest.mark.torch
def test_a_broken_recipe_is_told_with_its_own_words(gputuner, tmp_path):
    (tmp_path / "mine.py").write_text("def make():\n    raise ValueError('the data set is not mounted')\n")
    ended = gputuner("batch", "--recipe", "mine.py:make", "--gpu", "cpu", "--minutes", "0.5", cwd=tmp_path)
    assert "the data set is not mounted" in ended.err
    assert "in make" in ended.err
    assert "workloads" not in ended.err
    assert ended.code == 6


def test_a_built_in_on_a_simulated_card(gputuner):
    ended = gputuner("batch", "bert", "--simulate", CARD, "--json", "--quiet")
    document = ended.document
    assert (ended.code, document["simulated"]) == (0, True)
    told = {point["metric"]: point for point in document["points"]}
    assert told["batch_fastest"]["value"] < told["batch_safe"]["value"] < told["batch_limit"]["value"]
    assert told["batch_limit"]["params"]["verified"] is True


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("alexnet",), "alexnet"),
        (("--recipe", "mine.py"), "mine.py"),
        (("bert", "--recipe", "mine.py:make"), "not both"),
        (("--recipe", "mine.py:make"), "simulated"),
        (("--precision", "fp12"), "fp12"),
    ],
)
def test_what_cannot_be_meant_is_refused(gputuner, words, told):
    ended = gputuner("batch", *words, "--simulate", CARD)
    assert ended.code == 2
    assert told in ended.err


def test_a_dry_run_of_a_recipe_runs_nothing_of_it(gputuner, tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('it ran')\n")
    ended = gputuner("batch", "--recipe", "mine.py:make", "--dry-run", "--gpu", "cpu", cwd=tmp_path)
    assert ended.code == 0
    assert "it ran" not in ended.err + ended.out
    assert "not run" in ended.err


PARENT = """
import sys
from pathlib import Path
from gputuner.cli.app import main

code = main(sys.argv[1:])
mapped = {Path(line.split()[-1]).name for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
held = sorted(name for name in mapped if name.startswith(("libcuda", "libtorch", "libc10", "libnvidia")))
print(code, "torch" in sys.modules, "cuda" in sys.modules, held, file=sys.stderr)
"""


WIDE = """
import torch
from torch import nn


def make():
    loss = lambda model, batch: model(batch).square().mean()
    return {"model": nn.Linear(1 << 18, 1), "batch": lambda n: torch.ones(n, 1 << 18), "loss": loss}
"""
"""A mebibyte a sample, and hardly anything to compute: memory is what limits it, within seconds."""


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_c044_the_parent_holds_no_context_of_a_card(gputuner, tmp_path):
    """It loads no torch and maps neither CUDA's nor the driver's library, though children ran out of memory.

    The search ends where it has found the limit; the time allowed is for slow machines.
    """
    (tmp_path / "wide.py").write_text(WIDE)
    words = (
        "batch",
        "--recipe",
        "wide.py:make",
        "--limit-only",
        "--precision",
        "fp32",
        "--minutes",
        "10",
        "--gpu",
        "cpu",
    )
    ended = subprocess.run(
        [sys.executable, "-c", PARENT, *words, "--memory-cap", "0.3", "--json", "--data-dir", str(tmp_path)],
        env=gputuner.environment(), capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ended.stderr.rstrip().splitlines()[-1] == "0 False False []", ended.stderr
    limit = next(p for p in json.loads(ended.stdout)["points"] if p["metric"] == "batch_limit")
    assert "fails" in limit["extra"], "a child ran out of memory"
