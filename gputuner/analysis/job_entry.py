"""What people write for jobs, arrays and times of the queue, on the command line and in the window's form."""

import re
from collections.abc import Sequence

from gputuner.model.errors import UsageError

MOST_IDS = 10000
MOST_S = 366 * 86400.0
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")


def job_ids(texts: Sequence[str]) -> tuple[int, ...]:
    """Ids of jobs: ``3``, ``3,5``, ``3-7``, each once, in the order written.

    Raises:
        UsageError: one cannot be read.
    """
    return tuple(dict.fromkeys(number for text in texts for part in text.split(",") for number in _range(part, text)))


def indices(text: str) -> tuple[int, ...]:
    """The indices of an array: ``1-10``, ``0,2,4-6``.

    Raises:
        UsageError: they cannot be read.
    """
    found = tuple(dict.fromkeys(number for part in text.split(",") for number in _range(part, text, "queue_array")))
    if len(found) > MOST_IDS:
        raise UsageError("queue_array_most", f"too many in {text}", value=text, most=MOST_IDS)
    return found


def seconds(option: str, text: str | None) -> float | None:
    """A time: ``90`` or ``90s``, ``30m``, ``2h``, ``1d``.

    Raises:
        UsageError: it cannot be read, is 0, or longer than a year.
    """
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip().lower())
    value = float(found[1]) * _UNITS[found[2]] if found and found[2] in _UNITS else 0.0
    if not 0.0 < value <= MOST_S:
        raise UsageError("queue_time", f"{option} {text}", option=option, value=text)
    return value


def _range(part: str, text: str, code: str = "queue_ids") -> range:
    found = _RANGE.fullmatch(part.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise UsageError(code, f"cannot read {text}", value=text)
    if last - first >= MOST_IDS:
        raise UsageError("queue_array_most", f"too many in {text}", value=text, most=MOST_IDS)
    return range(first, last + 1)
