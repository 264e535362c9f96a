"""Activations against the range of FP16: where a forward pass leaves it first."""

from collections.abc import Sequence
from dataclasses import dataclass

FP16_MAX = 65504.0
"""Largest finite number of IEEE 754 binary16: (2 − 2⁻¹⁰) · 2¹⁵."""
NEAR = 0.25
"""A peak within a factor of four of the limit leaves no room for a training that goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The largest absolute activation of one place in the model.

    ``finite`` False: finite numbers became infinite, or none, here; ``value`` is the largest finite one. ``half``: it
    is (or would be) stored in half precision; what autocast keeps in FP32 may be as large as it likes.
    """

    place: str
    value: float
    finite: bool = True
    half: bool = True

    @property
    def overflows(self) -> bool:
        """Whether FP16 cannot hold it."""
        return self.half and (not self.finite or self.value > FP16_MAX)


def first_overflow(peaks: Sequence[Peak]) -> Peak | None:
    """The first place, in the order of the forward pass, that FP16 cannot hold; None: all fit.

    What follows the first is its consequence (infinity less infinity is NaN), whatever its own size.
    """
    return next((peak for peak in peaks if peak.overflows), None)


def nearest(peaks: Sequence[Peak]) -> Peak | None:
    """The largest finite peak in half precision, where it comes near the limit of FP16; None: there is room."""
    largest = max((peak for peak in peaks if peak.half), key=lambda peak: peak.value, default=None)
    return largest if largest is not None and largest.value > NEAR * FP16_MAX else None
