"""How the products of a figure were computed: number format, accumulator, 2:4 sparsity (read off its parameters)."""

from collections.abc import Mapping
from dataclasses import dataclass

from gputuner.model.readings import Scalar

ACCUMULATORS: dict[str, str] = {"fp64": "fp64", "int8": "int32"}
"""Format of the sums where it is not FP32; torch keeps those of TF32, FP16, BF16 and FP8 in FP32 unless told otherwise.

For FP16 that is ``torch.backends.cuda.matmul.allow_fp16_accumulation`` being off, its default (torch documentation).
"""
PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
_NAMED = ("accumulate", "accumulator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """Number format of the operands, of the sums, and whether one operand is 2:4 sparse.

    ``precision``: fp64, fp32, tf32, fp16, bf16, fp8, int8; ``accumulate``: fp64, fp32, fp16, int32.
    ``fast_accumulate``: FP8 sums that are not promoted to FP32 at every step.
    """

    precision: str
    accumulate: str = "fp32"
    sparse: bool = False
    fast_accumulate: bool = False

    @property
    def mode(self) -> str:
        """As published results are labelled: ``fp32``, ``bf16_acc32``, ``fp16_acc16``, ``fp8_e4m3``, ``int8`` …

        FP8 with fast accumulation is ``fp8_e4m3_fast``: at up to twice the rate it is no match for a figure that does
        not say how it was summed.
        """
        if self.precision in ("fp16", "bf16"):
            plain = f"{self.precision}_acc{self.accumulate.removeprefix('fp')}"
        else:
            plain = {"fp8": "fp8_e4m3_fast" if self.fast_accumulate else "fp8_e4m3"}.get(self.precision, self.precision)
        return f"{plain}_sparse" if self.sparse else plain


def arithmetic_of(params: Mapping[str, Scalar]) -> Arithmetic | None:
    """The arithmetic that ``params`` of a matrix product or training name; None where they name none.

    ``precision`` may carry the rest in its name (``fp16-acc16``, ``sparse-int8``, ``fp8_e4m3``); ``accumulate``,
    ``fast_accumulate`` and ``sparse`` say it apart.
    """
    named = str(params.get("precision", "")).lower().replace("_", "-").split("-")
    precision = next((part for part in named if part in PRECISIONS), None)
    if precision is None:
        return None
    told = next((str(params[name]).lower() for name in _NAMED if isinstance(params.get(name), str)), None)
    if told is None:
        told = "fp16" if "acc16" in named else ACCUMULATORS.get(precision, "fp32")
    sparse = params.get("sparse") is True or "sparse" in named or "setup_counted" in params
    fast = params.get("fast_accumulate", params.get("fast_accum")) is True
    return Arithmetic(precision=precision, accumulate=told, sparse=sparse, fast_accumulate=fast and precision == "fp8")
