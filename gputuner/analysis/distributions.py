"""What SciPy knows of distributions; imported when it is first asked for, since it takes a quarter of a second."""

from math import inf
from typing import Any, cast


def _special() -> Any:
    from scipy import special

    return cast(Any, special)


def student_tail(t: float, freedom: float) -> float:
    """Upper tail of Student's t; of the normal distribution where ``freedom`` is infinite."""
    special = _special()
    return float(special.ndtr(-t) if freedom == inf else special.stdtr(freedom, -t))


def student_quantile(share: float, freedom: float) -> float:
    """The value that ``share`` of Student's t lies below."""
    return float(_special().stdtrit(freedom, share))


def digamma(x: float) -> float:
    """Derivative of the logarithm of the gamma function."""
    return float(_special().digamma(x))


def trigamma(x: float) -> float:
    """Derivative of ``digamma``."""
    return float(_special().polygamma(1, x))
