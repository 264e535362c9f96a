# pyright: standard
"""How a matrix product is computed in each number format: operands, the library's call, and what rounding explains.

Inputs are N(0,1). FP8 (e4m3) holds them as they are, with scale 1; INT8 holds them times 40, rounded and clipped to
± 127, so that sums stay exact in INT32 up to k = 133 000.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError

Multiply = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]

TOLERANCE = {
    "fp64": 1e-12,
    "fp32": 3e-5,
    "tf32": 2e-3,
    "fp16": 3e-3,
    "fp16-acc16": 5e-2,
    "bf16": 1.5e-2,
    "fp8": 1.5e-2,
    "int8": 0.0,
}
"""Largest relative Frobenius error that rounding explains: a few times the rounding of inputs and result (unit
roundoff 2^-53, 2^-24, 2^-11, 2^-11, 2^-8), with room for split-k sums in half precision. FP32 that silently ran as TF32
(error about 3e-4) is caught. Sums in FP16 round at each of k / 16 steps of a tensor core: 2^-11 · √(k / 32), 1 % at
k = 16384. FP8 is compared with the product of the rounded operands, so only sums and the BF16 result round; INT8 is
exact."""
FP8_FAST_TOLERANCE = 5e-2
"""With fast accumulation the tensor cores keep sums with about 13 fraction bits and cut each of k / 32 steps: up to
k / 32 · 2^-14, 3 % at k = 16384 (Fasi et al., PeerJ CS 2021; DeepSeek-V3, arXiv 2412.19437, section 3.3)."""

INT8_SCALE = 40.0
FP8_SINCE = (8, 9)
INT8_SINCE = (7, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One number format. ``multiply(a, b, out)``: a [m, k], b [k, n], out [m, n]."""

    storage: torch.dtype
    result: torch.dtype
    multiply: Multiply
    tolerance: float
    layouts: "tuple[bool, ...]" = (False, True)
    """Layouts of b that the library takes: False rows contiguous, True k contiguous (as a linear layer stores it)."""
    notes: "dict[str, Fact]" = field(default_factory=lambda: {})

    def operand(self, count: int, random: torch.Generator, device: str) -> torch.Tensor:
        """``count`` numbers N(0,1) in the storage format, shape (count,)."""
        if self.storage is torch.int8:
            values = torch.randn(count, device=device, generator=random, dtype=_half_on(device))
            return values.mul_(INT8_SCALE).round_().clamp_(-127, 127).to(torch.int8)
        if self.storage is getattr(torch, "float8_e4m3fn", None):
            return torch.randn(count, device=device, generator=random, dtype=_half_on(device)).to(self.storage)
        return torch.randn(count, device=device, generator=random, dtype=self.storage)


def _half_on(device: str) -> torch.dtype:
    return torch.float16 if device == "cuda" else torch.float32


def _mm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    return torch.mm(a, b, out=out)


def product_of(device: Device, precision: str, *, fast_accumulate: bool = False) -> Product:
    """The product in ``precision`` (a key of ``TOLERANCE``) on ``device``; sets torch's switches for it.

    Raises:
        UnsupportedError: unknown precision, or this chip or torch has no such arithmetic.
    """
    if precision not in TOLERANCE:
        raise UnsupportedError(f"unknown precision: {precision}")
    precisions.switch_tf32(precision == "tf32")
    _switch_fp16_sums(precision == "fp16-acc16", device)
    if precision == "fp8":
        return _fp8(device, fast_accumulate)
    if precision == "int8":
        return _int8(device)
    if precision == "fp64":
        return Product(storage=torch.float64, result=torch.float64, multiply=_mm, tolerance=TOLERANCE["fp64"])
    plain = "fp16" if precision == "fp16-acc16" else precision
    precisions.check(device, plain)
    storage = precisions.STORAGE[plain]
    notes: dict[str, Fact] = {"emulated": precisions.emulated(device, plain)}
    if plain in ("fp16", "bf16") and device.name == "cuda":
        notes["split_sums_reduced"] = _split_sums_reduced(plain)
    return Product(storage=storage, result=storage, multiply=_mm, tolerance=TOLERANCE[precision], notes=notes)


def _switch_fp16_sums(wanted: bool, device: Device) -> None:
    """FP16 sums for FP16 products (torch ≥ 2.7), or FP32 sums as torch has it by default."""
    backend = torch.backends.cuda.matmul
    if device.name != "cuda":
        if wanted:
            raise UnsupportedError("sums in FP16 exist on NVIDIA cards only")
        return
    try:
        if wanted or backend.allow_fp16_accumulation:
            backend.allow_fp16_accumulation = wanted
    except (AttributeError, RuntimeError) as err:
        if wanted:
            raise UnsupportedError("sums in FP16 need PyTorch 2.7 or newer") from err


def _split_sums_reduced(precision: str) -> bool:
    """Whether parts of a sum that run on different SMs may be added in half precision (torch's default: yes)."""
    allowed = getattr(torch.backends.cuda.matmul, f"allow_{precision}_reduced_precision_reduction", True)
    return bool(allowed[0] if isinstance(allowed, tuple) else allowed)


def _capability(device: Device) -> "tuple[int, int]":
    return torch.cuda.get_device_capability() if device.name == "cuda" else (0, 0)


def _fp8(device: Device, fast_accumulate: bool) -> Product:
    if not hasattr(torch, "_scaled_mm") or not hasattr(torch, "float8_e4m3fn"):
        raise UnsupportedError("this PyTorch has no FP8 product")
    if device.name != "cuda" or _capability(device) < FP8_SINCE:
        raise UnsupportedError("this chip has no FP8 arithmetic")
    one = torch.ones((), device=device.name, dtype=torch.float32)

    def multiply(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
        return torch._scaled_mm(  # pyright: ignore[reportPrivateImportUsage]
            a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast_accumulate, out=out
        )

    return Product(
        storage=torch.float8_e4m3fn,
        result=torch.bfloat16,
        multiply=multiply,
        tolerance=FP8_FAST_TOLERANCE if fast_accumulate else TOLERANCE["fp8"],
        layouts=(True,),
        notes={"scaling": "per_tensor_1", "fast_accumulate": fast_accumulate},
    )


def _int8(device: Device) -> Product:
    if not hasattr(torch, "_int_mm"):
        raise UnsupportedError("this PyTorch has no INT8 product")
    if device.name == "cuda" and _capability(device) < INT8_SINCE:
        raise UnsupportedError("this chip has no INT8 tensor arithmetic")

    def multiply(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
        return torch._int_mm(a, b, out=out)  # pyright: ignore[reportPrivateImportUsage]

    return Product(
        storage=torch.int8, result=torch.int32, multiply=multiply, tolerance=TOLERANCE["int8"], layouts=(True,)
    )
