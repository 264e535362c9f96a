# pyright: standard
"""Convolutions of ResNet-50, forward and backward, in both memory layouts.

Counted: 2·B·K·C·R·S·P·Q operations forward (batch, filters, channels, filter height and width, output height and
width); the backward pass computes the gradients of input and weight, twice that. Both are timed alone. Beside it the
least bytes that must be moved: each tensor once (forward: input, weight and output; backward: input, weight and the
output's gradient read, two gradients written). cuDNN chooses the algorithm by its heuristics, without autotuning, as
torch does by default. Buffers stay the same over iterations: what fits into the L2 may be read from there. Timed in
bursts with pauses (``burst_timing.py``): the rate is that of the clock before a power cap takes hold.

Checked against float64 on the processor: some filters for one image, the gradient of that image for some channels, and
the gradient of some weights over the whole batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.burst_timing import BurstTimer
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.survey import Pace, Part

TOLERANCE = {"fp32": 1e-4, "tf32": 3e-3, "fp16": 5e-3, "bf16": 2e-2}
"""Largest relative Frobenius error that rounding explains (unit roundoff 2^-24, 2^-11, 2^-11, 2^-8), with room for
transformed algorithms (Winograd) and split sums."""
FORWARD, BACKWARD = "forward", "backward"
CHECKED = 4
"""Filters and channels that are checked."""


@dataclass(frozen=True)
class ConvShape:
    """A convolution with stride 1 whose output is as large as its input."""

    channels: int
    filters: int
    kernel: int
    image: int

    @property
    def name(self) -> str:
        """As it is written in params: ``3x3-64-64-56``."""
        return f"{self.kernel}x{self.kernel}-{self.channels}-{self.filters}-{self.image}"

    @classmethod
    def parse(cls, name: str) -> "ConvShape":
        """The shape that ``name`` says.

        Raises:
            UnsupportedError: it says none.
        """
        fields = name.replace("x", "-").split("-")
        if len(fields) != 5 or not all(field.isdigit() for field in fields) or fields[0] != fields[1]:
            raise UnsupportedError(f"no shape of a convolution: {name!r}")
        kernel, _, channels, filters, image = map(int, fields)
        return cls(channels=channels, filters=filters, kernel=kernel, image=image)

    def flop(self, batch: int, direction: str) -> float:
        """Operations of one iteration."""
        forward = 2.0 * batch * self.filters * self.channels * self.kernel**2 * self.image**2
        return forward * (1.0 if direction == FORWARD else 2.0)

    def least_bytes(self, batch: int, direction: str, element: int) -> float:
        """Bytes that one iteration must move if each tensor is moved once; ``element``: bytes of a number."""
        pixels, weight = batch * self.image**2, self.kernel**2 * self.channels * self.filters
        twice = 1 if direction == FORWARD else 2  # read, and its gradient written
        return float(element * (twice * (pixels * self.channels + weight) + pixels * self.filters))


@dataclass(frozen=True)
class _Operands:
    images: torch.Tensor
    weight: torch.Tensor
    grad: torch.Tensor
    padding: int


class Conv:
    """Every shape × layout × direction in one precision, as one survey."""

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        precision: str,
        shapes: str,
        batch: int = 256,
        layouts: str = "channels_last contiguous",
    ) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision == "tf32")
        self._device, self._seed, self._precision, self._batch = device, seed, precision, batch
        self._kind = precisions.STORAGE[precision]
        self._shapes = [ConvShape.parse(name) for name in shapes.split()]
        self._layouts = layouts.split()
        self._timer = BurstTimer(device)
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Shape by shape, each in both layouts and directions."""
        settings = [(s, layout, d) for s in self._shapes for layout in self._layouts for d in (FORWARD, BACKWARD)]
        for place, (shape, layout, direction) in enumerate(settings):
            if pace.stopped():
                return
            seconds = max(0.0, pace.left_s()) / (len(settings) - place)
            params: dict[str, Fact] = {
                "shape": shape.name,
                "direction": direction,
                "channels_last": layout == "channels_last",
                "batch": self._batch,
                "precision": self._precision,
            }
            yield attempted(
                self._device, params, lambda s=shape, p=params, t=seconds: self._measure(s, p, t)
            )  # fmt: skip

    def _operands(self, shape: ConvShape, last: bool) -> _Operands:
        random = torch.Generator(device=self._device.name).manual_seed(self._seed)
        layout = torch.channels_last if last else torch.contiguous_format

        def normal(*size: int) -> torch.Tensor:
            made = torch.randn(size, device=self._device.name, generator=random, dtype=self._kind)
            return made.contiguous(memory_format=layout)

        return _Operands(
            images=normal(self._batch, shape.channels, shape.image, shape.image),
            weight=normal(shape.filters, shape.channels, shape.kernel, shape.kernel),
            grad=normal(self._batch, shape.filters, shape.image, shape.image),
            padding=shape.kernel // 2,
        )

    def _measure(self, shape: ConvShape, params: "dict[str, Fact]", seconds: float) -> Part:
        direction = str(params["direction"])
        operands = self._operands(shape, bool(params["channels_last"]))
        step = _forward if direction == FORWARD else _backward
        timing = self._timer.timed(lambda: step(operands), seconds, 2.0 * seconds)
        check = _forward_error if direction == FORWARD else _backward_error
        error = check(operands, step(operands), self._seed)
        tolerance = TOLERANCE[self._precision]
        if not error <= tolerance:
            raise WrongResultError(
                f"{shape.name} {direction} differs from float64 by {error:.2e} (rounding explains {tolerance:.0e})"
            )
        return Part(
            params={**params, **timing.params},
            iteration_s=timing.iteration_s,
            t0_ns=timing.t0_ns,
            t1_ns=timing.t1_ns,
            work={
                "flop": shape.flop(self._batch, direction),
                "bytes": shape.least_bytes(self._batch, direction, self._kind.itemsize),
            },
            relative_error=error,
            notes=timing.notes,
        )

    def notes(self) -> dict[str, Fact]:
        """What was convolved."""
        return {
            "emulated": precisions.emulated(self._device, self._precision),
            "inputs": "normal",
            "autotune": torch.backends.cudnn.benchmark,
        }


