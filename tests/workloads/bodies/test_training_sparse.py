import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import training_sparse as sparse  # noqa: E402
from gputuner.workloads.bodies.bert import BertTraining  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.training_shapes import BertShape  # noqa: E402

pytestmark = pytest.mark.torch


def masked(weight):
    """A dense stand-in for packed weights: the first two of each four stay."""
    keep = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=weight.dtype).repeat(weight.shape[1] // 4)
    dense = weight * keep
    return sparse.Pruned(dense, dense.t().contiguous())


def test_products_use_the_pruned_weight_and_the_gradient_reaches_all_of_it():
    torch.manual_seed(4)
    rows, weight = torch.randn(5, 8, requires_grad=True), torch.randn(6, 8, requires_grad=True)
    out = sparse.StraightThrough.apply(rows, weight, masked)
    kept = masked(weight.detach()).direct
    torch.testing.assert_close(out, rows @ kept.t())
    gradient = torch.randn(5, 6)
    out.backward(gradient)
    torch.testing.assert_close(rows.grad, gradient @ kept)
    torch.testing.assert_close(weight.grad, gradient.t() @ rows)
    assert bool((weight.grad != 0).all())


def test_linear_layers_are_replaced_and_keep_their_weights():
    torch.manual_seed(4)
    layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    weights = [layers[0].weight, layers[2].weight]
    sparse.replace_linear(layers, masked, torch.float32)
    assert [type(layer).__name__ for layer in layers] == ["SparseLinear", "ReLU", "SparseLinear"]
    assert layers[0].weight is weights[0]
    assert layers[2].weight is weights[1]
    rows = torch.randn(2, 3, 8)
    hidden = torch.relu(rows @ masked(weights[0]).direct.t() + layers[0].bias)
    torch.testing.assert_close(layers(rows), hidden @ masked(weights[1]).direct.t() + layers[2].bias)


def test_a_packed_weight_with_foreign_entries_is_noticed():
    weight = torch.randn(4, 8)
    assert torch.equal(sparse.kept_of(weight, masked(weight).direct.t()), masked(weight).direct)
    with pytest.raises(ValueError, match="other entries"):
        sparse.kept_of(weight, masked(weight).direct.t() * 1.5)


def test_a_processor_cannot():
    shape = BertShape(layers=1, width=64, heads=4, feed_forward=128, vocabulary=50, positions=16)
    with pytest.raises(UnsupportedError):
        BertTraining(CpuDevice(None), batch=1, precision="bf16", seed=1, sequence=16, sparse=True, shape=shape)


def test_the_layout_of_ampere_is_tried_on_ampere_and_ada_only():
    assert set(sparse.candidates(8)) == {"cutlass", "cusparselt", "cusparselt_compressed"}
    assert set(sparse.candidates(9)) == {"cutlass", "cusparselt_compressed"}
