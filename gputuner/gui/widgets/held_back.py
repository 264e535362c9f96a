# pyright: standard
"""What held the benchmarks back: one entry for each cause with its figures, and the sentence of a chosen figure."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.analysis.headlines import headlines
from gputuner.gui.bench_words import cause_words, figure_words
from gputuner.gui.cause_words import cause_lines
from gputuner.gui.widgets.labels import label
from gputuner.language import benchmarks
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
        """Cause → figures."""
        self._points: list[Point] = []
        self.sentence = label("", "small", wrap=True)
        self._list = QWidget()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(4)
        column.addWidget(label(_("What held it back"), "heading"))
        column.addWidget(self.sentence)
        column.addWidget(self._list)
        self._column = column
        self.sentence.hide()
        self.hide()

    def show_points(self, points: Sequence[Point]) -> None:
        """Show the causes of these figures; the most frequent first."""
        found: dict[str, list[Point]] = {}
        self._points = headlines(points)
        for point in self._points:
            cause = benchmarks.cause(point)
            if cause:
                found.setdefault(cause, []).append(point)
        causes = {cause: tuple(of) for cause, of in sorted(found.items(), key=lambda item: -len(item[1]))}
        if causes != self.causes:
            self.causes = causes
            self.show_one(None)
            self._rebuild()

    def show_one(self, point: Point | None) -> None:
        """Say what held this figure back, with its numbers."""
        words = "" if point is None else benchmarks.held_back(point)
        self.sentence.setText(f"{figure_words(point)}: {words}" if point is not None and words else "")
        self.sentence.setVisible(bool(words))

    def _rebuild(self) -> None:
        fresh = QWidget()
        fresh.setProperty("role", "clear")
        layout = QVBoxLayout(fresh)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for cause, points in self.causes.items():
            layout.addWidget(self._cause(cause, points))
        self._column.replaceWidget(self._list, fresh)
        self._list.hide()
        self._list.deleteLater()
        self._list = fresh
        self.setVisible(bool(self.causes))

    def _cause(self, cause: str, points: tuple[Point, ...]) -> QWidget:
        frame = QWidget()
        frame.setProperty("role", "clear")
        frame.setToolTip("\n".join(f"{figure_words(point)}: {benchmarks.held_back(point)}" for point in points))
        names = "\n".join(cause_lines(points, self._points))
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(label(cause_words(cause), "small", wrap=True))
        words.addWidget(label(names, "muted", wrap=True))
        button = QPushButton(_("Show"))
        button.setProperty("small", True)
        button.setToolTip(_("Mark the figures this rests on"))
        ids = tuple(point.id for point in points)
        button.clicked.connect(lambda _checked=False: self.evidence_wanted.emit(ids))
        row = QHBoxLayout(frame)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addLayout(words, 1)
        row.addWidget(button)
        return frame
