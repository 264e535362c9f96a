# pyright: standard
"""Scaled dot-product attention by each of torch's backends, forward and with its backward pass, over the sequence.

Counted as FlashAttention-2 does (Dao, arXiv 2307.08691, §4.1): a forward pass is 4·b·h·s²·d operations for two
products, half of it under a causal mask; a backward pass is 2.5 times that, five products. Of the fused backends also
the least bytes that must be moved: q, k, v and the output once forward; backward these, the gradient of the output and
three gradients. The number of tokens stays the same over the sequences (b·s), so that lengths differ in the size of the
score matrix alone. ``math`` writes that matrix to memory, several times over, so that its bytes are not told; a setting
for which it would not fit is a gap. Timed in bursts with pauses (``burst_timing.py``) where two iterations are short
enough, else in windows end to end.

Checked against float64 for one head: output and gradient of the queries at random rows and at the last ones, and under
a causal mask the gradients of the last keys and values, which only the last queries see.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch.nn import functional

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.attention_check import TOLERANCE, Tensors, attention_error
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.burst_timing import BurstTimer
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.gaps import OUT_OF_TIME, attempted, gap
from gputuner.workloads.bodies.setting_timing import shares
from gputuner.workloads.bodies.survey import Pace, Part

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}
"""Our name → torch's (cuDNN's since 2.5)."""
FORWARD, BOTH = "forward", "forward_backward"
BACKWARD_OVER_FORWARD = 2.5
SCORE_BYTES = {FORWARD: 14, BOTH: 22}
"""Per score that ``math`` holds at its peak: scores, softmax and its guarded copy in FP32, with their gradients."""
LEAST_ITERATIONS = 8
"""Warm-up, sizing (three times where it is long) and the fewest windows."""
OVERRUN_S = 3.0
"""By which a single setting may exceed the time that is left."""


def attention_flop(batch: int, heads: int, sequence: int, head_dim: int, *, causal: bool, direction: str) -> float:
    """Operations of one iteration; ``direction``: ``forward`` or ``forward_backward``."""
    forward = 4.0 * batch * heads * sequence**2 * head_dim * (0.5 if causal else 1.0)
    return forward * (1.0 if direction == FORWARD else 1.0 + BACKWARD_OVER_FORWARD)


def attention_bytes(batch: int, heads: int, sequence: int, head_dim: int, *, element: int, direction: str) -> float:
    """The least bytes that one iteration of a fused kernel must move; ``element``: bytes of a number.

    Forward q, k and v are read and the output is written; backward these four and the output's gradient are read and
    three gradients written.
    """
    return float(element * batch * heads * sequence * head_dim * (4 if direction == FORWARD else 4 + 8))


def only(backend: str):
    """The context in which torch uses this backend or fails.

    Raises:
        UnsupportedError: this torch does not have it.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    chosen = getattr(SDPBackend, BACKENDS.get(backend, ""), None)
    if chosen is None:
        raise failures.UnsupportedError(f"this torch has no attention backend {backend!r}")
    return sdpa_kernel(chosen)


