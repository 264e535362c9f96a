# pyright: standard
"""What a picture over batch size shows: measured batches, lines through them, marked batches."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDot:
    """One measured batch: value, interval, and whether it only checked a prediction or did not fit."""

    batch: int
    value: float
    low: float | None = None
    high: float | None = None
    checked: bool = False
    failed: bool = False
    point_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSeries:
    """One line of dots; ``line`` gives batch–value pairs of a fitted line drawn instead of joining the dots."""

    name: str
    colour: str
    dots: tuple[BatchDot, ...]
    joined: bool = True
    line: tuple[tuple[float, float], ...] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMark:
    """A vertical line at a batch with a word."""

    batch: float
    text: str
    colour: str
    dashed: bool = False
