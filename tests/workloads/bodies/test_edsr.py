import pytest

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from gputuner.workloads.bodies import edsr  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.training_shapes import EDSR, EdsrShape  # noqa: E402

pytestmark = pytest.mark.torch

TINY = EdsrShape(blocks=2, channels=8, branch_scale=0.1)


def training(**options):
    options = {"batch": 2, "precision": "fp32", "seed": 1, "patch": 8, "shape": TINY, **options}
    return edsr.EdsrTraining(CpuDevice(None), **options)


@pytest.mark.parametrize(("variant", "millions"), [("baseline", 1.37), ("full", 40.7)])
def test_parameters_are_those_of_the_paper(variant, millions):
    with torch.device("meta"):
        network = edsr.Edsr(EDSR[variant])
    assert sum(p.numel() for p in network.parameters()) == EDSR[variant].parameters
    assert EDSR[variant].parameters / 1e6 == pytest.approx(millions, rel=0.002)


def test_operations():
    body = training()
    with FlopCounterMode(display=False) as counter:
        body._forward(*body._source.take()).backward()
    assert counter.get_total_flops() / 2 == TINY.flop(8)


def test_enlarges_by_two():
    assert edsr.Edsr(TINY)(torch.randn(1, 3, 12, 10)).shape == (1, 3, 24, 20)


@pytest.mark.parametrize("channels_last", [True, False])
def test_a_repeated_batch_is_learned(channels_last):
    body = training(channels_last=channels_last)
    for _ in range(10):
        body.iterate()
    notes = body.notes()
    assert notes["last_loss"] < notes["first_loss"]
    assert notes["optimizer"] == "adam_fused"


def test_an_unknown_variant_is_refused():
    with pytest.raises(UnsupportedError):
        training(shape=None, variant="wide")
