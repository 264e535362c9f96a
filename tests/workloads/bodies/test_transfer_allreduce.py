import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import transfer_allreduce as module  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402
from gputuner.workloads.bodies.transfer_allreduce import AllReduce, GlooRanks, bus_bytes, reduce_error  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(("ranks", "factor"), [(2, 1.0), (4, 1.5), (8, 1.75)])
def test_bus_bytes_follow_nccl_tests(ranks, factor):
    assert bus_bytes(1 << 20, ranks) == factor * (1 << 20)


def test_two_ranks_on_a_processor_sum_and_are_counted(pace):
    parts = list(AllReduce(CpuDevice(None), seed=2, sizes="4096 100000").parts(pace(0.1)))
    assert [p.params for p in parts] == [{"bytes": size, "library": "gloo", "ranks": 2} for size in (4096, 100000)]
    assert [p.work["bytes"] for p in parts] == [4096, 100000]
    for part in parts:
        assert len(part.iteration_s) >= 3
        # one FP32 sum: at most half a unit in the last place
        assert 0 < part.relative_error < 2**-24


def test_every_rank_has_the_sum():
    ranks = GlooRanks()
    ranks.begin(1000, 7)
    first, second = ranks.fresh()
    assert torch.equal(first, second)
    torch.testing.assert_close(first, ranks.inputs[0] + ranks.inputs[1])
    assert not torch.equal(ranks.inputs[0], ranks.inputs[1])


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_wrong_sum_on_any_rank_is_no_number(wrong):
    inputs = [torch.randn(100, generator=torch.Generator().manual_seed(seed)) for seed in range(2)]
    outputs = [inputs[0] + inputs[1] for _ in range(2)]
    assert reduce_error(inputs, outputs) < 1e-7
    outputs[wrong] = outputs[wrong] * 1.001
    with pytest.raises(WrongResultError):
        reduce_error(inputs, outputs)


def test_ranks_that_do_not_reduce_fail_the_survey(pace, monkeypatch):
    monkeypatch.setattr(GlooRanks, "reduce", lambda self: None)
    with pytest.raises(WrongResultError):
        list(AllReduce(CpuDevice(None), seed=2, sizes="4096").parts(pace(0.05)))


def test_ranks_that_cannot_meet_are_unsupported(monkeypatch):
    def nowhere(*_):
        raise RuntimeError("no interface")

    monkeypatch.setattr("torch.distributed.ProcessGroupGloo", nowhere)
    with pytest.raises(module.UnsupportedError, match="no interface"):
        GlooRanks()
