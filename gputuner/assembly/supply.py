"""What a card drew, by its stored sessions; without any by its limit, or the sheet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gputuner.analysis.supply_draw import CardDraw, DrawSource, Seen, highest
from gputuner.analysis.supply_trace import seen_in
from gputuner.catalog import load
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError, NoCard, UsageError
from gputuner.model.quantities import Quantity
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader

LOOKED_AT = 20
"""So many of the newest sessions of a card are opened, at most."""
POINTS = 20_000
"""Readings of a session that are looked at one by one (2.7 hours at 2 Hz); of longer ones roll-ups."""
POWERS = (Quantity.POWER_AVERAGE_W, Quantity.POWER_INSTANT_W)


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
    simulated = origin is Origin.SIMULATED
    found = _seen_in_file(replay, card.uuid) if replay is not None else _stored(SessionLibrary(data_dir), card, origin)
    seen = highest(found)
    if seen is not None:
        return CardDraw(
            name=card.title,
            uuid=card.uuid,
            source=DrawSource.MEASURED,
            sustained_w=seen.sustained_w,
            peak_w=seen.peak_w,
            limit_w=limit,
            seen=seen,
            sessions=len(found),
            simulated=simulated,
        )
    watts, source = (limit, DrawSource.LIMIT) if limit else (_sheet_w(card), DrawSource.SHEET)
    if not watts:
        raise UsageError("supply_unknown_draw", "nothing tells the watts of the card", card=card.title)
    return CardDraw(
        name=card.title,
        uuid=card.uuid,
        source=source,
        sustained_w=watts,
        peak_w=watts,
        limit_w=limit,
        simulated=simulated,
    )


def _sheet_w(card: CardInfo) -> float | None:
    known = card.catalog.catalog_id if card.catalog else None
    return float(load().card(known).tdp_w) if known else None


def _stored(sessions: SessionLibrary, card: CardInfo, origin: Origin) -> list[Seen]:
    """What each of the newest sessions of the card shows; those that cannot be read tell nothing."""
    own = [
        summary
        for summary in sessions.list()
        if summary.origin is origin and not summary.running and any(known.uuid == card.uuid for known in summary.cards)
    ]
    found: list[Seen] = []
    for summary in own[:LOOKED_AT]:
        try:
            found += _seen_in_file(summary.path, card.uuid)
        except GputunerError:
            continue
    return found


def _seen_in_file(path: Path, uuid: str) -> list[Seen]:
    with SessionReader(path) as reader:
        series = reader.overview(POWERS, (uuid,), at_most_points=POINTS)
        name = reader.started.run_id
    known = [series[uuid, quantity] for quantity in POWERS if (uuid, quantity) in series]
    told = [each for each in known if len(each.t_ns)]
    if not told:
        return []
    trace = told[0]  # the driver's average, where it tells one
    peak = max(float(np.max(each.maximum)) for each in told)
    seen = seen_in(trace.t_ns, trace.mean, peak, trace.segments(), bucket_s=trace.bucket_s, session=name)
    return [] if seen is None else [seen]
