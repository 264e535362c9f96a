"""Typed, checked specs of matrix products in all number formats and of the survey of their shapes."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar

ProductFormat = Literal["fp64", "fp32", "tf32", "fp16", "fp16-acc16", "bf16", "fp8", "int8"]
PRODUCT_FORMATS: tuple[ProductFormat, ...] = get_args(ProductFormat)
PRODUCT_BYTES: dict[ProductFormat, int] = {
    "fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "fp16-acc16": 2, "bf16": 2, "fp8": 1, "int8": 1,
}  # fmt: skip
"""Bytes of one stored operand."""
RESULT_BYTES: dict[ProductFormat, int] = {**PRODUCT_BYTES, "fp8": 2, "int8": 4}
"""Bytes of one result (FP8 gives BF16, INT8 gives INT32)."""
SIDE_MOST = 131072


def _check(precision: str, **sides: int) -> None:
    if precision not in PRODUCT_FORMATS:
        raise UsageError("precision_unknown", f"unknown precision: {precision}", precision=precision)
    for name, side in sides.items():
        if not 16 <= side <= SIDE_MOST:
            text = f"{name} must lie between 16 and {SIDE_MOST}, not {side}"
            raise UsageError("value_out_of_range", text, name=name, value=side, low=16, high=SIDE_MOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSpec:
    """Product m × k by k × n with N(0,1) entries; ``transposed``: B as a linear layer stores it (k contiguous).

    ``sparse``: A is 2:4 sparse; then ``setup_counted`` says whether its compression is timed.
    """

    precision: ProductFormat
    m: int
    n: int
    k: int
    transposed: bool | None = None
    fast_accumulate: bool = False
    sparse: bool = False
    setup_counted: bool = False
    bursts: bool = False
    """Timed in short bursts with pauses, before a power cap takes hold."""

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        _check(self.precision, m=self.m, n=self.n, k=self.k)

    @property
    def workload(self) -> str:
        """Name of the body."""
        return "matmul_bursts" if self.bursts else "matmul_sparse" if self.sparse else "matmul"

    def asked(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {**self.params(), "sparse": True} if self.bursts and self.sparse else self.params()

    def params(self) -> dict[str, Scalar]:
        """What was multiplied, as it is told."""
        told: dict[str, Scalar] = {"precision": self.precision, "m": self.m, "n": self.n, "k": self.k}
        if self.sparse:
            return {**told, "setup_counted": self.setup_counted}
        if self.transposed is not None:
            told["transposed"] = self.transposed
        return {**told, "fast_accumulate": True} if self.fast_accumulate else told


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSearchSpec:
    """Survey of shapes up to ``top`` in each side, in steps of ``step``; ``bursts``: timed as in ``ProductSpec``."""

    workload: ClassVar[str] = "matmul_search"
    precision: ProductFormat
    top: int = 16384
    step: int = 256
    fast_accumulate: bool = False
    bursts: bool = False

    def __post_init__(self) -> None:
        """Refuse what no card can do."""
        _check(self.precision, top=self.top, step=self.step)

    @classmethod
    def fitting(
        cls,
        precision: ProductFormat,
        free_bytes: int | None,
        *,
        largest: int = 16384,
        fast_accumulate: bool = False,
        bursts: bool = False,
    ) -> "ProductSearchSpec":
        """The largest search whose two operands and result take at most half of ``free_bytes``."""
        top = largest
        each = 2 * PRODUCT_BYTES[precision] + RESULT_BYTES[precision]
        while free_bytes is not None and top > 256 and each * top * top > free_bytes / 2:
            top //= 2
        step = max(16, top // 64)
        return cls(precision=precision, top=top, step=step, fast_accumulate=fast_accumulate, bursts=bursts)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        told: dict[str, Scalar] = {"precision": self.precision, "top": self.top, "step": self.step}
        told |= {"fast_accumulate": True} if self.fast_accumulate else {}
        return {**told, "bursts": True} if self.bursts else told
