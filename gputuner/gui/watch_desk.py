# pyright: standard
"""Where a command is watched from: it is started, followed, asked to end, and left alone when the window closes."""

from dataclasses import dataclass
from pathlib import Path

from gputuner.gui.desk import Desk
from gputuner.gui.ports import Watching
from gputuner.model.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is to be watched: its words, where it starts, and whether its Python is looked into."""

    argv: tuple[str, ...]
    folder: Path | None = None
    hooks: bool = True


class WatchDesk(Desk):
    """One command at a time; to stop it asks the command to end, each time harder. It keeps no card for itself."""

    def start(self, spec: object, cards: tuple[str, ...], share: bool) -> None:
        """Start the command; nothing happens while one runs."""
        assert isinstance(spec, Command)
        if not self.thread_.busy:
            self._begin(lambda: self._ports.start_watch(spec.argv, spec.folder, spec.hooks, cards))

    def leave(self) -> None:
        """End the watching alone; the command goes on."""
        run = self.thread_.run
        if self.thread_.busy and isinstance(run, Watching):
            run.leave()

    def _told(self, event: Event) -> None:
        run = self.thread_.run
        if self.state.facts.output is None and isinstance(run, Watching):
            self.state.facts.output = run.output
        super()._told(event)
