import pytest

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def network():
    from gputuner.workloads.bodies.resnet50 import ResNet50

    with torch.device("meta"):
        return ResNet50()


def test_parameters_are_those_of_the_published_network(network):
    assert sum(parameter.numel() for parameter in network.parameters()) == 25_557_032


def test_operations_are_those_of_version_1_5(network):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        scores = network(torch.empty(2, 3, 224, 224, device="meta"))
    assert scores.shape == (2, 1000)
    # 4.09 G multiply-adds per image of 224²; version 1 (stride in the first 1 × 1) has 3.8
    assert counter.get_total_flops() / 2 / 2 == pytest.approx(4.09e9, rel=0.005)


TINY = {"batch": 4, "precision": "fp32", "channels_last": True, "image": 64}


def test_training_learns_its_batch(worker):
    result = worker.trial("resnet50", TINY, measure_s=0.01, budget_s=600.0)
    assert result["kind"] == "result"
    assert result["work"] == {"samples": 4}
    assert result["notes"]["first_loss"] == pytest.approx(6.9, abs=1.5)  # chance over 1000 classes: ln 1000 = 6.9
    assert result["notes"]["last_loss"] < 0.8 * result["notes"]["first_loss"]
    assert result["notes"]["loss_finite"] is True


def test_the_same_seed_trains_the_same(worker):
    losses = [worker.trial("resnet50", TINY, measure_s=0.01, budget_s=600.0)["notes"]["first_loss"] for _ in range(2)]
    assert losses[0] == losses[1]


def test_memory_grows_with_the_batch(worker):
    small, large = (
        worker.trial("resnet50", {**TINY, "batch": batch}, measure_s=0.01, budget_s=600.0)["memory"]
        for batch in (2, 10)
    )
    grown = (large["allocated_peak_bytes"] - small["allocated_peak_bytes"]) / 8
    # 11.1 M outputs of convolutions per image of 224² (He et al.), in proportion to the area; kept for the backward
    # pass before and after the normalisation, 4 bytes each
    assert grown == pytest.approx(2 * 11.1e6 * (64 / 224) ** 2 * 4, rel=0.3)
    # weights, gradients and momentum
    assert small["allocated_peak_bytes"] > 3 * 4 * 25_557_032


@pytest.mark.parametrize("precision", ["bf16"])
def test_half_precision_trains_too(worker, precision):
    result = worker.trial("resnet50", {**TINY, "batch": 2, "precision": precision}, measure_s=0.01, budget_s=600.0)
    assert result["kind"] == "result"
    assert result["notes"]["loss_finite"] is True


@pytest.mark.parametrize("image", [224, 64])
def test_operations_of_a_training_sample(network, image):
    from torch.utils.flop_counter import FlopCounterMode

    from gputuner.workloads.bodies.training_shapes import resnet50_flop

    with FlopCounterMode(display=False) as counter:
        network(torch.empty(2, 3, image, image, device="meta")).sum().backward()
    assert counter.get_total_flops() / 2 == resnet50_flop(image)
