# pyright: standard
"""What held the benchmarks back: one sentence for each cause, with the figures it explains."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from gputuner.analysis.headlines import benchmark_of, headlines
from gputuner.gui.bench_words import held_back_words
from gputuner.gui.widgets.labels import label
from gputuner.language.words import _
from gputuner.model.points import Point


class HeldBack(QFrame):
    """A card for the right column; hidden while there is nothing to say."""

    evidence_wanted = Signal(object)
    """A tuple of point ids to mark."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.causes: dict[str, tuple[Point, ...]] = {}
        """Sentence → figures."""
        self._inside = QVBoxLayout(self)
        self._inside.setContentsMargins(12, 8, 12, 8)
        self._inside.setSpacing(4)
        self.hide()

    def show_points(self, points: Sequence[Point]) -> None:
        """Show the causes of these figures; the most frequent first."""
        found: dict[str, list[Point]] = {}
        for point in headlines(points):
            words = held_back_words(point)
            if words:
                found.setdefault(words, []).append(point)
        causes = {words: tuple(of) for words, of in sorted(found.items(), key=lambda item: -len(item[1]))}
        if causes != self.causes:
            self.causes = causes
            self._rebuild()

    def _rebuild(self) -> None:
        while (item := self._inside.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._inside.addWidget(label(_("What held it back"), "heading"))
        for words, points in self.causes.items():
            self._inside.addWidget(self._cause(words, points))
        self.setVisible(bool(self.causes))

    def _cause(self, words: str, points: tuple[Point, ...]) -> QFrame:
        frame = QFrame()
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(0, 2, 0, 4)
        layout.setSpacing(2)
        layout.addWidget(label(words, "small", wrap=True))
        row = QHBoxLayout()
        row.setSpacing(6)
        names = ", ".join(dict.fromkeys(benchmark_of(point) for point in points))
        row.addWidget(label(names, "muted", wrap=True), 1)
        button = QPushButton(_("Show"))
        button.setProperty("small", True)
        button.setToolTip(_("Mark the figures this rests on"))
        ids = tuple(point.id for point in points)
        button.clicked.connect(lambda _checked=False: self.evidence_wanted.emit(ids))
        row.addWidget(button)
        layout.addLayout(row)
        return frame
