"""The stored sessions of one data folder: listed, found, opened, exported, deleted."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.model.errors import StoreError
from gputuner.model.events import Outcome
from gputuner.sessions.export import export
from gputuner.sessions.failures import of_system, translated
from gputuner.sessions.files import FOLDER, SUFFIX, companions, output_folder
from gputuner.sessions.lease import is_running, lock_path
from gputuner.sessions.opening import open_session
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.sources import disagreements
from gputuner.sessions.summary import SessionSummary, summarise

NAMED_AT_MOST = 4
"""So many of the sessions that a name fits are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file in the list: its summary, or why it cannot be read."""

    path: Path
    summary: SessionSummary | None = None
    error: StoreError | None = None
    outside: bool = False
    """True for a file that was named and does not lie in the data folder."""


class SessionLibrary:
    """Everything under ``<data_dir>/sessions``. Holds no file open; safe from any thread and beside other programs."""

    def __init__(self, data_dir: Path) -> None:
        """Look in ``data_dir`` (it need not exist yet)."""
        self._folder = data_dir / FOLDER

    def entries(self, also: Sequence[Path] = ()) -> tuple[Entry, ...]:
        """Every session file, newest first; files that cannot be read come last, with their error.

        Args:
            also: files to list too, before the others; one that is no longer there is left out.
        """
        paths = self._paths()
        here = {path.resolve() for path in paths} if also else set[Path]()
        named = {path.resolve(): path for path in also if os.path.isfile(path)}
        outside = [replace(_entry(path), outside=True) for real, path in named.items() if real not in here]
        return (*outside, *self._stored(paths))

    def _stored(self, paths: Sequence[Path]) -> tuple[Entry, ...]:
        found = [_entry(path) for path in paths]
        readable = [entry for entry in found if entry.summary is not None]
        readable.sort(key=lambda entry: entry.summary.started_unix_s if entry.summary else 0.0, reverse=True)
        return (*readable, *(entry for entry in found if entry.summary is None))

    def list(self) -> tuple[SessionSummary, ...]:
        """The sessions that can be read, newest first."""
        return tuple(entry.summary for entry in self.entries() if entry.summary is not None)

    def find(self, which: str | None = None) -> Path:
        """The file of a session.

        Args:
            which: its id, the begin of its id if only one has it, or a path; None: the newest that is over and either
                came to its end or has figures; without any such the newest that has ended.

        Raises:
            StoreError: ``no_sessions``, ``session_unknown``, ``session_ambiguous``.
        """
        if which is None:
            over = [summary for summary in self.list() if not summary.running]
            telling = [s for s in over if s.point_count or s.outcome is Outcome.COMPLETED]
            for summary in (*telling, *(s for s in over if s.outcome is not None)):
                return summary.path
            raise StoreError("no_sessions", "there is no finished session yet")
        ids = {path.stem: path for path in self._paths()}
        if which in ids:
            return ids[which]
        if os.path.isfile(which):
            return Path(which)
        fits = [run_id for run_id in ids if which and run_id.startswith(which)]
        if len(fits) == 1:
            return ids[fits[0]]
        if fits:
            raise StoreError(
                "session_ambiguous",
                f"{which} fits several sessions ({', '.join(fits)})",
                session=which,
                n=len(fits),
                sessions=", ".join(fits[:NAMED_AT_MOST]),
            )
        raise StoreError("session_unknown", f"there is no session {which}", session=which)

    def open(self, path: Path) -> SessionReader:
        """A reader of a session, also of one that is being written.

        Raises:
            StoreError: as ``SessionReader``.
        """
        return SessionReader(path)

    def disagreements(self, path: Path) -> tuple[QualityNote, ...]:
        """What other sessions of the folder, from other sources, tell otherwise of the same cards at the same time.

        Raises:
            StoreError: as ``SessionReader``.
        """
        with SessionReader(path) as reader:
            return disagreements(reader, self.list())

    def export(self, path: Path, form: str, target: Path, overwrite: bool = False) -> tuple[Path, ...]:
        """Write a session out; see ``export.export``."""
        with SessionReader(path) as reader:
            return export(reader, form, target, overwrite)

    def delete(self, path: Path) -> None:
        """Remove a session file and what lies beside it.

        Raises:
            StoreError: ``session_in_use`` while it is written, ``file_not_found``, ``store_readonly``; also what
                ``open_session`` raises if the file is no session of gputuner, unless it lies among the sessions.
        """
        if not os.path.isfile(path):
            raise StoreError("file_not_found", f"there is no file {path}", path=str(path))
        if is_running(path):
            raise StoreError("session_in_use", f"{path.stem} is being written now", session=path.stem)
        if path.resolve().parent != self._folder.resolve():
            open_session(path).connection.close()
        # The main file first: if it may not go, nothing has been touched
        for file in (path, *companions(path), lock_path(path)):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise of_system(error, path) from error
        shutil.rmtree(output_folder(path), ignore_errors=True)

    def _paths(self) -> tuple[Path, ...]:
        try:
            return tuple(sorted(self._folder.glob(f"*{SUFFIX}"), key=lambda path: path.stem, reverse=True))
        except OSError:
            return ()


def _entry(path: Path) -> Entry:
    try:
        opened = open_session(path)
        try:
            with translated(path):
                return Entry(path=path, summary=summarise(opened.connection, path, is_running(path)))
        finally:
            opened.connection.close()
    except StoreError as error:
        return Entry(path=path, error=error)
