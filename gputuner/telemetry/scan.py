"""Bring the watched cards up to what a scan of the machine found."""

from collections.abc import Iterable
from dataclasses import replace

from gputuner.model.cards import CardInfo, CardState
from gputuner.telemetry.watch import CardWatch

Watches = dict[str, CardWatch]


def take_scan(watches: Watches, found: Iterable[CardInfo], now_ns: int, gap_after_s: float) -> tuple[CardInfo, ...]:
    """Update ``watches`` in place; returns the cards whose identity or state changed.

    A lost card may come without its UUID (its handle fails): then the display index tells which one it is. A card that
    is not found any more is lost.
    """
    changed: list[CardInfo] = []
    named: set[str] = set()
    for info in found:
        known = watches.get(info.uuid) or _same_slot(watches, info)
        if known is None:
            watches[info.uuid] = CardWatch(info, gap_after_s)
            named.add(info.uuid)
            changed.append(info)
            continue
        before = known.info.uuid
        if info.state is CardState.LOST:
            info = replace(info, uuid=before)
        elif before != info.uuid:
            watches[info.uuid] = watches.pop(before)
        named.add(info.uuid)
        news = known.seen(info, now_ns)
        if news is not None:
            changed.append(news)
    for uuid, watch in watches.items():
        if uuid not in named and watch.info.state is not CardState.LOST:
            changed.append(watch.lost(now_ns))
    return tuple(changed)


def _same_slot(watches: Watches, info: CardInfo) -> CardWatch | None:
    """The watched card in the same place, if one of the two is lost (its UUID then cannot be read)."""
    for watch in watches.values():
        if watch.info.index == info.index and CardState.LOST in (watch.info.state, info.state):
            return watch
    return None
