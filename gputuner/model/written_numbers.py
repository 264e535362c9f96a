"""Numbers as they are written in options: ASCII digits and nothing that Python alone would read as a number.

``float`` and ``int`` also take ``1_000``, digits of other scripts, blanks around, ``nan`` and what is too large to be
held; in a value that sets watts each of these is a slip.
"""

import re
from math import isfinite

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")


def written_number(text: str) -> float:
    """The number that ``text`` is.

    Raises:
        ValueError: it is none, or not finite.
    """
    if _NUMBER.fullmatch(text) is None or not isfinite(float(text)):
        raise ValueError(f"no number: {text!r}")
    return float(text)


def written_whole(text: str) -> int:
    """The whole number that ``text`` is.

    Raises:
        ValueError: it is none.
    """
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"no whole number: {text!r}")
    return int(text)
