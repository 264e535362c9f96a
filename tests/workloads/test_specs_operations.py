import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.specs_links import MIB, AllReduceSpec, PeerTransferSpec, TransferSpec
from gputuner.workloads.specs_operations import AttentionSpec, ConvShape, ConvSpec, LaunchSpec

SHAPE = ConvShape(kernel=3, channels=8, filters=16, image=14)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AttentionSpec(sequences=(8,)),
        lambda: AttentionSpec(sequences=(1024,), heads=0),
        lambda: AttentionSpec(sequences=(1024,), precision="fp4"),
        lambda: ConvShape(kernel=2, channels=8, filters=8, image=14),
        lambda: ConvShape(kernel=3, channels=0, filters=8, image=14),
        lambda: ConvSpec(shapes=(SHAPE,), batch=0),
        lambda: LaunchSpec(kernels=5000),
        lambda: TransferSpec(sizes=(0,)),
        lambda: PeerTransferSpec(sizes=(1,)),
        lambda: AllReduceSpec(sizes=(1 << 40,)),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(UsageError):
        make()


def test_inputs_output_and_gradients_need_memory():
    # eight tensors of 16384 tokens × 16 heads × 128 numbers × 2 bytes
    assert AttentionSpec(sequences=(1024, 4096)).needed_bytes() == 8 * 16384 * 16 * 128 * 2
    assert AttentionSpec(sequences=(32768,)).needed_bytes() == 8 * 32768 * 16 * 128 * 2


@pytest.mark.torch
@pytest.mark.parametrize(
    "spec",
    [
        AttentionSpec(sequences=(64,), precision="fp32", backends=("math",), heads=2, head_dim=16, tokens=128),
        ConvSpec(shapes=(SHAPE,), precision="fp32", batch=2),
        LaunchSpec(),
        AllReduceSpec(sizes=(4096,)),
    ],
    ids=lambda spec: spec.workload,
)
def test_a_worker_takes_the_params(worker, spec):
    result = worker.trial(spec.workload, spec.params(), measure_s=0.05)
    assert result["kind"] == "result", result
    assert result["iteration_s"] == []
    assert all(part["iteration_s"] and part["work"] for part in result["parts"])


@pytest.mark.torch
@pytest.mark.parametrize("spec", [TransferSpec(sizes=(MIB,)), PeerTransferSpec(sizes=(MIB,))], ids=["pcie", "p2p"])
def test_links_need_cards(worker, spec):
    result = worker.trial(spec.workload, spec.params(), measure_s=0.05)
    gaps = {part["notes"].get("gap") for part in result.get("parts", ()) if part["params"].get("pinned", True)}
    assert result.get("error") == "unsupported" or gaps == {"unsupported"}
