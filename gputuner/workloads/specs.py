"""What a trial may be asked to do: typed, checked specs of the workloads (the parent's side)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import AS_IS, ATTENTION, OPTIMIZERS, Switches

Precision = Literal["fp32", "tf32", "fp16", "bf16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Loader = Literal["synthetic", "fed"]
"""Input that lies on the device already, or batches that a DataLoader feeds."""
ELEMENT_BYTES: dict[Precision, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Bytes of one stored number."""


def check_precision(precision: str) -> None:
    """Refuse an unknown format.

    Raises:
        UsageError: it is none of ``PRECISIONS``.
    """
    if precision not in PRECISIONS:
        raise UsageError("precision_unknown", f"unknown precision: {precision}", precision=precision)


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a value outside of ``low`` … ``high``.

    Raises:
        UsageError: it lies outside.
    """
    if not low <= value <= high:
        raise UsageError(
            "value_out_of_range",
            f"{name} must lie between {low} and {high}, not {value}",
            name=name,
            value=value,
            low=low,
            high=high,
        )


def check_switches(switches: Switches) -> None:
    """Refuse a choice that there is not.

    Raises:
        UsageError: no such attention backend, or no such way of an optimizer.
    """
    for name, value, known in (
        ("sdpa", switches.sdpa, ATTENTION),
        ("optimizer_kind", switches.optimizer_kind, OPTIMIZERS),
    ):
        if value and value not in known:
            raise UsageError("switch_unknown", f"{name}: {value!r}", name=name, value=value, known=", ".join(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulSpec:
    """Product of two dense n × n matrices with N(0,1) entries."""

    workload: ClassVar[str] = "matmul"
    precision: Precision = "bf16"
    n: int = 8192

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        check_precision(self.precision)
        check_range("n", self.n, 16, 131072)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"precision": self.precision, "n": self.n}

    def needed_bytes(self) -> int:
        """Memory of the three matrices, in bytes."""
        return 3 * self.n * self.n * ELEMENT_BYTES[self.precision]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySpec:
    """Copy of one buffer of ``bytes`` bytes to another on the same device."""

    workload: ClassVar[str] = "copy"
    bytes: int

    def __post_init__(self) -> None:
        """Refuse empty buffers."""
        check_range("bytes", self.bytes, 4096, 1 << 40)

    @classmethod
    def sized(cls, cache_bytes: int, free_bytes: int) -> "CopySpec":
        """Buffers well beyond the last cache (4 ×, at least 1 GiB) that take at most half of ``free_bytes`` together.

        Under little memory the buffer is smaller than that; the trial then notes ``buffer_over_cache`` below 4.
        """
        wanted = max(4 * cache_bytes, 1 << 30)
        return cls(bytes=max(4096, min(wanted, free_bytes // 4) // 4096 * 4096))

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"bytes": self.bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResNet50Spec:
    """One training step of ResNet-50 (v1.5, 1000 classes) on synthetic images already on the device, SGD + momentum."""

    workload: ClassVar[str] = "resnet50"
    batch: int
    precision: Precision = "bf16"
    channels_last: bool = True
    image: int = 224
    loader: Loader = "synthetic"
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what the network cannot take."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_range("image", self.image, 32, 1024)
        check_switches(self.switches)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "batch": self.batch,
            "precision": self.precision,
            "channels_last": self.channels_last,
            "image": self.image,
            **({"loader": self.loader} if self.loader != "synthetic" else {}),
            **self.switches.params(),
        }


Spec = MatmulSpec | CopySpec | ResNet50Spec