class Attention:
    """Every length × backend × direction as one survey.

    Args:
        device: where.
        seed: of the inputs, N(0,1).
        precision: storage and arithmetic.
        sequences: lengths, ascending (numbers, or text with blanks between).
        backends: names of ``BACKENDS``.
        heads: per sequence.
        head_dim: numbers per head.
        tokens: batch × sequence; the batch is at least 1.
        causal: each position sees itself and those before it.
    """

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        precision: str,
        sequences: "Sequence[int] | str",
        backends: str = "flash cudnn efficient math",
        heads: int = 16,
        head_dim: int = 128,
        tokens: int = 16384,
        causal: bool = True,
    ) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision == "tf32")
        told = sequences.split() if isinstance(sequences, str) else sequences
        self._sequences = [int(length) for length in told]
        self._backends = backends.split()
        self._device, self._seed, self._precision = device, seed, precision
        self._kind = precisions.STORAGE[precision]
        self._heads, self._head_dim, self._tokens, self._causal = heads, head_dim, tokens, causal
        self._timer = BurstTimer(device)
        self._missing: set[str] = set()
        self._last: dict[tuple[str, str], tuple[float, float]] = {}
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """One length after the other; at each, all backends and both directions."""
        left = 2 * len(self._sequences) * len(self._backends)
        for sequence in self._sequences:
            tensors = self._inputs(sequence)
            for backend in self._backends:
                for direction in (FORWARD, BOTH):
                    if pace.stopped():
                        return
                    part = self._part(tensors, backend, direction, pace.left_s(), left)
                    left -= 1
                    if part is not None:
                        yield part
            del tensors

    def _inputs(self, sequence: int) -> Tensors:
        batch = max(1, self._tokens // sequence)
        random = torch.Generator(device=self._device.name).manual_seed(self._seed)
        size = (batch, self._heads, sequence, self._head_dim)
        made = [torch.randn(size, device=self._device.name, generator=random, dtype=self._kind) for _ in range(4)]
        q, k, v, grad = made
        return Tensors(q=q.requires_grad_(), k=k.requires_grad_(), v=v.requires_grad_(), grad=grad)

    def _named(self, tensors: Tensors, backend: str, direction: str) -> dict[str, Fact]:
        batch, heads, sequence, head_dim = tensors.q.shape
        return {
            "backend": backend,
            "direction": direction,
            "sequence": sequence,
            "batch": batch,
            "heads": heads,
            "head_dim": head_dim,
            "causal": self._causal,
            "precision": self._precision,
        }

    def _part(self, tensors: Tensors, backend: str, direction: str, left_s: float, left: int) -> "Part | None":
        """The setting, a gap, or None where the backend was told missing already."""
        if backend in self._missing:
            return None
        params = self._named(tensors, backend, direction)
        flop = self._flop(tensors, direction)
        if backend == "math":
            self._device.release()  # what earlier settings left cached is free too
            needs, free = self._score_bytes(tensors, direction), self._device.free_bytes()
            if free is not None and needs > free:
                return gap(params, failures.OUT_OF_MEMORY, needs_bytes=needs, free_bytes=free)
        last_s, last_flop = self._last.get((backend, direction), (0.0, flop))
        expected_s = last_s * flop / last_flop
        if expected_s and LEAST_ITERATIONS * expected_s > max(left_s, OVERRUN_S):
            return gap(params, OUT_OF_TIME, expected_iteration_s=expected_s)
        part = attempted(self._device, params, lambda: self._measure(tensors, params, shares(left_s, left)))
        if part.notes.get("gap") == failures.UNSUPPORTED:
            self._missing.add(backend)
        if part.iteration_s:
            self._last[backend, direction] = min(part.iteration_s), flop
        return part

    def _flop(self, tensors: Tensors, direction: str) -> float:
        batch, heads, sequence, head_dim = tensors.q.shape
        return attention_flop(batch, heads, sequence, head_dim, causal=self._causal, direction=direction)

    def _work(self, tensors: Tensors, backend: str, direction: str) -> dict[str, float]:
        flop = self._flop(tensors, direction)
        if backend == "math":
            return {"flop": flop}
        batch, heads, sequence, head_dim = tensors.q.shape
        element = self._kind.itemsize
        least = attention_bytes(batch, heads, sequence, head_dim, element=element, direction=direction)
        return {"flop": flop, "bytes": least}

    def _score_bytes(self, tensors: Tensors, direction: str) -> int:
        batch, heads, sequence, _ = tensors.q.shape
        return SCORE_BYTES[direction] * batch * heads * sequence**2

    def _measure(self, tensors: Tensors, params: "dict[str, Fact]", seconds: "tuple[float, float]") -> Part:
        backend, direction = str(params["backend"]), str(params["direction"])
        step = self._forward if direction == FORWARD else self._forward_backward
        self._device.clear_peak()
        with only(backend):
            timing = self._timer.timed(lambda: step(tensors, backend), *seconds)
            peak = self._device.memory().get("allocated_peak_bytes")
            out, grads = step(tensors, backend)
        error = attention_error(
            tensors, out, grads, causal=self._causal, tolerance=TOLERANCE[self._precision], seed=self._seed
        )
        return Part(
            params={**params, **timing.params},
            iteration_s=timing.iteration_s,
            t0_ns=timing.t0_ns,
            t1_ns=timing.t1_ns,
            work=self._work(tensors, backend, direction),
            relative_error=error,
            notes={**timing.notes, **({} if peak is None else {"allocated_peak_bytes": peak})},
        )

    def _forward(self, t: Tensors, backend: str) -> "tuple[torch.Tensor, tuple[torch.Tensor, ...]]":
        with torch.no_grad():
            return self._attend(t, backend), ()

    def _forward_backward(self, t: Tensors, backend: str) -> "tuple[torch.Tensor, tuple[torch.Tensor, ...]]":
        out = self._attend(t, backend)
        return out.detach(), torch.autograd.grad(out, (t.q, t.k, t.v), t.grad)

    def _attend(self, t: Tensors, backend: str) -> torch.Tensor:
        try:
            return functional.scaled_dot_product_attention(t.q, t.k, t.v, is_causal=self._causal)
        except RuntimeError as err:
            if any(words in str(err) for words in ("No available kernel", "No viable backend")):
                text = f"the attention backend {backend!r} does not take these inputs on this device"
                raise failures.UnsupportedError(text) from err
            raise

    def notes(self) -> dict[str, Fact]:
        """What was attended to."""
        return {
            "emulated": precisions.emulated(self._device, self._precision),
            "inputs": "normal",
            "scale": 1 / math.sqrt(self._head_dim),
        }
