"""Measured slowdowns of pairs, read from the stored sessions and kept for a while."""

import time
from pathlib import Path

from gputuner.analysis.placement_pairs import Pairs, measured_pairs
from gputuner.model.cards import Origin
from gputuner.model.errors import GputunerError
from gputuner.model.points import Point
from gputuner.sessions.library import SessionLibrary

MEASURED_BY = ("contend", "tune")
SESSIONS_MOST = 200
"""So many of the newest sessions are looked through."""


class StoredPairs:
    """Slowdowns by card; a session is read once, new ones are looked for now and then."""

    def __init__(self, data_dir: Path, every_s: float) -> None:
        """Read nothing yet."""
        self._library = SessionLibrary(data_dir)
        self._every_s = every_s
        self._due = 0.0
        self._points: dict[Path, tuple[Point, ...]] = {}
        self._pairs: dict[str, Pairs] = {}

    def __call__(self) -> dict[str, Pairs]:
        """Slowdowns by UUID of the card."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self._every_s
            self._read()
        return self._pairs

    def _read(self) -> None:
        found: list[Path] = []
        for entry in self._library.entries()[:SESSIONS_MOST]:
            summary = entry.summary
            if summary is None or summary.running or summary.experiment not in MEASURED_BY:
                continue
            if summary.origin is not Origin.REPLAYED:
                found.append(summary.path)
        before = set(self._points)
        for path in found:
            if path not in self._points:
                self._points[path] = self._co_runs(path)
        if before == set(self._points) and self._pairs:
            return
        points = [point for path in reversed(found) for point in self._points[path]]
        self._pairs = {uuid: measured_pairs(points, uuid) for uuid in {point.card for point in points}}

    def _co_runs(self, path: Path) -> tuple[Point, ...]:
        try:
            with self._library.open(path) as stored:
                return tuple(point for point in stored.points() if point.metric.startswith("co_run_"))
        except GputunerError:
            return ()
