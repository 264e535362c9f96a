"""Switches of a training change how it is computed, not what: same losses, or a clear word that it cannot be done."""

import types
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from gputuner.workloads.bodies import training_checkpoints as checkpoints  # noqa: E402
from gputuner.workloads.bodies import training_switches as switching  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.edsr import EdsrTraining  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.gpt import GptTraining  # noqa: E402
from gputuner.workloads.bodies.lstm import LstmTraining  # noqa: E402
from gputuner.workloads.bodies.resnet50 import ResNet50, ResNet50Training  # noqa: E402
from gputuner.workloads.bodies.switches import Switches  # noqa: E402
from gputuner.workloads.bodies.training import TrainingStep  # noqa: E402
from gputuner.workloads.bodies.training_shapes import EdsrShape, GptShape, LstmShape  # noqa: E402

pytestmark = pytest.mark.torch

TINY = GptShape(layers=3, width=32, heads=2, vocabulary=64, positions=16)


def gpt(**switches):
    return GptTraining(CpuDevice(None), batch=2, precision="fp32", seed=0, sequence=8, shape=TINY, **switches)


def losses(body, steps=3):
    found = []
    for _ in range(steps):
        body.iterate()
        found.append(body.notes()["last_loss"] if len(found) else body.notes()["first_loss"])
    return found


@pytest.mark.parametrize(
    "switches",
    [
        {"checkpointing": True},
        {"optimizer_kind": "plain"},
        {"optimizer_kind": "foreach"},
        {"optimizer_kind": "fused"},
        {"sdpa": "math"},
        {"sdpa": "flash"},
    ],
    ids=str,
)
def test_the_losses_are_those_without(switches):
    body = gpt(**switches)
    assert losses(body) == pytest.approx(losses(gpt()), rel=1e-4)
    assert switches.items() <= body.notes().items()


def test_checkpointing_keeps_only_the_inputs_of_the_blocks():
    def kept(body):
        seen = {}
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: seen.update({t.data_ptr(): t.nbytes}) or t, lambda t: t
        ):
            body._forward(*body._source.take())
        return sum(seen.values())

    assert kept(gpt(checkpointing=True)) < 0.5 * kept(gpt())


def test_checkpointing_moves_the_statistics_of_batch_norm_once():
    def blocks():
        torch.manual_seed(0)
        return nn.Sequential(*[nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)) for _ in range(2)])

    images, plain, again = torch.randn(4, 1, 5, 5), blocks(), blocks()
    assert checkpoints.enable(again) == "blocks"
    for model in (plain, again):
        model(images).sum().backward()
    assert not torch.equal(plain[1][1].running_mean, torch.zeros(1))
    assert torch.allclose(again[1][1].running_mean, plain[1][1].running_mean)
    assert again[1][1].momentum == plain[1][1].momentum


def test_a_network_with_batch_norm_trains_with_checkpointing():
    body = ResNet50Training(CpuDevice(None), batch=2, precision="fp32", seed=0, image=64, checkpointing=True)
    body.iterate()
    assert body.notes()["loss_finite"] is True


def test_the_blocks_of_the_built_in_models_are_found():
    assert len(checkpoints.blocks(ResNet50())) == 16
    assert len(checkpoints.blocks(gpt()._model)) == TINY.layers
    shape = EdsrShape(blocks=3, channels=4, branch_scale=1.0)
    edsr = EdsrTraining(CpuDevice(None), batch=1, precision="fp32", seed=0, patch=8, shape=shape)
    assert len(checkpoints.blocks(edsr._model)) == 3


def test_a_plain_sequence_is_cut_into_stretches_and_gives_the_same():
    torch.manual_seed(0)
    layers = [nn.Linear(8, 8) if i % 2 == 0 else nn.Tanh() for i in range(9)]
    inputs = torch.randn(4, 8)
    chain = nn.Sequential(*layers)
    chain(inputs).square().sum().backward()
    expected = layers[0].weight.grad.clone()
    chain.zero_grad()
    assert checkpoints.enable(chain) == "blocks"
    chain(inputs).square().sum().backward()
    assert torch.allclose(layers[0].weight.grad, expected)


def test_a_model_without_blocks_says_so():
    shape = LstmShape(layers=1, width=8, vocabulary=16)
    with pytest.raises(UnsupportedError, match="no blocks"):
        LstmTraining(CpuDevice(None), batch=2, precision="fp32", seed=0, sequence=4, shape=shape, checkpointing=True)


def test_checkpointing_that_changes_gradients_is_refused():
    class Counting(nn.Module):
        """Computes something else the second time."""

        def __init__(self):
            super().__init__()
            self.weight, self.calls = nn.Parameter(torch.ones(3)), 0

        def forward(self, rows):
            self.calls += 1
            return torch.tanh(rows * self.weight * self.calls)

    model = nn.Sequential(nn.Sequential(Counting()), nn.Sequential(Counting()))
    rows = torch.ones(2, 3)
    with pytest.raises(UnsupportedError, match="gradients"):
        checkpoints.check(model, lambda: model(rows).sum(), lambda: checkpoints.enable(model))


