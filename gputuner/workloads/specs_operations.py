"""Specs of single operations that the suite surveys: attention, convolutions, launches."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.workloads.specs import ELEMENT_BYTES, Precision, check_precision, check_range

Backend = Literal["flash", "cudnn", "efficient", "math"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSpec:
    """Attention at each of ``sequences`` positions by each of ``backends``, forward and with the backward pass.

    The batch is ``tokens`` / sequence, at least 1.
    """

    workload: ClassVar[str] = "attention"
    sequences: tuple[int, ...]
    precision: Precision = "bf16"
    backends: tuple[Backend, ...] = BACKENDS
    heads: int = 16
    head_dim: int = 128
    tokens: int = 16384
    causal: bool = True

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("heads", self.heads, 1, 1024)
        check_range("head_dim", self.head_dim, 8, 256)
        check_range("tokens", self.tokens, 1, 1 << 24)
        for sequence in self.sequences:
            check_range("sequence", sequence, 16, 1 << 20)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "sequences": " ".join(map(str, self.sequences)),
            "precision": self.precision,
            "backends": " ".join(self.backends),
            "heads": self.heads,
            "head_dim": self.head_dim,
            "tokens": self.tokens,
            "causal": self.causal,
        }

    def needed_bytes(self) -> int:
        """Memory of the fused backends at the longest sequence: four inputs, the output and three gradients."""
        tokens = max(self.tokens, *self.sequences)
        return 8 * tokens * self.heads * self.head_dim * ELEMENT_BYTES[self.precision]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvShape:
    """A convolution with stride 1 and a square kernel; the output is as large as the input."""

    kernel: int
    channels: int
    filters: int
    image: int

    def __post_init__(self) -> None:
        """Refuse what torch cannot do.

        Raises:
            UsageError: a size out of range, or a kernel without a middle.
        """
        for name in ("kernel", "channels", "filters", "image"):
            check_range(name, getattr(self, name), 1, 1 << 16)
        if self.kernel % 2 == 0:
            raise UsageError("value_out_of_range", "the kernel must be odd", name="kernel", value=self.kernel)

    @property
    def name(self) -> str:
        """As it is written in params: ``3x3-64-64-56``."""
        return f"{self.kernel}x{self.kernel}-{self.channels}-{self.filters}-{self.image}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvSpec:
    """Convolutions of ``shapes``, forward and backward, channels-last and not."""

    workload: ClassVar[str] = "conv"
    shapes: tuple[ConvShape, ...]
    precision: Precision = "bf16"
    batch: int = 256

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 16)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "shapes": " ".join(shape.name for shape in self.shapes),
            "precision": self.precision,
            "batch": self.batch,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """Launches of kernels that do next to nothing, ``kernels`` in a row."""

    workload: ClassVar[str] = "launch"
    kernels: int = 100

    def __post_init__(self) -> None:
        """Refuse rows that the queue of a stream cannot take."""
        check_range("kernels", self.kernels, 1, 1000)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"kernels": self.kernels}
