"""Arithmetic intensity: operations per byte that must at least be moved (methods §2)."""

ELEMENT_BYTES: dict[str, int] = {
    "fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1,
}  # fmt: skip
"""Bytes of an operand's element by number format (TF32 is stored as FP32)."""
RESULT_BYTES: dict[str, int] = ELEMENT_BYTES | {"fp8": 2, "int8": 4}
"""Bytes of a result's element: FP8 gives BF16, INT8 gives INT32."""


def matmul_intensity(m: int, n: int, k: int, precision: str) -> float | None:
    """FLOP per byte of ``C[m, n] = A[m, k] · B[k, n]`` each element moved once; None: unknown format."""
    operand, result = ELEMENT_BYTES.get(precision), RESULT_BYTES.get(precision)
    if operand is None or result is None:
        return None
    return 2.0 * m * n * k / (operand * (m * k + k * n) + result * m * n)
