# pyright: standard
"""Inference with a decoder: reading a prompt (prefill) and writing token after token (decode), over context lengths.

Prefill runs the whole prompt at once and fills the cache of keys and values: bound by arithmetic. Decode runs one token
of each sequence against that cache: every step reads all weights, so at small batches it is bound by the memory. Each
decode step is measured at one fixed context length (it writes the same place of the cache again and again), which a
real generation passes on its way. On a card the step is replayed as a CUDA graph, as inference servers do: launching
its hundreds of kernels one by one would measure the host.

Counted are tokens: batch × context for a prefill, batch for a decode step; beside them the operations and the least
bytes that must be moved, which give the place on the roofline. Checked: the scores of a decode step are
those of a run without cache over the same tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.graph_capture import Captured, captured
from gputuner.workloads.bodies.llm import Cache, Llm
from gputuner.workloads.bodies.setting_timing import shares, timed
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.bodies.training_shapes import LLM, LlmShape

TOLERANCE = {"fp32": 1e-3, "tf32": 2e-2, "fp16": 5e-2, "bf16": 0.15}
"""Largest relative difference of the scores with and without cache: rounding of two orders of summation, grown over
all layers."""


class Decode:
    """Prefill and decode at each of ``contexts`` tokens, as one survey: the weights are made once."""

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        precision: str,
        contexts: "Sequence[int] | str",
        batch: int = 1,
        model: str = "7b",
        eager: bool = False,
        shape: "LlmShape | None" = None,
    ) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision != "fp32" and device.tf32_native)
        if shape is None and model not in LLM:
            raise failures.UnsupportedError(f"no decoder shape {model!r}")
        told = contexts.split() if isinstance(contexts, str) else contexts
        self._contexts = [int(context) for context in told]
        self._shape, self._kind = shape or LLM[model], precisions.STORAGE[precision]
        self._device, self._precision, self._batch = device, precision, batch
        self._graphs = device.name == "cuda" and not eager
        self._failures: dict[str, str] = {}
        """Stage → why it could not be captured as a graph."""
        self.work: dict[str, float] = {}
        torch.manual_seed(seed)
        with torch.device(device.name):
            self._model = Llm(self._shape, self._kind).requires_grad_(False).eval()
            self._tokens = torch.randint(self._shape.vocabulary, (batch, max(self._contexts) + 1))
        self._scores = torch.empty(0)

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Prefill, then decode, one context after the other."""
        left = 2 * len(self._contexts)
        for context in self._contexts:
            cache = Cache(self._shape, self._batch, context + 1, self._kind, self._device.name)
            for measure in (self._prefill, self._decode):
                if pace.stopped():
                    return
                yield measure(context, cache, shares(pace.left_s(), left))
                left -= 1
            del cache

    @torch.no_grad()
    def _prompt(self, context: int, cache: Cache) -> None:
        self._scores = self._model(self._tokens[:, :context], cache, last_only=True)

    @torch.no_grad()
    def _one(self, context: int, cache: Cache, token: torch.Tensor) -> torch.Tensor:
        return self._model(token, cache, start=context, last_only=True)

    def _prefill(self, context: int, cache: Cache, seconds: "tuple[float, float]") -> Part:
        def read() -> None:
            self._prompt(context, cache)

        self._device.release()  # a graph computes in memory of its own
        replayed = self._captured("prefill", read)
        done, span = timed(self._device, replayed or read, *seconds)
        return Part(
            params=self._named("prefill", context),
            iteration_s=tuple(done),
            t0_ns=span[0],
            t1_ns=span[1],
            work={
                "tokens": float(self._batch * context),
                "flop": self._batch * self._shape.prefill_flop(context),
                "bytes": self._shape.prefill_bytes(context, self._batch, self._kind.itemsize),
            },
            notes={
                "cuda_graph": replayed is not None,
                "model_flop_per_token": self._shape.prefill_flop(context) / context,
            },
        )

    def _decode(self, context: int, cache: Cache, seconds: "tuple[float, float]") -> Part:
        error = self._error(context, cache)
        token = self._tokens[:, context : context + 1].clone()

        def step() -> None:
            token.copy_(self._one(context, cache, token).argmax(-1))

        replayed = self._captured("decode", step)
        done, span = timed(self._device, replayed or step, *seconds)
        moved = self._shape.decode_bytes(context, self._batch, self._kind.itemsize)
        return Part(
            params=self._named("decode", context),
            iteration_s=tuple(done),
            t0_ns=span[0],
            t1_ns=span[1],
            work={
                "tokens": float(self._batch),
                "flop": self._batch * self._shape.decode_flop(context),
                "bytes": moved,
            },
            relative_error=error,
            notes={
                "cuda_graph": replayed is not None,
                "model_flop_per_token": self._shape.decode_flop(context),
                "bytes_per_token": moved / self._batch,
            },
        )

    def _named(self, stage: str, context: int) -> dict[str, Fact]:
        return {"stage": stage, "context": context, "batch": self._batch, "precision": self._precision}

    @torch.no_grad()
    def _error(self, context: int, cache: Cache) -> float:
        """Relative difference of the scores with and without cache.

        Raises:
            WrongResultError: more than rounding explains.
        """
        self._prompt(context, cache)
        with_cache = self._one(context, cache, self._tokens[:, context : context + 1]).double()
        whole = self._model(self._tokens[:, : context + 1], last_only=True).double()
        error = float((with_cache - whole).norm() / whole.norm())
        if not error < TOLERANCE[self._precision]:
            raise failures.WrongResultError(f"decoding with a cache differs from reading the whole by {error:.2g}")
        return error

    def _captured(self, stage: str, step: Callable[[], None]) -> "Callable[[], Any] | None":
        """The step as a CUDA graph; None: not on this device, or it cannot be captured (told in the notes)."""
        if not self._graphs or stage in self._failures:
            return None
        try:
            made = captured(self._device, step)
        except Exception as err:
            if failures.classify(err, self._device.free_bytes(), self._device.broken()) != failures.OUT_OF_MEMORY:
                raise
            made = Captured(failure=failures.described(err)[0])
            failures.release(err)
        if made.replay is None:
            self._failures[stage] = made.failure
        return made.replay

    def notes(self) -> dict[str, Fact]:
        """The decoder's size, and why no graph was captured where that failed."""
        facts: dict[str, Fact] = {
            "parameters": self._shape.parameters,
            "emulated": precisions.emulated(self._device, self._precision),
        }
        if self._failures:
            facts["graph_failure"] = "; ".join(dict.fromkeys(self._failures.values()))
        return facts
