"""Recipes: what may be given, what is refused with a word, and that a step trains what the recipe says."""

import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.precision import switch_tf32, tf32_allowed  # noqa: E402
from gputuner.workloads.bodies.recipe import RecipeError, load, mapped, optimizer_of, tensors  # noqa: E402
from gputuner.workloads.bodies.recipe_training import RecipeTraining  # noqa: E402
from gputuner.workloads.bodies.trial import Control, Request, Trial  # noqa: E402

pytestmark = pytest.mark.torch

PLAIN = """
import torch
from torch import nn

def make():
    model = nn.Linear(4, 1)
    def batch(n):
        inputs = torch.randn(n, 4)
        return {"inputs": inputs, "targets": [inputs.sum(1, keepdim=True)]}
    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["inputs"]), batch["targets"][0])
    def optimizer(parameters):
        return torch.optim.SGD(parameters, lr=0.1)
    return {"model": model, "batch": batch, "loss": loss, "optimizer": optimizer}
"""
OWN_LOSS = """
import torch
from types import SimpleNamespace

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
    def forward(self, input_ids, labels):
        return SimpleNamespace(loss=((self.weight * input_ids - labels) ** 2).mean())

def make():
    return {"model": Model(), "batch": lambda n: {"input_ids": torch.ones(n, 3), "labels": torch.zeros(n, 3)}}
"""
OWN_STEP = """
import torch

class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
    def training_step(self, batch, batch_idx):
        assert batch_idx == 0
        return {"loss": (self.weight * batch).pow(2).sum()}
    def configure_optimizers(self):
        return [torch.optim.SGD(self.parameters(), lr=0.25)], ["schedule"]

class Recipe:
    model = Module()
    batch = staticmethod(lambda n: torch.ones(n, 3))

make = Recipe
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return f"{name}:make"

    before = [*sys.path], set(sys.modules)
    yield write
    sys.path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def training(folder, reference, **more):
    options = {"batch": 8, "precision": "fp32", "seed": 0, **more}
    return RecipeTraining(CpuDevice(None), recipe=reference, folder=str(folder), **options)


def test_a_step_minimises_the_recipes_loss_with_its_optimizer(tmp_path, written):
    body = training(tmp_path, written(PLAIN))
    for _ in range(60):
        body.iterate()
    notes = body.notes()
    assert body.work == {"samples": 8.0}
    assert notes["loss_finite"] is True
    assert notes["last_loss"] < 0.01 * notes["first_loss"]
    assert notes["optimizer"] == "SGD"
    assert notes["batch_bytes"] == 8 * 4 * 4 + 8 * 4


def test_a_models_own_loss_and_adamw_serve_where_the_recipe_names_none(tmp_path, written):
    recipe = load(written(OWN_LOSS), str(tmp_path))
    assert recipe.loss(recipe.model, recipe.batch(2)).item() == 1.0
    made = optimizer_of(recipe)
    assert isinstance(made, torch.optim.AdamW)
    assert made.param_groups[0]["lr"] == 1e-4


def test_a_training_step_and_configured_optimizers_serve_as_lightning_has_them(tmp_path, written):
    body = training(tmp_path, written(OWN_STEP), batch=1)
    body.iterate()
    # loss Σ w², gradient 2 w, step 0.25 · 2 w: each step halves the weights
    assert body._model.weight.tolist() == [0.5, 0.5, 0.5]


def test_a_module_is_found_in_the_folder(tmp_path, written):
    written(PLAIN, "of_mine.py")
    assert isinstance(load("of_mine:make", str(tmp_path)).model, torch.nn.Linear)


def test_it_goes_through_a_whole_trial(tmp_path, written):
    request = Request(id="t", workload="recipe", params={}, measure_s=0.05, budget_s=20.0, warmup_s=0.0)
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    device = CpuDevice(None)
    result = Trial(request, device, control).perform(lambda: training(tmp_path, written(PLAIN)))
    assert result["work"] == {"samples": 8.0}
    assert result["iteration_s"]
    assert result["notes"]["loss_finite"] is True


def test_images_are_laid_out_as_asked_for(tmp_path, written):
    text = """
import torch
def make():
    seen = []
    def loss(model, batch):
        seen.append(batch.is_contiguous(memory_format=torch.channels_last) and not batch.is_contiguous())
        return model(batch).mean()
    return {"model": torch.nn.Conv2d(3, 4, 3), "batch": lambda n: torch.randn(n, 3, 8, 8), "loss": loss, "seen": seen}
