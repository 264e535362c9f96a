# pyright: standard
"""What a watched command shows: the page at its end, its curves while it runs, and what it writes."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gputuner.gui.pages.pictures import Pictures, framed
from gputuner.gui.pages.watch_live import WatchLive
from gputuner.gui.pages.watch_page import WatchedPage
from gputuner.gui.results_text import markdown
from gputuner.gui.results_watch import page_markdown
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.output_log import OutputLog
from gputuner.language.words import _


class WatchPictures(Pictures):
    """Filled as the command is followed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._facts = RunFacts()
        self.live = WatchLive(theme)
        self.output = OutputLog()
        self.page = WatchedPage(theme)
        padded = QWidget()
        padded.setProperty("role", "clear")
        inside = QVBoxLayout(padded)
        inside.setContentsMargins(8, 2, 8, 8)
        inside.addWidget(self.output)
        writes = framed(padded, _("What the command writes"), _("its last lines"))
        self.add_pages({"where": self.page, "live": self.live, "output": writes})

    def filled(self, facts: RunFacts) -> list[str]:
        """The page once it has ended; what it writes only where it was started from here."""
        there = {
            "where": facts.ended is not None,
            "live": facts.command is not None,
            "output": facts.output is not None,
        }
        return [name for name, filled in there.items() if filled]

    def show_name(self, name: str) -> None:
        """Show one; curves are drawn only while they are seen."""
        super().show_name(name)
        self.show_trace(self._facts)

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all."""
        self._facts = facts
        self.page.show_facts(facts)
        self.output.follow(facts.output)
        self.show_trace(facts)

    def show_trace(self, facts: RunFacts) -> None:
        """The curves go on with telemetry and with each look at the command."""
        if facts.command is not None and self.currentWidget() is self.live:
            self.live.show_facts(facts)

    def markdown(self, facts: RunFacts) -> str:
        """The page, and the figures below it."""
        return "\n".join(part for part in (page_markdown(facts), markdown(facts.points)) if part)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """Figures of a watched command are told on its page."""
        return "where"
