import itertools

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import attention as module  # noqa: E402
from gputuner.workloads.bodies.attention import Attention, attention_flop  # noqa: E402
from gputuner.workloads.bodies.attention_check import Tensors, attention_error  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = {"seed": 3, "precision": "fp32", "heads": 2, "head_dim": 16, "tokens": 256}


def survey(**changed):
    return Attention(CpuDevice(None), **{**SMALL, "sequences": "64 128", "backends": "flash math", **changed})


def test_operations_are_those_of_two_products_half_of_them_masked():
    # scores: 2·s²·d, values: 2·s²·d for each of b·h heads; five such products backward
    products = 2 * (2.0 * 512**2 * 64)
    assert attention_flop(3, 8, 512, 64, causal=False, direction="forward") == 3 * 8 * products
    assert attention_flop(3, 8, 512, 64, causal=True, direction="forward") == 3 * 8 * products / 2
    assert attention_flop(3, 8, 512, 64, causal=True, direction="forward_backward") == 3 * 8 * products / 2 * 3.5


def test_each_length_backend_and_direction_is_a_part_with_its_count(pace):
    parts = list(survey().parts(pace(0.3)))
    told = [(p.params["sequence"], p.params["backend"], p.params["direction"]) for p in parts]
    assert told == list(itertools.product((64, 128), ("flash", "math"), ("forward", "forward_backward")))
    for part in parts:
        sequence, passes = part.params["sequence"], 1.0 if part.params["direction"] == "forward" else 3.5
        assert part.params["batch"] == 256 // sequence
        assert part.work["flop"] == 2.0 * (256 // sequence) * 2 * sequence**2 * 16 * passes
        # 256 tokens of 2 heads of 16 numbers of 4 bytes; backward five such tensors read and three written
        least = 256 * 2 * 16 * 4 * (4 if part.params["direction"] == "forward" else 12)
        assert part.work.get("bytes") == (None if part.params["backend"] == "math" else least)
        assert len(part.iteration_s) >= 3
        assert 0 < part.relative_error < 1e-4
        assert part.notes["allocated_peak_bytes"] >= 0


def test_half_precision_stays_within_its_rounding(pace):
    parts = list(survey(precision="bf16", sequences="128").parts(pace(0.1)))
    assert all(2**-11 < part.relative_error < 3e-2 for part in parts)


def test_a_backend_that_the_device_lacks_is_told_once(pace):
    parts = list(survey(backends="efficient math", sequences="64 128").parts(pace(0.1)))
    gaps = [p for p in parts if "gap" in p.notes]
    assert [(p.params["backend"], p.notes["gap"], p.iteration_s) for p in gaps] == [("efficient", "unsupported", ())]
    assert len(parts) == 1 + 4


def test_a_backend_that_this_torch_has_not_heard_of_is_unsupported(pace):
    (part,) = survey(backends="future", sequences="64").parts(pace(0.1))
    assert part.notes["gap"] == "unsupported"
    assert "future" in part.notes["message"]


class Small(CpuDevice):
    """A device with room for the scores of 128 positions forward, but not with their gradients."""

    def free_bytes(self):
        return 14 * 2 * 2 * 128**2


def test_math_stops_where_its_scores_would_not_fit(pace):
    parts = list(Attention(Small(None), **SMALL, sequences="64 128", backends="math").parts(pace(0.1)))
    assert [p.notes.get("gap") for p in parts] == [None, None, None, "out_of_memory"]
    assert parts[-1].notes["needs_bytes"] == 22 * 2 * 2 * 128**2
    assert parts[-1].notes["free_bytes"] == Small(None).free_bytes()


def test_memory_that_runs_out_at_one_length_does_not_end_the_survey(pace, monkeypatch):
    attend = module.functional.scaled_dot_product_attention

    def limited(q, k, v, is_causal):
        if q.shape[2] == 128:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        return attend(q, k, v, is_causal=is_causal)

    monkeypatch.setattr(module.functional, "scaled_dot_product_attention", limited)
    parts = list(survey(sequences="64 128 256", backends="math").parts(pace(0.1)))
    assert [p.notes.get("gap") for p in parts] == [None, None, "out_of_memory", "out_of_memory", None, None]


def test_a_length_that_would_take_too_long_is_a_gap(pace, monkeypatch):
    monkeypatch.setattr(module, "OVERRUN_S", 0.0)
    parts = list(survey(sequences="64 128", backends="math").parts(pace(0.0)))
    assert [p.notes.get("gap") for p in parts] == [None, None, "out_of_time", "out_of_time"]
    assert parts[2].notes["expected_iteration_s"] == pytest.approx(2 * min(parts[0].iteration_s))


def test_it_stops_when_asked(pace):
    assert len(list(survey().parts(pace(0.2, stop_after=2)))) == 2


def tensors(sequence=96):
    random = torch.Generator().manual_seed(7)
    q, k, v, grad = (torch.randn(2, 3, sequence, 8, generator=random) for _ in range(4))
    return Tensors(q=q.requires_grad_(), k=k.requires_grad_(), v=v.requires_grad_(), grad=grad)


def attended(t, causal=True):
    out = torch.nn.functional.scaled_dot_product_attention(t.q, t.k, t.v, is_causal=causal)
    return out.detach(), torch.autograd.grad(out, (t.q, t.k, t.v), t.grad)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sequence", [16, 96, 200])
def test_exact_figures_are_those_of_torch_in_single_precision(causal, sequence):
    t = tensors(sequence)
    assert attention_error(t, *attended(t, causal), causal=causal, tolerance=1e-5, seed=0) < 5e-6


@pytest.mark.parametrize("wrong", range(4))
def test_a_wrong_output_or_gradient_is_no_number(wrong):
    t = tensors()
    out, grads = attended(t)
    found = [out, *grads]
    found[wrong] = found[wrong] * 1.01
    with pytest.raises(WrongResultError):
        attention_error(t, found[0], tuple(found[1:]), causal=True, tolerance=1e-3, seed=0)


def test_the_mask_matters():
    t = tensors()
    with pytest.raises(WrongResultError):
        attention_error(t, *attended(t, causal=False), causal=True, tolerance=3e-2, seed=0)


def test_a_wrong_kernel_fails_the_survey(pace, monkeypatch):
    attend = module.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        module.functional, "scaled_dot_product_attention", lambda q, k, v, is_causal: attend(q, k, v)
    )  # fmt: skip
    with pytest.raises(WrongResultError):
        list(survey().parts(pace()))
