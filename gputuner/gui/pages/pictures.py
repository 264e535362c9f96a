# pyright: standard
"""The pictures of a result: one at a time, each filled from the facts of a run."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_text import markdown
from gputuner.gui.run_state import RunFacts


class Pictures(QStackedWidget):
    """Named pictures; each kind of result fills its own."""

    rows_changed = Signal()
    """The picture that is shown has other figures than before, by the user's choice."""

    def __init__(self) -> None:
        super().__init__()
        self._pages: dict[str, QWidget] = {}

    def add_pages(self, pages: Mapping[str, QWidget]) -> None:
        """Put the pictures in, in their order."""
        self._pages = dict(pages)
        for page in self._pages.values():
            self.addWidget(page)

    def show_name(self, name: str) -> None:
        """Show one picture."""
        self.setCurrentWidget(self._pages[name])

    @property
    def current(self) -> QWidget:
        """The picture that is shown."""
        return next(page for page in self._pages.values() if page is self.currentWidget())

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show, in their order."""
        return []

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""

    def show_trace(self, facts: RunFacts) -> None:
        """Fill what follows telemetry."""

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that a picture shows, where it does not show its own figures only."""
        return ()

    def markdown(self, facts: RunFacts) -> str:
        """What is copied beside the shown picture."""
        return markdown(facts.points)

    def own_files(self) -> Mapping[str, str]:
        """What the shown picture can be saved as besides a picture and figures: words of the dialog by file ending."""
        return {}

    def save_own(self, target: Path) -> None:
        """Save the shown picture as one of ``own_files``."""

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        return None


def column(*widgets: tuple[QWidget, int]) -> QWidget:
    """Widgets below each other, with their share of the height."""
    page = QWidget()
    page.setProperty("role", "clear")
    layout = QVBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(8)
    for widget, stretch in widgets:
        layout.addWidget(widget, stretch)
    return page


def framed(widget: QWidget, title: str, unit: str) -> PictureFrame:
    """A picture with its title."""
    frame = PictureFrame(title, unit)
    frame.set_picture(widget)
    return frame