def test_a_model_of_transformers_is_asked_to_do_it_itself():
    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            self.config, self.asked = types.SimpleNamespace(use_cache=True), None

        def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
            self.asked = gradient_checkpointing_kwargs

    wrapped = nn.ModuleDict({"inner": Theirs()})
    assert checkpoints.enable(wrapped) == "own"
    assert wrapped["inner"].asked == {"use_reentrant": False}
    assert wrapped["inner"].config.use_cache is False


def test_attention_that_is_not_called_cannot_be_switched():
    body = TrainingStep(CpuDevice(None), batch=4, precision="fp32", switches=Switches(sdpa="math"))
    model = nn.Linear(4, 2)
    body.build(model, (torch.randn(4, 4), torch.randn(4, 2)), functional.mse_loss, rate=0.1)
    with pytest.raises(UnsupportedError, match="scaled_dot_product_attention"):
        body.iterate()


def test_attention_inside_torchs_own_module_counts_as_called():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    switching.check_attention(lambda: layer(torch.randn(2, 3, 8)))


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ({"fp16_accumulate": True}, "NVIDIA"),
        ({"cuda_graph": True}, "NVIDIA"),
        ({"autotune": True}, "NVIDIA"),
        ({"expandable_segments": True}, "NVIDIA"),
        ({"sdpa": "quick"}, "quick"),
    ],
)
def test_what_a_processor_cannot_do_is_said(switches, words):
    with pytest.raises(UnsupportedError, match=words):
        gpt(**switches)


def test_an_optimizer_of_somebody_else_stays():
    class Own(torch.optim.Optimizer):
        def __init__(self, weights):
            super().__init__(weights, {})

        def step(self, closure=None):
            return None

    weight = nn.Parameter(torch.ones(2))
    with pytest.raises(UnsupportedError, match="Own"):
        switching.with_kind(Own([weight]), "fused")
    with pytest.raises(UnsupportedError, match="fused"):
        switching.with_kind(torch.optim.LBFGS([weight]), "fused")


@pytest.mark.parametrize("kind", ["plain", "foreach", "fused"])
@pytest.mark.parametrize("made", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_an_optimizer_keeps_its_settings(made, kind):
    weights = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    groups = [{"params": weights[:1], "lr": 0.5}, {"params": weights[1:]}]
    first = made(groups, lr=0.1, weight_decay=0.3)
    again = switching.with_kind(first, kind)
    assert type(again) is made
    assert [group["lr"] for group in again.param_groups] == [0.5, 0.1]
    assert {group["weight_decay"] for group in again.param_groups} == {0.3}
    assert {group["fused"] for group in again.param_groups} == {kind == "fused"}
    assert [group["params"] for group in again.param_groups] == [weights[:1], weights[1:]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiling_reaches_the_parts_where_the_model_itself_is_not_called(monkeypatch):
    """What is reached is the question, so that its graphs need no machine code."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))

    class Lightning(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 1), nn.Tanh())

        def training_step(self, rows):
            return self.net(rows).sum()

    model, rows = Lightning(), torch.randn(3, 4)
    switching.compile_while(model, lambda: model.training_step(rows).backward())
    with pytest.raises(UnsupportedError, match="nothing to compile"):
        switching.compile_while(nn.Linear(2, 2), lambda: None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_checkpointed_blocks_with_batch_norm_can_be_compiled():
    body = TrainingStep(CpuDevice(None), batch=4, precision="fp32", switches=Switches(compile=True, checkpointing=True))
    model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()) for _ in range(2)])
    body.build(model, (torch.randn(4, 8), torch.randn(4, 8)), functional.mse_loss, rate=0.1)
    body.iterate()
    assert body.notes()["loss_finite"] is True


def test_of_a_compilers_message_the_line_that_says_something_is_told():
    message = "backend='inductor' raised:\nCppCompileError: no compiler"
    with pytest.raises(UnsupportedError, match="failed: CppCompileError"), switching.blamed_on("torch.compile failed"):
        raise RuntimeError(message)


def test_only_what_differs_crosses_the_wire():
    assert Switches().params() == {}
    assert Switches(compile=True, sdpa="math", checkpointing=False).params() == {
        "compile": True,
        "sdpa": "math",
        "checkpointing": False,
    }
    assert Switches(autotune=True).environment() == ()
    assert dict(Switches(expandable_segments=True).environment())["PYTORCH_ALLOC_CONF"] == "expandable_segments:True"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.Linear(64, 10)), True),
        (torch.nn.Sequential(torch.nn.LSTM(32, 32), torch.nn.Linear(32, 32)), True),
        (torch.nn.Sequential(torch.nn.Conv2d(3, 16, 16), torch.nn.TransformerEncoderLayer(64, 4)), False),
        (torch.nn.Linear(8, 8), False),
    ],
)
def test_what_torch_computes_in_tf32_by_default(model, expected):
    assert switching.convolutional(model) is expected
