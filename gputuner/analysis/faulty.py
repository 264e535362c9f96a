"""Figures beyond what their card can do, found again in a stored session: an older version may not have looked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gputuner.analysis.roofline import IMPLAUSIBLE_ABOVE, NO_CACHE_HOLDS, above_peak, beyond_the_bus
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

STREAMED = "stream_bandwidth"
OUT_OF_REACH = IMPLAUSIBLE_ABOVE["fraction_of_peak_at_clock"]
"""Share of the memory's slope above which work that no cache holds cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Card:
    """What a session's figures tell of a card: bandwidth of its memory (bytes/s), size of its L2; None: not told."""

    bus: float | None
    cache: float | None


def marked(points: Iterable[Point]) -> tuple[Point, ...]:
    """All figures in their order; those above what the card can do are flagged ``implausible``.

    The same limits as where a figure is made (``roofline``): shares of peak, link and sheet, and bytes over the bus.
    """
    told = tuple(points)
    cards = {card: _card([point for point in told if point.card == card]) for card in {p.card for p in told}}
    return tuple(_marked(point, cards[point.card]) for point in told)


def _card(points: Sequence[Point]) -> _Card:
    buses = [
        value
        for point in points
        if point.metric == STREAMED and point.params.get("level", "dram") == "dram"
        for value in (_number(point.extra.get("peak_at_clock")), _sheet(point))
        if value
    ]
    caches = [value for point in points if (value := _number(point.extra.get("l2_bytes")))]
    return _Card(bus=max(buses, default=None), cache=max(caches, default=None))


def _sheet(point: Point) -> float | None:
    share = _number(point.extra.get("fraction_of_sheet"))
    return point.value / share if share else None


def _marked(point: Point, card: _Card) -> Point:
    if Flag.IMPLAUSIBLE in point.flags or not (above_peak(point.extra) or _beyond_bus(point, card)):
        return point
    return replace(point, flags=(*point.flags, Flag.IMPLAUSIBLE))


def _beyond_bus(point: Point, card: _Card) -> bool:
    """Whether more bytes came out of the memory than its bus sends."""
    if card.cache is None:
        return False
    footprint = _number(point.params.get("bytes"))
    if point.metric == STREAMED and footprint:
        return beyond_the_bus(point.value, footprint, card.cache, card.bus)
    share, moved = (_number(point.extra.get(name)) for name in ("fraction_of_attainable", "bytes"))
    return bool(share and moved and moved >= NO_CACHE_HOLDS * card.cache and share > OUT_OF_REACH)


def _number(figure: Scalar | None) -> float | None:
    return float(figure) if isinstance(figure, int | float) and not isinstance(figure, bool) else None
