# pyright: standard
"""The page at the end of a watched command: what bound it, shares of the time, evidence, and what was seen."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_watch import evidence_lines, page_pairs, part_groups, spent_of
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import Wrapped, label
from gputuner.language import watch
from gputuner.language.words import _


class WatchedPage(PictureFrame):
    """Filled once the command has ended."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(_("Where the time went"))
        self._theme = theme
        self.headline = label("", "heading", wrap=True)
        self.bars = Bars(theme)
        self.evidence = label("", "muted", wrap=True)
        self._pairs = QGridLayout()
        self._pairs.setHorizontalSpacing(12)
        self._pairs.setVerticalSpacing(3)
        self._pairs.setColumnStretch(1, 1)
        inside = QWidget()
        inside.setProperty("role", "clear")
        column = QVBoxLayout(inside)
        column.setContentsMargins(12, 4, 12, 8)
        column.setSpacing(6)
        for widget in (self.headline, self.bars, self.evidence):
            column.addWidget(widget)
        column.addLayout(self._pairs)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setProperty("role", "clear")
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        self.set_picture(scroll)
        self._shown: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is told by name."""
        return self._shown

    def show_facts(self, facts: RunFacts) -> None:
        """Show the page of a command that has ended."""
        spent = spent_of(facts)
        if facts.ended is None or spent is None:
            return
        self.headline.setText(watch.bound_by(spent))
        groups = part_groups(spent, self._theme)
        self.bars.show_groups(groups)
        self.bars.setVisible(bool(groups))
        self.bars.setMinimumHeight(self.bars.sizeHint().height() if groups else 0)
        self.evidence.setText("\n".join(evidence_lines(spent)))
        self._show_pairs(page_pairs(facts.ended, spent))

    def _show_pairs(self, pairs: tuple[tuple[str, str], ...]) -> None:
        if pairs == self._shown:
            return
        self._shown = pairs
        while (item := self._pairs.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        for row, (name, told) in enumerate(pairs):
            words = Wrapped(told)
            words.setWordWrap(True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._pairs.addWidget(label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            self._pairs.addWidget(words, row, 1)
