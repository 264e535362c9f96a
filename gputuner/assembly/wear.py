"""The wear of a card from all its stored sessions; reads only, keeps nothing of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path

from gputuner.analysis.wear import SessionWear, Wear, session_wear, wear
from gputuner.analysis.wear_trace import spans, told_once
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode, GputunerError, StoreError
from gputuner.sessions.earlier import Entry, Library, Summary
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.wear import wear_trace, xids_of

ROOM = "room_c"
"""Field of a stored spec: the temperature of the air as it was told."""


class WearStopped(GputunerError):
    """Whoever asked would not wait for the end; nothing was made."""

    exit_code = ExitCode.INTERRUPTED


def worn_cards(
    library: Library, origin: Origin = Origin.MEASURED, entries: Sequence[Entry] | None = None
) -> tuple[CardInfo, ...]:
    """The graphics cards of the stored sessions as they were last seen, that of the newest session first.

    ``entries``: the sessions, where they are listed already.
    """
    found: dict[str, CardInfo] = {}
    for summary in _summaries(library.entries() if entries is None else entries, origin):
        for card in summary.cards:
            if not card.is_cpu:
                found.setdefault(card.uuid, card)
    return tuple(found.values())


def wear_of(
    library: Library,
    uuid: str,
    *,
    origin: Origin = Origin.MEASURED,
    above: Sequence[float] = (),
    told: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
    entries: Sequence[Entry] | None = None,
) -> Wear | None:
    """A card's wear over all its sessions; None where there is none of it.

    Sessions of one card at the same time (a recording beside a test) tell each hour once, the earlier one first. Those
    of a simulated card have clocks of their own and each counts for itself. Replays are left out: they show again what
    another session has.

    Args:
        library: the stored sessions.
        uuid: of the card.
        origin: measured, or simulated.
        above: temperatures in °C to tell hours above; empty: the usual ones and the card's own limits.
        told: called with how many sessions were read, and of how many.
        stop: asked before each session; True ends it.
        entries: the sessions, where they are listed already.

    Raises:
        WearStopped: ``stop`` said so.
    """
    listed = library.entries() if entries is None else entries
    own = [s for s in _summaries(listed, origin) if any(card.uuid == uuid for card in s.cards)]
    own.sort(key=lambda summary: summary.started_unix_s)
    if not own:
        return None
    found: list[SessionWear] = []
    seen: list[tuple[float, float]] = []
    skipped = 0
    for number, summary in enumerate(own):
        if stop is not None and stop():
            raise WearStopped("cancelled", "stopped")
        try:
            each = _read(summary.path, uuid, seen)
        except StoreError:
            skipped += 1
        else:
            found += [each] if each is not None else []
        if told is not None:
            told(number + 1, len(own))
    card = next(card for card in own[-1].cards if card.uuid == uuid)
    return wear(card, origin, found, above=above, skipped=skipped)


def _summaries(entries: Sequence[Entry], origin: Origin) -> list[Summary]:
    return [e.summary for e in entries if e.summary is not None and e.summary.origin is origin]


def _read(path: Path, uuid: str, seen: list[tuple[float, float]]) -> SessionWear | None:
    """What one session adds; its time is added to ``seen``.

    Raises:
        StoreError: it cannot be read.
    """
    with SessionReader(path) as reader:
        trace = wear_trace(reader, uuid)
        if trace is None:
            return None
        started, xids = reader.started, xids_of(reader, uuid)
    if started.origin is Origin.MEASURED:
        own = spans(trace)
        first, last = own[0][0], own[-1][1]
        trace = told_once(trace, [(a, b) for a, b in seen if a < last and b > first])
        seen += own
    room = started.spec.get(ROOM)
    host = started.fingerprint.host.readings.get("cpu")
    return session_wear(
        trace,
        next(card for card in started.cards if card.uuid == uuid),
        session_id=started.run_id,
        unix_s=started.unix_s,
        host=str(host.value) if host is not None and host.value is not None else None,
        room_c=float(room) if isinstance(room, int | float) and not isinstance(room, bool) else None,
        xids=xids,
    )
