"""Code to paste after a numerical check does what it says, on a processor."""

import pytest

torch = pytest.importorskip("torch")

from gputuner.advice import numerics_snippets as snippets  # noqa: E402

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))

    def forward(self, inputs):
        return self.block(inputs)


def test_one_module_computes_in_fp32_inside_of_autocast():
    model, seen = Net(), {}
    for name in ("0", "1"):
        layer = model.get_submodule(f"block.{name}")
        layer.register_forward_hook(lambda _m, _i, output, name=name: seen.update({name: output.dtype}))
    exec(snippets.kept_in_fp32("block.1", cpu=True), {"torch": torch, "model": model})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(3, 4)).sum().backward()
    assert seen == {"0": torch.bfloat16, "1": torch.float32}
    assert model.block[0].weight.grad is not None


def test_a_marked_function_computes_in_fp32_and_its_backward_follows():
    names = {"torch": torch}
    exec(snippets.bare_function(True), names)
    inputs = torch.randn(3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = torch.nn.functional.linear(inputs, torch.eye(3))
        outputs = names["Mine"].apply(half)
    assert (half.dtype, outputs.dtype) == (torch.bfloat16, torch.float32)
    outputs.sum().backward()
    assert torch.equal(inputs.grad, torch.ones(3))


def test_weights_losses_and_sensitive_operations_go_back_to_fp32():
    model = Net().half()
    names = {"torch": torch, "model": model, "loss_fn": torch.nn.functional.cross_entropy}
    exec(snippets.half_weights(True), names)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    names |= {"outputs": torch.randn(3, 2).half(), "targets": torch.tensor([0, 1, 0])}
    exec(snippets.half_loss(True), names)
    assert names["loss"].dtype == torch.float32
    names["scores"] = torch.tensor([[11.0, 12.0]]).half()
    exec(snippets.half_operation(True), names)
    assert names["shares"].dtype == torch.float16
    assert float(names["shares"].sum()) == pytest.approx(1.0, abs=1e-3)


def test_the_last_resort_changes_nothing_by_itself():
    assert all(line.startswith("#") for line in snippets.clamped().splitlines())
