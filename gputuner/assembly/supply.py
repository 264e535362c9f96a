"""What a card drew, by its stored sessions; without any by its limit, or the sheet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gputuner.analysis.supply_draw import CardDraw, DrawSource, Feed, Seen, highest
from gputuner.analysis.supply_trace import highest_mean, seen_in
from gputuner.catalog import load
from gputuner.catalog.facts import CardFacts
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError, NoCard, UsageError
from gputuner.model.quantities import Quantity
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader

LOOKED_AT = 20
"""So many of the newest sessions that saw a card at work tell its draw …"""
OPENED = 100
"""… of so many that are opened, at most: recordings of an idle card hide no load."""
POINTS = 20_000
"""Readings of a session that are looked at one by one (2.7 hours at 2 Hz); of longer ones roll-ups."""
POWERS = (Quantity.POWER_AVERAGE_W, Quantity.POWER_INSTANT_W)
USE = Quantity.GPU_UTILISATION
SLOT_MOST_W = 75.0
"""What a slot gives a card (PCI Express card specification): one that takes no more has no cable."""
MODULES = frozenset({"h20"})
"""Modules whose name does not say SXM …"""
SERVER_PLUGS = frozenset({"rtx-a6000"})
"""… and cards with a fan that have a server's plug."""


def draws_of(data_dir: Path, cards: Sequence[CardInfo], origin: Origin, replay: Path | None = None) -> list[CardDraw]:
    """The draw of each card; ``replay``: only this session tells.

    Raises:
        NoCard: a card is the processor.
        UsageError: nothing tells the watts of one.
        StoreError: the session to replay cannot be read.
    """
    return [_draw_of(data_dir, card, origin, replay) for card in cards]


def _draw_of(data_dir: Path, card: CardInfo, origin: Origin, replay: Path | None) -> CardDraw:
    if card.is_cpu:
        raise NoCard("supply_needs_card", "sizing needs a card, or watts that are told")
    limit = card.number("power_limit_enforced_w") or card.number("power_limit_requested_w")
    facts = _facts(card)
    sheet = float(facts.tdp_w) if facts is not None else None
    full = limit or sheet
    if replay is not None:
        found = _seen_in_file(replay, card.uuid)
        work, rest = _parted(found, full)
    else:
        work, rest = _stored(SessionLibrary(data_dir), card, origin, full)
    seen = highest(work)
    if seen is None and not full:
        raise UsageError("supply_unknown_draw", "nothing tells the watts of the card", card=card.title)
    by_limit = DrawSource.LIMIT if limit else DrawSource.SHEET
    return CardDraw(
        name=card.title,
        uuid=card.uuid,
        source=by_limit if seen is None else DrawSource.MEASURED,
        sustained_w=(full or 0.0) if seen is None else seen.sustained_w,
        peak_w=(full or 0.0) if seen is None else seen.peak_w,
        limit_w=limit,
        lowest_w=card.number("power_limit_min_w"),
        fed=_feed(card, facts),
        seen=seen,
        rest=highest(rest) if seen is None else None,
        sessions=len(work or rest),
        simulated=origin is Origin.SIMULATED,
    )


def _facts(card: CardInfo) -> CardFacts | None:
    known = card.catalog.catalog_id if card.catalog else None
    return load().card(known) if known else None


def _feed(card: CardInfo, facts: CardFacts | None) -> Feed:
    """By what the card gets its watts, by its name, its highest limit and the catalogue."""
    names = f"{card.name} {card.title}"
    known = "" if facts is None else facts.id
    if "SXM" in names or "Laptop" in names or known in MODULES:
        return Feed.MODULE
    most = facts.tdp_w if facts is not None else card.number("power_limit_max_w")
    if most is not None and most <= SLOT_MOST_W:
        return Feed.SLOT
    server = facts is not None and (facts.passive or known in SERVER_PLUGS)
    return Feed.SERVER if server else Feed.CABLES


def _parted(found: Sequence[Seen], full_w: float | None) -> tuple[list[Seen], list[Seen]]:
    """At work, and at rest."""
    work = [seen for seen in found if seen.at_work(full_w)]
    return work, [seen for seen in found if not seen.at_work(full_w)]


def _stored(
    sessions: SessionLibrary, card: CardInfo, origin: Origin, full_w: float | None
) -> tuple[list[Seen], list[Seen]]:
    """What each of the newest sessions of the card shows, at work and at rest; what cannot be read tells nothing."""
    own = [
        summary
        for summary in sessions.list()
        if summary.origin is origin and not summary.running and any(known.uuid == card.uuid for known in summary.cards)
    ]
    work, rest = list[Seen](), list[Seen]()
    for summary in own[:OPENED]:
        try:
            at_work, at_rest = _parted(_seen_in_file(summary.path, card.uuid), full_w)
        except GputunerError:
            continue
        work += at_work
        rest += at_rest
        if len(work) >= LOOKED_AT:
            break
    return work, rest


def _seen_in_file(path: Path, uuid: str) -> list[Seen]:
    with SessionReader(path) as reader:
        series = reader.overview((*POWERS, USE), (uuid,), at_most_points=POINTS)
        name = reader.started.run_id
    known = [series[uuid, quantity] for quantity in POWERS if (uuid, quantity) in series]
    told = [each for each in known if len(each.t_ns)]
    if not told:
        return []
    trace = told[0]  # the driver's average, where it tells one
    peak = max(float(np.max(each.maximum)) for each in told)
    use = series.get((uuid, USE))
    used = None if use is None else highest_mean(use.t_ns, use.mean, use.segments(), use.bucket_s)
    seen = seen_in(trace.t_ns, trace.mean, peak, trace.segments(), bucket_s=trace.bucket_s, session=name, used=used)
    return [] if seen is None else [seen]
