"""Start a command that is to be watched: its environment, the folder that its hooks write to, and how it is told."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from gputuner.analysis.told_command import told_command, told_line
from gputuner.engine.run import Run
from gputuner.engine.watched import STOPPING, Launch, start
from gputuner.engine.watched_begun import Begun
from gputuner.engine.watched_folder import WATCH, make, remove
from gputuner.engine.watched_follow import Following
from gputuner.model.events import Event
from gputuner.model.steps import Warn
from gputuner.workloads.observed.environment import injected

ASKS_OTHERS = frozenset({"docker", "nerdctl", "kubectl", "ssh", "sbatch", "srun", "qsub", "systemd-run"})
"""Programs whose work runs in processes that are not theirs."""


def begin(
    launch: Launch,
    environ: Mapping[str, str],
    *,
    hooks: bool,
    collector_s: Callable[[], float],
    around: AbstractContextManager[object] | None = None,
) -> Begun:
    """Start the command, by itself or with the hooks in its environment.

    The records lie in the system's folder for temporary files, so that neither a full data folder nor our own end
    costs the command anything.

    Raises:
        CommandError: it cannot be started.
    """
    records = _folder() if hooks else None
    environment = dict(environ) if records is None else injected(environ, str(records))
    if launch.output is not None:
        environment.setdefault("PYTHONUNBUFFERED", "1")  # a file would show a program's lines only by the page
    try:
        command = start(replace(launch, environment=environment), around)
    except BaseException:
        remove(records)
        raise
    words = told_command(launch.argv)
    following = Following(command=command, told=told_line(words), records=records, collector_s=collector_s)
    return Begun(following=following, words=words, hooks=records is not None)


def elsewhere(words: Sequence[str]) -> tuple[Warn, ...]:
    """A note where a command only asks another program, which is no child of it, to start the work."""
    program = words[0].removesuffix(".exe") if words else ""
    return (Warn(code="watch_elsewhere", params={"program": program}),) if program in ASKS_OTHERS else ()


def _folder() -> Path | None:
    try:
        return make(WATCH)
    except OSError:
        return None


class WatchedRun:
    """A run of ``watch`` for the window: its cancel asks the command to end, and the run ends when it has."""

    def __init__(self, run: Run, begun: Begun, output: Path) -> None:
        """Follow ``run``; what the command writes stands in the file ``output``."""
        self.output = output
        self._run = run
        self._begun = begun
        self._asked = 0

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._run.run_id

    @property
    def session_path(self) -> Path | None:
        """Its session."""
        return self._run.session_path

    @property
    def running(self) -> bool:
        """Whether the command runs."""
        return self._begun.running

    def __iter__(self) -> Iterator[Event]:
        """The events; the records are removed after the last, unless the command goes on."""
        yield from self._run
        if not self._begun.running:
            self._begun.forget()

    def cancel(self) -> None:
        """Ask the command to end, each time harder: interrupt, terminate, kill."""
        self._begun.send(STOPPING[min(self._asked, len(STOPPING) - 1)])
        self._asked += 1

    def leave(self) -> None:
        """End the watching alone; the command goes on."""
        self._run.cancel()
