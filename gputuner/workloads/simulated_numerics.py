"""What the numerical check trains on a simulated card: a small network, really computed, with numbers rounded.

A card's sheet says nothing of losses, so none are made up. A network of two layers is trained in float32 on the host,
and wherever a format would store a number it is rounded to that format: to 10 bits of mantissa for TF32 (what goes into
products), 7 for BF16, binary16 with its range for FP16, whose gradients go through a dynamic scale as PyTorch's have.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Rounding = Callable[[Array], Array]

INPUTS, WIDTH, CLASSES, BATCH = 32, 64, 16, 64
RATE, MOMENTUM = 0.02, 0.9
FIRST_SCALE, GROWTH_STEPS = 65536.0, 2000
"""Of PyTorch's gradient scaler."""
TEACHER_SEED = 5
ROUNDING = 2.0**-8
"""The most by which BF16 rounds a number, as a share of it."""


def _bits_kept(bits: int) -> Rounding:
    """Round to ``bits`` explicit bits of mantissa, to nearest, ties to even."""
    drop = 23 - bits

    def rounded(numbers: Array) -> Array:
        words = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
        odd = (words >> np.uint32(drop)) & np.uint32(1)
        up = words + np.uint32((1 << (drop - 1)) - 1) + odd
        kept = (up & ~np.uint32((1 << drop) - 1)).view(np.float32)
        return np.where(np.isfinite(numbers), kept, numbers)

    return rounded


def _binary16(numbers: Array) -> Array:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float16).astype(np.float32)


ROUNDINGS: dict[str, Rounding] = {
    "fp32": lambda numbers: numbers,
    "tf32": _bits_kept(10),
    "bf16": _bits_kept(7),
    "fp16": _binary16,
}
STORED_HALF = ("bf16", "fp16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One optimizer step; ``scale`` after it (FP16 only), ``grad_norm`` None: not finite."""

    loss: float
    grad_norm: float | None
    scale: float | None = None
    skipped: bool = False


@dataclass(slots=True)
class StandIn:
    """The network in one format, from one start; ``peaks``: the largest absolute number of each layer so far."""

    precision: str
    draw: int
    batches: int
    twin: int = 0
    """Which run of that start: the weights of others than 0 are rounded otherwise."""
    peaks: dict[str, float] = field(default_factory=lambda: {})

    def run(self, steps: int) -> list[Step]:
        """Train it; the steps."""
        data, weights = _data(self.batches), _weights(self.draw, self.twin)
        moving = [np.zeros_like(weight) for weight in weights]
        scale, good = (FIRST_SCALE if self.precision == "fp16" else 1.0), 0
        turns = self._turns()
        told: list[Step] = []
        for _ in range(steps):
            loss, gradients = self._gradients(weights, *data[next(turns)], scale)
            norm = float(
                np.sqrt(sum(float((g / scale).astype(np.float64).ravel() @ (g / scale).ravel()) for g in gradients))
            )
            skipped = self.precision == "fp16" and not np.isfinite(norm)
            if skipped:
                scale, good = scale / 2.0, 0
            else:
                good += 1
                for weight, moved, gradient in zip(weights, moving, gradients, strict=True):
                    moved *= MOMENTUM
                    moved += gradient / scale
                    weight -= RATE * moved
                if self.precision == "fp16" and good % GROWTH_STEPS == 0:
                    scale *= 2.0
            told.append(
                Step(
                    loss=loss,
                    grad_norm=norm if np.isfinite(norm) else None,
                    scale=scale if self.precision == "fp16" else None,
                    skipped=skipped,
                )
            )
        return told

    def _turns(self) -> Iterator[int]:
        """Places of the batches: as they are, or for another draw in an order of its own."""
        order, random = list(range(self.batches)), Random(self.draw)
        while True:
            if self.draw:
                random.shuffle(order)
            yield from order

    def _gradients(
        self, weights: list[Array], inputs: Array, targets: NDArray[np.int64], scale: float
    ) -> tuple[float, list[Array]]:
        """Loss and scaled gradients; each product takes rounded numbers and, in half precision, gives such."""
        into = ROUNDINGS[self.precision]
        out = into if self.precision in STORED_HALF else ROUNDINGS["fp32"]
        with np.errstate(over="ignore", invalid="ignore"):
            hidden = out(into(inputs) @ into(weights[0]))
            active = np.maximum(hidden, 0.0)
            scores = out(into(active) @ into(weights[1]))
            self._note("layer 1", hidden)
            self._note("layer 2", scores)
            shifted = scores - scores.max(axis=1, keepdims=True)  # the loss is computed in FP32, as autocast does
            shares = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
            rows = np.arange(len(targets))
            loss = float(-np.log(shares[rows, targets] + 1e-30).mean())
            shares[rows, targets] -= 1.0
            back = out(shares * np.float32(scale / len(targets)))
            second = out(into(active).T @ into(back))
            first = out(into(inputs).T @ into(out(into(back) @ into(weights[1]).T) * (hidden > 0.0)))
        return loss, [first, second]

    def _note(self, place: str, numbers: Array) -> None:
        self.peaks[place] = max(self.peaks.get(place, 0.0), float(np.abs(numbers).max()))


def _weights(draw: int, twin: int = 0) -> list[Array]:
    random = np.random.default_rng(1000 + draw)
    first = random.standard_normal((INPUTS, WIDTH)) * np.sqrt(2.0 / INPUTS)
    second = random.standard_normal((WIDTH, CLASSES)) * np.sqrt(1.0 / WIDTH)
    made: list[Array] = [first.astype(np.float32), second.astype(np.float32)]
    shifts = np.random.default_rng([draw, twin])
    if twin:
        made = [(each * (1.0 + ROUNDING * shifts.uniform(-1.0, 1.0, each.shape))).astype(np.float32) for each in made]
    return made


def _data(batches: int) -> list[tuple[Array, NDArray[np.int64]]]:
    """Batches labelled by a teacher: the largest of linear scores with noise."""
    random = np.random.default_rng(TEACHER_SEED)
    teacher = random.standard_normal((INPUTS, CLASSES))
    made: list[tuple[Array, NDArray[np.int64]]] = []
    for _ in range(batches):
        inputs = random.standard_normal((BATCH, INPUTS)).astype(np.float32)
        scores = inputs @ teacher + 2.0 * random.standard_normal((BATCH, CLASSES))
        made.append((inputs, scores.argmax(axis=1)))
    return made
