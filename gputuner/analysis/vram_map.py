"""A VRAM as a map by address: which stretch was tested, and what was found there.

Offsets are virtual (see ``vram.py``). A pass tells at most some dozens of its wrong places, those of its worst cycle,
so a stretch without a sign may hold errors of a pass that had more; ``unplaced`` counts what has no place at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gputuner.analysis.region_rates import slow_areas
from gputuner.analysis.vram import Pass, pass_of
from gputuner.model.points import Point

LEAST_BYTES = 16 << 20
"""No stretch is smaller: what the test takes at once."""
MOST_STRETCHES = 768
"""More would be too small to see and to point at."""


class State(StrEnum):
    """What was found, the worst last."""

    UNTESTED = "untested"
    COLD = "cold"
    """Sound, tested at one heat only."""
    SOUND = "sound"
    """Cold and hot."""
    SLOW = "slow"
    ERRORS = "errors"
    ALIASED = "aliased"
    """Shares its cells with another stretch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """``bytes`` from ``offset`` on; ``tested`` and ``failed`` name passes as (pass, heat), ``rate`` is in bytes/s."""

    offset: int
    bytes: int
    state: State
    tested: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    rate: float | None = None
    fraction: float | None = None
    """Of the median rate."""
    points: tuple[str, ...] = ()
    """Ids of the figures with errors here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VramMap:
    """All stretches by offset; the last may be shorter. ``unplaced``: wrong words that no place was told of."""

    stretches: tuple[Stretch, ...] = ()
    stretch_bytes: int = LEAST_BYTES
    total_bytes: int = 0
    unplaced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """One figure of the VRAM test with its places as (offset, end)."""

    id: str
    told: Pass
    wrong: tuple[tuple[int, int], ...]
    shared: tuple[tuple[int, int], ...]


def stretch_bytes(total_bytes: int) -> int:
    """Length of a stretch: a power of two times 16 MiB, so that at most ``MOST_STRETCHES`` make up the whole."""
    size = LEAST_BYTES
    while -(-total_bytes // size) > MOST_STRETCHES:
        size *= 2
    return size


def vram_map(points: Sequence[Point], total_bytes: int) -> VramMap:
    """The map as far as the figures go; nothing tested yet gives one without a sign.

    Args:
        points: of a health test, as they were told.
        total_bytes: the card's memory.
    """
    found = [_found(point) for point in points if point.metric == "vram_errors"]
    rates = {
        (int(p.params["offset_bytes"]), int(p.params["bytes"])): p for p in points if p.metric == "vram_block_rate"
    }
    length = max((size for _, size in rates), default=0)
    slow = slow_areas(sorted((offset, p.value) for (offset, _), p in rates.items()), length) if rates else ()
    slower = [(area.offset_bytes, area.offset_bytes + area.bytes) for area in slow]
    size = stretch_bytes(total_bytes)
    told = tuple(
        _stretch(offset, min(size, total_bytes - offset), found, rates, slower)
        for offset in range(0, total_bytes, size)
    )
    unplaced = sum(each.told.errors for each in found if not each.wrong and not each.shared)
    return VramMap(stretches=told, stretch_bytes=size, total_bytes=total_bytes, unplaced=unplaced)


def _found(point: Point) -> _Found:
    told = pass_of(point.params, {**point.extra, "errors": int(point.value)})
    wrong = [(offset, offset + size) for offset, size in told.spans] if told.errors else []
    shared = [(at, at + alias.bytes) for alias in told.aliases for at in (alias.offset, alias.source)]
    return _Found(id=point.id, told=told, wrong=tuple(wrong), shared=tuple(shared))


def _stretch(
    offset: int,
    size: int,
    found: Sequence[_Found],
    rates: dict[tuple[int, int], Point],
    slower: Sequence[tuple[int, int]],
) -> Stretch:
    end = offset + size
    tested = dict.fromkeys((each.told.name, each.told.heat) for each in found if each.told.checked_bytes >= end)
    wrong = [each for each in found if _meets(each.wrong, offset, end)]
    shared = [each for each in found if _meets(each.shared, offset, end)]
    rate = next((p for (first, length), p in rates.items() if first <= offset < first + length), None)
    fraction = None if rate is None else float(rate.extra.get("fraction_of_median", 1.0))
    state = State.UNTESTED
    if shared:
        state = State.ALIASED
    elif wrong:
        state = State.ERRORS
    elif _meets(slower, offset, end):
        state = State.SLOW
    elif tested:
        state = State.SOUND if len({heat for _, heat in tested}) > 1 else State.COLD
    failed = dict.fromkeys((each.told.name, each.told.heat) for each in (*shared, *wrong))
    return Stretch(
        offset=offset,
        bytes=size,
        state=state,
        tested=tuple(tested),
        failed=tuple(failed),
        rate=None if rate is None else rate.value,
        fraction=fraction,
        points=tuple(dict.fromkeys(each.id for each in (*shared, *wrong))),
    )


def _meets(spans: Iterable[tuple[int, int]], offset: int, end: int) -> bool:
    return any(first < end and last > offset for first, last in spans)
