"""Modules one by one: what they meet, each format timed, odd sizes padded."""

import time

import pytest

torch = pytest.importorskip("torch")


from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.precision_modules import ModuleTimes, odd_sizes  # noqa: E402
from gputuner.workloads.bodies.survey import Pace  # noqa: E402

pytestmark = pytest.mark.torch

RECIPE = """
import torch
from torch import nn


class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, x):
        {forward}


def make():
    return {{"model": {name}(), "batch": lambda n: {batch}, "loss": lambda model, x: model(x).float().mean()}}
"""


def survey(folder, precision="bf16", **parts):
    (folder / "mine.py").write_text(RECIPE.format(name="Mine", **parts))
    made = ModuleTimes(
        CpuDevice(None), seed=0, training="recipe", recipe="mine.py:make", folder=str(folder), batch=2,
        precision=precision, channels_last=False,
    )  # fmt: skip
    end = time.monotonic() + 20.0
    pace = Pace(measure_s=0.2, left_s=lambda: end - time.monotonic(), stopped=lambda: False)
    return list(made.parts(pace)), made.notes()


def test_c055_sizes_that_8_does_not_divide_are_found():
    assert odd_sizes(1024, 33708) == [(33708, 33712)]
    assert odd_sizes(1000, 512) == []
    assert odd_sizes(768, 3072) == []
    assert odd_sizes(3, 10) == [(10, 16)]


def test_c055_an_odd_layer_is_timed_padded_beside_itself(tmp_path):
    parts, _ = survey(
        tmp_path, layers="self.even, self.head = nn.Linear(16, 24), nn.Linear(24, 1001)",
        forward="return self.head(self.even(x))", batch="torch.randn(n, 16)",
    )  # fmt: skip
    padded = [part.params for part in parts if "size" in part.params]
    assert [(p["module"], p["size"], p["padded"], p["precision"]) for p in padded] == [("head", 1001, 1008, "bf16")]
    assert all(part.iteration_s for part in parts)


def test_c054_every_kind_of_module_is_timed_in_both_formats_on_what_it_meets(tmp_path):
    """The two convolutions of the case, the second in two groups."""
    parts, notes = survey(
        tmp_path,
        layers="self.first, self.grouped = nn.Conv2d(1, 64, 3), nn.Conv2d(64, 64, 3, groups=2)",
        forward="return self.grouped(self.first(x))",
        batch="torch.randn(n, 1, 32, 32)",
    )
    timed = {(part.params["module"], part.params["precision"]) for part in parts if part.iteration_s}
    assert timed == {(name, format_) for name in ("first", "grouped") for format_ in ("fp32", "bf16")}
    assert notes["module_kinds"] == 2


def test_modules_alike_are_timed_once_and_counted(tmp_path):
    parts, _ = survey(
        tmp_path, layers="self.layers = nn.Sequential(*[nn.Linear(16, 16) for _ in range(5)])",
        forward="return self.layers(x)", batch="torch.randn(n, 16)",
    )  # fmt: skip
    assert [(part.params["precision"], part.params["count"]) for part in parts] == [("fp32", 5), ("bf16", 5)]


def test_tokens_and_recurrent_layers_are_timed_too(tmp_path):
    parts, _ = survey(
        tmp_path,
        layers="self.words, self.rnn = nn.Embedding(32, 16), nn.LSTM(16, 16, batch_first=True)",
        forward="return self.rnn(self.words(x))[0]",
        batch="torch.randint(32, (n, 4))",
    )
    assert {part.params["kind"] for part in parts if part.iteration_s} == {"Embedding", "LSTM"}
