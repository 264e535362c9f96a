"""TF32: forbidden and allowed everywhere at once, whoever set what before, and torch's own readers go on working."""

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.lstm import LstmTraining  # noqa: E402
from gputuner.workloads.bodies.precision import TF32_OF, switch_tf32, tf32_allowed  # noqa: E402
from gputuner.workloads.bodies.training_shapes import LstmShape  # noqa: E402

pytestmark = pytest.mark.torch

NEWER = hasattr(torch._C, "_set_fp32_precision_setter")


@pytest.fixture(autouse=True)
def torchs_own():
    yield
    switch_tf32(False)
    torch.backends.cudnn.allow_tf32 = True


def newer(backend, operation, word):
    torch._C._set_fp32_precision_setter(backend, operation, word)


BEFORE = {
    "nothing": lambda: None,
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
    "older": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
}
BEFORE_BY_THE_NEWER = {
    "everything": lambda: newer("generic", "all", "tf32"),
    "cudnn": lambda: newer("cuda", "all", "tf32"),
    "recurrent": lambda: newer("cuda", "rnn", "tf32"),
    "products and convolutions": lambda: (newer("cuda", "matmul", "tf32"), newer("cuda", "conv", "ieee")),
}


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("before", [*BEFORE.values(), *(BEFORE_BY_THE_NEWER.values() if NEWER else ())])
def test_products_convolutions_and_recurrent_layers_are_switched_and_torchs_readers_go_on(before, allowed):
    before()
    switch_tf32(allowed)
    assert tf32_allowed() == dict.fromkeys(TF32_OF, allowed)
    assert torch.get_float32_matmul_precision() == ("high" if allowed else "highest")
    assert torch.backends.cuda.matmul.allow_tf32 is allowed
    with torch.backends.cudnn.flags(enabled=True, benchmark=False):
        pass
    assert torch.backends.cudnn.allow_tf32 is allowed
    assert tf32_allowed() == dict.fromkeys(TF32_OF, allowed)


@pytest.mark.skipif(not NEWER, reason="torch before 2.9 has one interface")
def test_on_a_processor_nothing_of_an_earlier_recipe_stays():
    for operation in ("all", "conv", "rnn", "matmul"):
        newer("mkldnn", operation, "bf16")
    switch_tf32(False)
    read = torch._C._get_fp32_precision_getter
    assert {read("mkldnn", operation) for operation in ("conv", "rnn", "matmul")} <= {"none", "ieee"}


class Card(CpuDevice):
    """A processor that says of itself that it has TF32."""

    tf32_native = True


@pytest.mark.parametrize(("precision", "allowed"), [("fp32", False), ("tf32", True), ("bf16", True)])
def test_a_recurrent_training_computes_in_what_its_rate_is_named_after(precision, allowed):
    shape = LstmShape(vocabulary=32, width=16, layers=1)
    LstmTraining(Card(None), batch=2, precision=precision, seed=0, sequence=4, shape=shape).iterate()
    assert tf32_allowed() == dict.fromkeys(TF32_OF, allowed)
