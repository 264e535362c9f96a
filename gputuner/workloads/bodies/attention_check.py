# pyright: standard
"""Attention of one head against float64, from a block of its rows."""

import math
from dataclasses import dataclass

import torch

from gputuner.workloads.bodies.failures import WrongResultError

TOLERANCE = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 5e-3, "bf16": 3e-2}
"""Largest relative Frobenius error that rounding explains: inputs are exact, weights and result are rounded (2^-11,
2^-8), sums run over thousands of positions; gradients may have twice that, since the weights are computed anew."""
ROWS = 64


@dataclass(frozen=True)
class Tensors:
    """Queries, keys, values and the gradient of the output: [batch, heads, sequence, head_dim]."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    grad: torch.Tensor


@dataclass(frozen=True)
class _Rows:
    """Exact figures of some rows of one head, float64."""

    weights: torch.Tensor
    out: torch.Tensor
    grad_scores: torch.Tensor
    grad_q: torch.Tensor


def _exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, grad: torch.Tensor, rows: torch.Tensor, causal: bool):
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q[rows] @ k.T * scale
    if causal:
        later = torch.arange(k.shape[0], device=k.device)[None, :] > rows[:, None]
        scores = scores.masked_fill(later, -math.inf)
    weights = scores.softmax(-1)
    out, grad_weights = weights @ v, grad[rows] @ v.T
    grad_scores = weights * (grad_weights - (grad[rows] * out).sum(-1, keepdim=True))
    return _Rows(weights=weights, out=out, grad_scores=grad_scores, grad_q=grad_scores @ k * scale)


def _difference(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.double() - exact).norm() / exact.norm())


def attention_error(
    t: Tensors,
    out: torch.Tensor,
    grads: "tuple[torch.Tensor, ...]",
    *,
    causal: bool,
    tolerance: float,
    seed: int,
) -> float:
    """The largest relative error of output and gradients (``grads`` empty: none were computed).

    Raises:
        WrongResultError: larger than ``tolerance``, for gradients than twice that.
    """
    batch, heads, sequence, head_dim = t.q.shape
    random = torch.Generator().manual_seed(seed + 1)
    at = int(torch.randint(batch, (1,), generator=random)), int(torch.randint(heads, (1,), generator=random))
    last = torch.arange(max(0, sequence - ROWS), sequence)
    rows = torch.cat([torch.randint(sequence, (ROWS,), generator=random), last]).to(t.q.device)
    q, k, v, grad = (tensor[at].detach().double() for tensor in (t.q, t.k, t.v, t.grad))
    exact = _exact(q, k, v, grad, rows, causal)
    found = {"output": (_difference(out[at][rows], exact.out), tolerance)}
    if grads:
        found["gradient of the queries"] = _difference(grads[0][at][rows], exact.grad_q), 2 * tolerance
    if grads and causal:
        tail = slice(-len(last), None)
        grad_k = exact.grad_scores[tail, tail].T @ q[tail] / math.sqrt(head_dim)
        grad_v = exact.weights[tail, tail].T @ grad[tail]
        found["gradient of the keys"] = _difference(grads[1][at][tail], grad_k), 2 * tolerance
        found["gradient of the values"] = _difference(grads[2][at][tail], grad_v), 2 * tolerance
    for name, (error, most) in found.items():
        if not error <= most:
            raise WrongResultError(f"{name}: differs from float64 by {error:.2e} (rounding explains {most:.0e})")
    return max(error for error, _ in found.values())