"""
    body = training(tmp_path, written(text), channels_last=True)
    body.iterate()
    weight = body._model.weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert body._made(2).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("text", "reference", "word"),
    [
        (PLAIN, "mine.py", "named"),
        (PLAIN, "mine.py:other", "no function 'other'"),
        (PLAIN, "lost.py:make", "no file"),
        ("import surely_not_installed_anywhere", "mine.py:make", "needs the module 'surely_not_installed_anywhere'"),
        ("def make(): return {}", "mine.py:make", "no model"),
        ("def make(): return 3", "mine.py:make", "no model"),
        ("import torch\ndef make(): return {'model': torch.nn.Linear(1, 1)}", "mine.py:make", "batch"),
        (PLAIN.replace('"loss": loss', '"loss": 3'), "mine.py:make", "loss"),
        (PLAIN.replace('"optimizer": optimizer', '"optimizer": 3'), "mine.py:make", "optimizer"),
        (PLAIN.replace("torch.optim.SGD(parameters, lr=0.1)", "None"), "mine.py:make", "NoneType"),
        (PLAIN.replace("torch.randn(n, 4)", "torch.randn(n + 1, 4)"), "mine.py:make", r"batch\(8\) .* \[9\] samples"),
        (PLAIN.replace("model = nn.Linear(4, 1)", "model = nn.ReLU()"), "mine.py:make", "no parameter"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path, written, text, reference, word):
    written(text)
    with pytest.raises(RecipeError, match=word):
        training(tmp_path, reference)


@pytest.mark.parametrize("told", ["None", "{'other': 1}"])
def test_a_step_without_a_loss_is_told(tmp_path, written, told):
    body = training(tmp_path, written(OWN_STEP.replace('{"loss": (self.weight * batch).pow(2).sum()}', told)))
    with pytest.raises(RecipeError, match="training_step"):
        body.iterate()


def test_an_output_without_a_loss_is_told(tmp_path, written):
    text = (
        PLAIN.replace('"loss": loss, ', "")
        .replace('{"inputs": inputs, "targets": [', '(inputs, ["')
        .replace("inputs.sum(1, keepdim=True)]}", 'x"])[0]')
    )
    body = training(tmp_path, written(text))
    with pytest.raises(RecipeError, match="no loss"):
        body.iterate()


nested = st.recursive(
    st.integers(0, 9).map(lambda value: torch.tensor(float(value))) | st.text(max_size=3) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@given(nested)
def test_every_tensor_of_a_batch_is_moved_and_nothing_else(value):
    before = [float(tensor) for tensor in tensors(value)]
    after = mapped(value, lambda tensor: tensor + 1)
    assert [float(tensor) for tensor in tensors(after)] == [number + 1 for number in before]
    assert type(after) is type(value)


def test_named_tuples_stay_what_they_are():
    from collections import namedtuple

    pair = namedtuple("pair", "x y")
    moved = mapped(pair(torch.zeros(1), SimpleNamespace(z=1)), lambda tensor: tensor + 1)
    assert isinstance(moved, pair)
    assert float(moved.x) == 1.0


def test_a_soaked_trial_also_evaluates_and_takes_a_smaller_batch(tmp_path, written):
    text = """
import torch
def make():
    model = torch.nn.Linear(4, 1)
    def loss(model, batch):
        with open("seen.txt", "a") as seen:
            seen.write(f"{len(batch)} {model.training} {torch.is_grad_enabled()};")
        return model(batch).pow(2).mean()
    return {"model": model, "batch": lambda n: torch.randn(n, 4), "loss": loss}
""".replace('"seen.txt"', repr(str(tmp_path / "seen.txt")))
    options = {"id": "t", "workload": "recipe", "params": {}, "measure_s": 0.02, "budget_s": 20.0, "warmup_s": 0.01}
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    reference = written(text)
    for soak in (False, True):
        (tmp_path / "seen.txt").write_text("")
        request = Request(**options, soak=soak)
        result = Trial(request, CpuDevice(None), control).perform(lambda: training(tmp_path, reference, batch=9))
        seen = set((tmp_path / "seen.txt").read_text().split(";")) - {""}
        assert seen == {"9 True True", *({"9 False False", "6 True True"} if soak else ())}
        assert result["notes"].get("soaked") == ("evaluation partial_batch" if soak else None)


RAGGED = """
import random
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(2), nn.Linear(2, 1)
    def forward(self, inputs):
        return self.last(self.norm(inputs.transpose(1, 2)).mean(2))

lengths = iter(LENGTHS)

def make():
    return {
        "model": Model(),
        "batch": lambda n: (torch.randn(n, next(lengths), 2), torch.randn(n, 1)),
        "loss": lambda model, batch: nn.functional.mse_loss(model(batch[0]), batch[1]),
        "samples": 1001,
    }
