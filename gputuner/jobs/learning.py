"""What a command needs, as it was measured before: by earlier jobs of it, by ``watch``, or in a named session."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from gputuner.analysis.told_command import told_command
from gputuner.jobs.store import JobStore, digest
from gputuner.model.errors import GputunerError, UsageError
from gputuner.model.events import CommandEnded, Outcome
from gputuner.model.jobs import Needs, NeedSource, Request
from gputuner.model.points import Point
from gputuner.sessions.library import SessionLibrary

WATCH = "watch"
HEADROOM = 1.05
"""Above the largest peak that was seen."""
CONTEXT_BYTES = 512 * 2**20
"""What a CUDA context takes beside what torch's allocator reserves, where only the latter was measured."""
RECENT = 3
"""So many of the newest jobs of a command tell what it needs."""
SESSIONS_MOST = 100
"""So many of the newest sessions are looked through."""


def learned(request: Request, store: JobStore, library: SessionLibrary) -> Request:
    """The request with its need of memory and its time filled in, where they were not given and are known."""
    needs = request.needs
    if needs.memory_bytes is not None:
        return request
    found = _from_history(request, store) or _from_watch(request.command, library)
    return request if found is None else replace(request, needs=_joined(needs, found))


def from_session(needs: Needs, library: SessionLibrary, which: str) -> Needs:
    """The needs with what a stored session measured of memory.

    Raises:
        UsageError: it measured none.
        StoreError: there is no such session.
    """
    path = library.find(which)
    with library.open(path) as stored:
        ended = stored.command_ended()
        peak = _watched_peak(ended) if ended is not None else None
        if peak is None:
            advised = {name for entry in stored.advice()[0] for name in entry.evidence}
            peak = _figures_peak(stored.points(), advised)
    if peak is None:
        raise UsageError("queue_session_no_memory", f"{which} measured no memory", session=path.stem)
    return _joined(needs, Needs(memory_bytes=int(peak * HEADROOM), source=NeedSource.SESSION))


def _joined(needs: Needs, found: Needs) -> Needs:
    minutes = needs.minutes if needs.minutes is not None else found.minutes
    return replace(needs, memory_bytes=found.memory_bytes, source=found.source, minutes=minutes)


def _from_history(request: Request, store: JobStore) -> Needs | None:
    rows = store.connection.execute(
        "SELECT peak_bytes, ended - started AS took FROM jobs WHERE digest = ? AND state = 'done' "
        "AND peak_bytes IS NOT NULL ORDER BY ended DESC LIMIT ?",
        (digest(request.command, request.folder), RECENT),
    ).fetchall()
    if not rows:
        return None
    return Needs(
        memory_bytes=int(max(row["peak_bytes"] for row in rows) * HEADROOM),
        minutes=_minutes(max(row["took"] or 0.0 for row in rows)),
        source=NeedSource.HISTORY,
    )


def _from_watch(command: Sequence[str], library: SessionLibrary) -> Needs | None:
    told = list(told_command(command))
    for entry in library.entries()[:SESSIONS_MOST]:
        summary = entry.summary
        if summary is None or summary.experiment != WATCH or summary.outcome is not Outcome.COMPLETED:
            continue
        ended = _ended(library, summary.path, told)
        peak = None if ended is None else _watched_peak(ended)
        if ended is not None and peak is not None and ended.exit_code == 0:
            return Needs(
                memory_bytes=int(peak * HEADROOM), minutes=_minutes(ended.duration_s), source=NeedSource.WATCHED
            )
    return None


def _ended(library: SessionLibrary, path: Path, told: list[str]) -> CommandEnded | None:
    try:
        with library.open(path) as stored:
            words = stored.started.spec.get("command")
            same = isinstance(words, list | tuple) and list(cast("Sequence[object]", words)) == told
            return stored.command_ended() if same else None
    except GputunerError:
        return None


def _watched_peak(ended: CommandEnded) -> int | None:
    """Most that the command held on one card; on none, of the machine's memory."""
    peaks = [use.tree_memory_peak_bytes for use in ended.use.cards if use.tree_memory_peak_bytes]
    return max(peaks) if peaks else ended.use.rss_peak_bytes


def _figures_peak(points: Sequence[Point], advised: set[str]) -> int | None:
    """The peak of the advised setting, else the largest; what the allocator reserved, and a context beside it."""
    told = {point.id: point.extra.get("reserved_peak_bytes") for point in points}
    chosen = [value for name, value in told.items() if name in advised] or list(told.values())
    peaks = [float(value) for value in chosen if isinstance(value, int | float) and value > 0]
    return int(max(peaks)) + CONTEXT_BYTES if peaks else None


def _minutes(seconds: float) -> float | None:
    return seconds / 60.0 if seconds > 0.0 else None