def _forward(o: _Operands) -> "tuple[torch.Tensor, ...]":
    return (functional.conv2d(o.images, o.weight, padding=o.padding),)


def _backward(o: _Operands) -> "tuple[torch.Tensor, ...]":
    padding, ones = [o.padding] * 2, [1, 1]
    return torch.ops.aten.convolution_backward(
        o.grad, o.images, o.weight, None, ones, padding, ones, False, [0, 0], 1, [True, True, False]
    )[:2]


def _exact(*tensors: torch.Tensor) -> "list[torch.Tensor]":
    return [tensor.detach().cpu().double().contiguous() for tensor in tensors]


def _difference(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.cpu().double() - exact).norm() / exact.norm())


def _picks(o: _Operands, seed: int) -> "tuple[int, slice, slice]":
    """An image, and blocks of filters and channels."""
    random = torch.Generator().manual_seed(seed + 1)

    def start(count: int) -> int:
        return int(torch.randint(max(1, count - CHECKED + 1), (1,), generator=random))

    at = start(len(o.weight)), start(o.weight.shape[1])
    image = int(torch.randint(len(o.images), (1,), generator=random))
    return image, slice(at[0], at[0] + CHECKED), slice(at[1], at[1] + CHECKED)


def _forward_error(o: _Operands, found: "tuple[torch.Tensor, ...]", seed: int) -> float:
    image, filters, _ = _picks(o, seed)
    images, weight = _exact(o.images[image : image + 1], o.weight[filters])
    return _difference(found[0][image : image + 1, filters], functional.conv2d(images, weight, padding=o.padding))


def _backward_error(o: _Operands, found: "tuple[torch.Tensor, ...]", seed: int) -> float:
    image, filters, channels = _picks(o, seed)
    grad, weight = _exact(o.grad[image : image + 1], o.weight[:, channels])
    of_image = functional.conv_transpose2d(grad, weight, padding=o.padding)
    grads, images = _exact(o.grad[:, filters].transpose(0, 1), o.images[:, channels].transpose(0, 1))
    of_weight = functional.conv2d(images, grads, padding=o.padding).transpose(0, 1)
    return max(
        _difference(found[0][image : image + 1, channels], of_image),
        _difference(found[1][filters, channels], of_weight),
    )
