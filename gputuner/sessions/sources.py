"""Whether other stored sessions contradict a session: the same card at the same time, read by another source."""

from collections.abc import Iterable

from gputuner.analysis.telemetry_quality import (
    COMPARED,
    NEAR_S,
    SOURCES_DISAGREE,
    QualityNote,
    SourcesCompared,
    SourceSeries,
    compare_sources,
)
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError
from gputuner.model.quantities import QUANTITIES
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.rollup import NS
from gputuner.sessions.summary import SessionSummary

AT_MOST_POINTS = 10_000
"""Per quantity and session; longer stretches are compared by their roll-ups."""


def disagreements(session: SessionReader, others: Iterable[SessionSummary]) -> tuple[QualityNote, ...]:
    """A note for each quantity of a card that another source told otherwise at the same time, the largest gap first.

    Only what was measured is compared: a model has no second source, and a replay's calendar is that of its playing.
    The host's own processor is left out, since every machine's has the same name. Nothing is merged.

    Args:
        session: the session in question; its source is ``source`` in the notes.
        others: what other sessions there are; those that cannot be read are passed over.

    Raises:
        StoreError: ``session`` itself is damaged.
    """
    mine = session.summary()
    if mine.origin is not Origin.MEASURED:
        return ()
    notes: list[tuple[float, QualityNote]] = []
    for other in others:
        cards = _shared(mine, other)
        if not cards or not _meet(mine, other):
            continue
        try:
            with SessionReader(other.path) as reader:
                notes += [found for card in cards for found in _compared(session, reader, card)]
        except StoreError:
            continue
    return tuple(note for _, note in sorted(notes, key=lambda entry: -entry[0]))


def _shared(mine: SessionSummary, other: SessionSummary) -> list[CardInfo]:
    """The cards that both read, if they may be compared at all."""
    if other.run_id == mine.run_id or other.source == mine.source or other.origin is not Origin.MEASURED:
        return []
    theirs = {card.uuid for card in other.cards}
    return [card for card in mine.cards if card.uuid in theirs and not card.is_cpu]


def _meet(mine: SessionSummary, other: SessionSummary) -> bool:
    begin = max(mine.started_unix_s, other.started_unix_s)
    return begin <= min(_end_s(mine), _end_s(other)) + NEAR_S


def _end_s(summary: SessionSummary) -> float:
    return summary.started_unix_s + summary.duration_s


def _compared(session: SessionReader, other: SessionReader, card: CardInfo) -> list[tuple[float, QualityNote]]:
    begin_s = max(session.started.unix_s, other.started.unix_s) - 2 * NEAR_S
    end_s = min(_last_s(session), _last_s(other)) + 2 * NEAR_S
    series = [*_series(session, card.uuid, begin_s, end_s), *_series(other, card.uuid, begin_s, end_s)]
    return [_note(found, card, other.started.run_id) for found in compare_sources(series) if found.disagree]


def _last_s(reader: SessionReader) -> float:
    return reader.started.unix_s + (reader.end_ns() - reader.started.t_ns) / NS


def _series(reader: SessionReader, uuid: str, begin_s: float, end_s: float) -> list[SourceSeries]:
    started = reader.started
    t0_ns, t1_ns = (started.t_ns + round((t - started.unix_s) * NS) for t in (begin_s, end_s))
    overview = reader.overview(tuple(COMPARED), (uuid,), t0_ns, t1_ns, AT_MOST_POINTS)
    return [
        SourceSeries(
            source=reader.source,
            quantity=quantity,
            t_unix_s=(started.unix_s + (found.t_ns - started.t_ns) / NS).tolist(),
            values=found.mean.tolist(),
        )
        for (_, quantity), found in overview.items()
    ]


def _note(found: SourcesCompared, card: CardInfo, other_session: str) -> tuple[float, QualityNote]:
    note = QualityNote(
        code=SOURCES_DISAGREE,
        params={
            "card": card.title,
            "uuid": card.uuid,
            "quantity": found.quantity.value,
            "source": found.source,
            "other": found.other,
            "value": found.value,
            "other_value": found.other_value,
            "difference": found.difference,
            "unit": QUANTITIES[found.quantity].unit,
            "other_session": other_session,
        },
    )
    return found.difference / max(abs(found.value), abs(found.other_value), 1.0), note
