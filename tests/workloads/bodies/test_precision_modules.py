"""Modules one by one: what they meet, each format timed, odd sizes padded."""

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
    pace = Pace(measure_s=0.2, left_s=lambda: 20.0, stopped=lambda: False)
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
    """The first alone meets FP32: autocast casts its input, and no other's."""
    parts, _ = survey(
        tmp_path, layers="self.layers = nn.Sequential(*[nn.Linear(16, 16) for _ in range(5)])",
        forward="return self.layers(x)", batch="torch.randn(n, 16)",
    )  # fmt: skip
    told = [(part.params["module"], part.params["precision"], part.params["count"]) for part in parts]
    assert sorted(told) == [
        ("layers.0", "bf16", 1), ("layers.0", "fp32", 1), ("layers.1", "bf16", 4), ("layers.1", "fp32", 4),
    ]  # fmt: skip


def test_under_autocast_a_module_is_timed_on_the_type_that_the_one_before_it_gives(tmp_path):
    """Else a cast would be charged to it that the training does not do; in FP32 everything is FP32."""
    met = set()

    def note(module, args):
        if isinstance(module, torch.nn.Conv2d | torch.nn.BatchNorm2d):
            met.add((type(module).__name__, torch.is_autocast_enabled("cpu"), args[0].dtype))

    hook = torch.nn.modules.module.register_module_forward_pre_hook(note)
    try:
        survey(
            tmp_path, layers="self.conv, self.norm = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8)",
            forward="return self.norm(self.conv(x))", batch="torch.randn(n, 1, 8, 8)",
        )  # fmt: skip
    finally:
        hook.remove()
    assert met == {
        ("Conv2d", True, torch.float32), ("BatchNorm2d", True, torch.bfloat16),
        ("Conv2d", False, torch.float32), ("BatchNorm2d", False, torch.float32),
    }  # fmt: skip


def test_a_padded_layer_meets_the_type_of_the_one_it_stands_for(tmp_path):
    met = set()

    def note(module, args):
        if isinstance(module, torch.nn.Linear) and module.in_features == 24:
            met.add((module.out_features, torch.is_autocast_enabled("cpu"), args[0].dtype))

    hook = torch.nn.modules.module.register_module_forward_pre_hook(note)
    try:
        survey(
            tmp_path, layers="self.even, self.head = nn.Linear(16, 24), nn.Linear(24, 1001)",
            forward="return self.head(self.even(x))", batch="torch.randn(n, 16)",
        )  # fmt: skip
    finally:
        hook.remove()
    assert {(size, dtype) for size, half, dtype in met if half} == {(1001, torch.bfloat16), (1008, torch.bfloat16)}


def test_tokens_and_recurrent_layers_are_timed_too(tmp_path):
    parts, _ = survey(
        tmp_path,
        layers="self.words, self.rnn = nn.Embedding(32, 16), nn.LSTM(16, 16, batch_first=True)",
        forward="return self.rnn(self.words(x))[0]",
        batch="torch.randint(32, (n, 4))",
    )
    assert {part.params["kind"] for part in parts if part.iteration_s} == {"Embedding", "LSTM"}
