"""Matrix products: counts, number formats, and wrong results that must not become figures."""

import itertools

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import matmul_sparse  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402
from gputuner.workloads.bodies.graph_capture import Captured  # noqa: E402
from gputuner.workloads.bodies.matmul import Matmul  # noqa: E402
from gputuner.workloads.bodies.matmul_bursts import MatmulBursts  # noqa: E402
from gputuner.workloads.bodies.matmul_search import MatmulSearch  # noqa: E402
from gputuner.workloads.bodies.matmul_sparse import SparseMatmul, pruned  # noqa: E402
from gputuner.workloads.bodies.survey import Pace  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def device():
    return CpuDevice(None)


def _run(body):
    body.iterate()
    return body.relative_error()


def test_operations_are_two_for_each_of_m_n_k(device):
    assert Matmul(device, precision="fp32", n=96, m=64, k=128, seed=0).work == {"flop": 2.0 * 64 * 96 * 128}
    assert Matmul(device, precision="fp32", n=100, seed=0).work == {"flop": 2.0e6}


@pytest.mark.parametrize(("precision", "most"), [("fp64", 1e-14), ("fp32", 1e-6), ("bf16", 5e-3)])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_result_is_right_to_the_rounding_of_its_format(device, precision, most, transposed):
    assert _run(Matmul(device, precision=precision, n=192, m=128, k=256, transposed=transposed, seed=1)) <= most


def test_int8_is_exact(device):
    assert _run(Matmul(device, precision="int8", n=128, m=64, k=256, seed=1)) == 0.0


def test_int8_operands_are_normal_and_clipped(device):
    body = Matmul(device, precision="int8", n=512, seed=2)
    values = body._a.double()
    assert values.abs().max() <= 127
    assert float(values.std()) == pytest.approx(40.0, rel=0.02)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "int8"])
def test_a_wrong_result_is_no_figure(device, precision):
    body = Matmul(device, precision=precision, n=128, seed=3)
    body.iterate()
    body._c += body._c.new_full((), 2)
    with pytest.raises(WrongResultError, match="differs from float64"):
        body.relative_error()


@pytest.mark.parametrize("precision", ["fp8", "fp16-acc16", "tf32", "int3"])
def test_a_processor_refuses_what_it_lacks(device, precision):
    with pytest.raises(UnsupportedError):
        Matmul(device, precision=precision, n=64, seed=0)


def test_sparse_products_need_a_card(device):
    with pytest.raises(UnsupportedError):
        SparseMatmul(device, precision="fp16", n=64, seed=0)


class _DenseLibrary:
    """Keeps the pruned matrix as it is, counts compressions, and can lose the last quarter of k."""

    name = "dense"

    def __init__(self, lossy=False):
        self.lossy, self.compressions = lossy, 0

    def compressed(self, dense):
        self.compressions += 1
        return dense

    def multiplied(self, sparse, b):
        k = sparse.shape[1] * 3 // 4 if self.lossy else sparse.shape[1]
        if sparse.dtype is torch.int8:
            return torch._int_mm(sparse[:, :k].contiguous(), b[:k])
        return sparse[:, :k] @ b[:k]


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_sparse_products_count_as_dense_and_are_checked_against_the_pruned_operand(device, precision):
    body = SparseMatmul(device, precision=precision, n=64, m=96, k=128, seed=4, library=_DenseLibrary())
    assert body.work == {"flop": 2.0 * 96 * 64 * 128}
    assert _run(body) <= (0.0 if precision == "int8" else 5e-3)
    assert body.notes()["counted_as"] == "dense"


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_wrong_sparse_result_is_no_figure(device, precision):
    body = SparseMatmul(device, precision=precision, n=64, k=128, seed=4, library=_DenseLibrary(lossy=True))
    with pytest.raises(WrongResultError, match="2:4"):
        _run(body)


def test_compression_runs_in_each_iteration_only_if_it_counts(device):
    for counted, compressions in ((False, 1), (True, 4)):
        library = _DenseLibrary()
        body = SparseMatmul(device, precision="bf16", n=64, seed=4, setup_counted=counted, library=library)
        for _ in range(3):
            body.iterate()
        assert library.compressions == compressions


@pytest.mark.parametrize("counted", [False, True])
def test_a_graph_is_used_only_if_its_replay_writes_the_right_product(device, monkeypatch, counted):
    library = _DenseLibrary()
    body = SparseMatmul(device, precision="bf16", n=64, seed=4, setup_counted=counted, library=library)
    written = []

    def kept(_, launch):
        launch()
        result, right = body._c, body._c.clone()
        return Captured(replay=lambda: written.append(result.copy_(right)), peak_bytes=7)

    monkeypatch.setattr(matmul_sparse, "captured", kept)
    body._graph = body._captured(device)
    launches = library.compressions
    body.iterate()
    assert (len(written), library.compressions) == (2, launches)  # once to see that it is right
    assert (body.notes()["cuda_graph"], body.notes()["captured_peak_bytes"]) == (True, 7)
    monkeypatch.setattr(matmul_sparse, "captured", lambda _, launch: Captured(replay=lambda: None))
    body._graph = body._captured(device)
    body.iterate()
    assert body.relative_error() <= 5e-3  # launched anew
    assert body.notes()["cuda_graph"] is False
    assert "differs" in body.notes()["graph_failure"]


def test_pruning_keeps_the_two_largest_of_every_four():
    matrix = torch.tensor([[1.0, -5.0, 3.0, 2.0, 0.5, 0.1, -0.2, 0.25]])
    assert pruned(matrix).tolist() == [[0.0, -5.0, 3.0, 0.0, 0.5, 0.0, 0.0, 0.25]]


def test_the_search_tells_its_best_shapes_with_what_they_computed(device):
    search = MatmulSearch(device, precision="fp32", seed=0, top=256, step=64)
    ticks = itertools.count(100, -1)
    parts = list(search.parts(Pace(measure_s=1.0, left_s=lambda: max(0, next(ticks)) / 100, stopped=lambda: False)))
    first = parts[0]
    assert first.relative_error <= 1e-6
    assert all(part.work["flop"] == 2.0 * part.params["m"] * part.params["n"] * part.params["k"] for part in parts)
    assert all(part.params[side] % 64 == 0 and part.params[side] <= 256 for part in parts for side in "mnk")
    assert search.notes()["shapes_tried"] >= 10
    assert first.t0_ns < first.t1_ns


def test_a_search_that_is_stopped_ends_with_what_it_has(device):
    search = MatmulSearch(device, precision="fp32", seed=0, top=128, step=64)
    parts = list(search.parts(Pace(measure_s=60.0, left_s=lambda: 60.0, stopped=lambda: True)))
    assert len(parts) >= 1


def test_a_product_measured_as_a_survey_is_counted_and_checked_like_any_other(device):
    pace = Pace(measure_s=0.05, left_s=lambda: 0.05, stopped=lambda: False)
    (part,) = MatmulBursts(device, precision="fp32", n=64, m=64, k=128, seed=0).parts(pace)
    assert part.work == {"flop": 2.0 * 64 * 64 * 128}
    assert part.relative_error <= 1e-6
    assert part.params == {}  # a processor has no cap to stay ahead of
    assert len(part.iteration_s) >= 3


def test_a_processor_is_searched_without_pauses(device):
    search = MatmulSearch(device, precision="fp32", seed=0, top=128, step=64, bursts=True)
    parts = list(
        search.parts(Pace(measure_s=0.2, left_s=iter([0.2, 0.1] + [0.0] * 999).__next__, stopped=lambda: False))
    )
    assert all("phase" not in part.params and "loaded_share" not in part.notes for part in parts)
