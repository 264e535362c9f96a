"""How many FP32 runs the bounds of a numerical verdict rest on, and how finely such bounds are told. No numpy."""

from collections.abc import Mapping

_ENDS = ("fp32_end_", "twin_end_")


def two_digits(figure: float) -> float:
    """A bound from a handful of runs, to two significant digits.

    The standard deviation of n normal values is itself known to 1 / √(2 · (n − 1)): half of it from three runs, so a
    third digit says nothing.
    """
    return float(f"{figure:.2g}")


def reference_runs(extra: Mapping[str, object]) -> tuple[int, int] | None:
    """How many FP32 runs a verdict's bounds rest on: with other seeds, and of the same start; None: not known.

    Args:
        extra: what is kept with the verdict, in it the mean of each run: ``fp32_end_1`` …, ``twin_end_1`` ….
    """
    seeds, twins = (sum(name.startswith(kind) and name[len(kind) :].isdigit() for name in extra) for kind in _ENDS)
    return (seeds, twins) if seeds and twins else None
