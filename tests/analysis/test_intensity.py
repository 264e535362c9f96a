"""Operations per byte of a matrix product, counted by hand."""

import pytest

from gputuner.analysis.intensity import matmul_intensity


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        ("fp64", 2 * 512**3 / (8 * 3 * 512**2)),
        ("bf16", 2 * 512**3 / (2 * 3 * 512**2)),
        ("tf32", 2 * 512**3 / (4 * 3 * 512**2)),
        ("fp8", 2 * 512**3 / (2 * 512**2 + 2 * 512**2)),
        ("int8", 2 * 512**3 / (2 * 512**2 + 4 * 512**2)),
    ],
)
def test_square(precision, expected):
    assert matmul_intensity(512, 512, 512, precision) == pytest.approx(expected)


def test_a_vector_does_about_one_operation_for_each_byte_of_the_matrix():
    assert matmul_intensity(4096, 1, 4096, "fp16") == pytest.approx(1.0, rel=1e-3)


def test_unknown_format():
    assert matmul_intensity(8, 8, 8, "fp4") is None