"""


def test_c040_samples_that_differ_in_length_are_seen_and_the_length_is_told(tmp_path, written):
    ragged = training(tmp_path, written(RAGGED.replace("LENGTHS", "[120, 420]")), batch=2).notes()
    assert (ragged["shapes_vary"], ragged["sample_shape"]) == (True, "120x2")
    longest = training(tmp_path, written(RAGGED.replace("LENGTHS", "[1900, 1900]"), "longest.py"), batch=2).notes()
    assert (longest["shapes_vary"], longest["sample_shape"]) == (False, "1900x2")
    large = training(tmp_path, written(RAGGED.replace("LENGTHS", "[1900]"), "large.py"), batch=64).notes()
    assert "shapes_vary" not in large, "a large batch is not made twice"


def test_c039_batch_norm_and_the_data_set_are_told(tmp_path, written):
    notes = training(tmp_path, written(RAGGED.replace("LENGTHS", "[5, 5]")), batch=2).notes()
    assert (notes["batch_norm"], notes["data_set_samples"]) == (True, 1001)
    plain = training(tmp_path, written(PLAIN, "plain.py")).notes()
    assert plain["batch_norm"] is False
    assert "data_set_samples" not in plain


@pytest.mark.parametrize("samples", ["0", "-3", "True", "1.5", "'many'"])
def test_a_size_of_the_data_set_that_is_none_is_refused(tmp_path, written, samples):
    text = RAGGED.replace("LENGTHS", "[5]").replace("1001", samples)
    with pytest.raises(RecipeError, match="size of the data set"):
        load(written(text), str(tmp_path))


NORMED = """
import torch
from torch import nn

def make():
    return {
        "model": nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)),
        "batch": lambda n: torch.randn(n, 4),
        "loss": lambda model, batch: model(batch).square().mean(),
    }
"""


def test_c039_the_workers_own_probe_never_trains_batch_norm_on_one_sample(tmp_path, written):
    reference = written(NORMED)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        training(tmp_path, reference, batch=1).iterate()
    body = training(tmp_path, reference, batch=8, precision="bf16")
    probe = body.probe(10.0)
    assert probe.notes["measured_batch"] == 2
    assert probe.work == {"samples": 2.0}
    assert probe.expected_s == pytest.approx(4 * probe.seconds)
    assert training(tmp_path, reference, batch=2, precision="bf16").probe(10.0) is None


def test_a_change_of_the_file_is_seen_in_its_digest(tmp_path):
    path = tmp_path / "changing_recipe.py"
    path.write_text(PLAIN)
    first = load("changing_recipe.py:make", str(tmp_path)).digest
    again = load("changing_recipe.py:make", str(tmp_path)).digest
    path.write_text(PLAIN + "# another word\n")
    changed = load("changing_recipe.py:make", str(tmp_path)).digest
    assert len(first) == 16
    assert first == again != changed


SWITCHES = """
import torch
from torch import nn

torch.set_float32_matmul_precision("high")
torch.backends.cudnn.benchmark = True

def make():
    {more}
    return {{"model": nn.Linear(4, 1), "batch": lambda n: torch.randn(n, 4),
            "loss": lambda model, x: model(x).mean()}}
"""


@pytest.fixture
def process():
    """Settings of the process, put back."""
    yield
    switch_tf32(False)
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = True, False
    torch.backends.cudnn.deterministic = False


@pytest.mark.usefixtures("process")
def test_what_a_recipe_switches_is_told_and_switched_back_to_what_the_trial_says(tmp_path, written):
    torch.backends.cudnn.allow_tf32 = True
    body = training(tmp_path, written(SWITCHES.format(more="torch.backends.cudnn.allow_tf32 = True")))
    assert tf32_allowed() == {"matmul": False, "conv": False, "rnn": False}
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.backends.cudnn.benchmark is False
    assert body.notes()["recipe_sets"] == "tf32_matmul tf32_conv tf32_rnn cudnn_benchmark"


@pytest.mark.usefixtures("process")
def test_a_recipe_that_sets_what_the_trial_says_anyway_is_not_told(tmp_path, written):
    assert "recipe_sets" not in training(tmp_path, written(PLAIN)).notes()


@pytest.mark.usefixtures("process")
@pytest.mark.skipif(not hasattr(torch._C, "_set_fp32_precision_setter"), reason="torch before 2.9 has no such switch")
def test_a_recipe_by_the_newer_interface_leaves_nothing_behind(tmp_path, written):
    body = training(tmp_path, written(SWITCHES.format(more='torch.backends.fp32_precision = "tf32"')))
    assert set(tf32_allowed().values()) == {False}
    assert body.notes()["recipe_sets"].split()[:3] == ["tf32_matmul", "tf32_conv", "tf32_rnn"]
    body.iterate()
    with torch.backends.cudnn.flags(enabled=True):
        pass


@pytest.mark.usefixtures("process")
def test_deterministic_algorithms_are_the_recipes_own_and_stay(tmp_path, written):
    body = training(tmp_path, written(SWITCHES.format(more="torch.backends.cudnn.deterministic = True")))
    assert torch.backends.cudnn.deterministic is True
    assert body.notes()["deterministic"] is True
    assert "deterministic" not in str(body.notes()["recipe_sets"])


def test_a_misspelt_part_is_refused_and_a_foreign_one_told(tmp_path):
    (tmp_path / "typo.py").write_text(PLAIN.replace('"optimizer": optimizer', '"optimiser": optimizer'))
    with pytest.raises(RecipeError, match="did you mean 'optimizer'"):
        load("typo.py:make", str(tmp_path))
    (tmp_path / "keeps.py").write_text(PLAIN.replace('"optimizer": optimizer', '"optimizer": optimizer, "keep": 1'))
    assert load("keeps.py:make", str(tmp_path)).unknown == ("keep",)
