# pyright: standard
"""The pictures of jobs that share a card: slowdown beside gain, pairs, causes, sensitivity, the card meanwhile."""

from math import sqrt

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QButtonGroup, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from gputuner.analysis.contention_figures import mixes, newest
from gputuner.gui.pages.card_traces import CardTraces
from gputuner.gui.pages.contention_sensitivity import SensitivityPicture
from gputuner.gui.pages.pictures import Pictures, column, framed
from gputuner.gui.pages.switches_pictures import scrolled
from gputuner.gui.picture_names import contention_titles
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.pair_matrix import PairMatrix
from gputuner.gui.plots.share_bars import ShareBars
from gputuner.gui.results_contention import cause_groups, claim_words, gain_groups, slowdown_groups
from gputuner.gui.results_contention_text import (
    cause_lines,
    causes_markdown,
    mixes_markdown,
    pairs_markdown,
    prediction_lines,
)
from gputuner.gui.results_pairs import MODEL, pair_modes, pair_table
from gputuner.gui.results_text import markdown
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.language import contention as words
from gputuner.language.contention_models import round_lines
from gputuner.language.words import _
from gputuner.model.points import Point

SIDE_BY_SIDE = 900
"""From this width on (pixels) slowdown and gain stand beside each other."""
MATRIX = 3
"""From so many different jobs in pairs on the matrix is what the run was made for."""
CURVES = ("pressure_sensitivity", "pressure_exerted")
"""Figures that are seen in curves alone."""
UNLISTED = (*CURVES, "pressure_calibration")
"""Figures that the table leaves out: curves, and what probes do to each other."""


class ContentionPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._points: list[Point] = []
        self.slowdown = Bars(theme, keyed=True, dense=True)
        self.gain = Bars(theme, keyed=True, mark=_("each alone, at its best batch"), dense=True)
        self.causes = ShareBars(theme)
        self.pairs = PairsPicture(theme)
        self.sensitivity = SensitivityPicture(theme)
        self.card = CardTraces(theme)
        scroll = QScrollArea()
        scroll.setProperty("role", "clear")
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.causes)
        self.beside = BesideEachOther(
            scrolled(self.gain, _("Work of the card in the same time"), _("dashed = one after the other")),
            scrolled(
                self.slowdown,
                _("Time of a step against alone"),
                _("dashed = alone; p95: slowest 5 % over the median"),
            ),
        )
        judged = framed(scroll, _("Where the slowdown comes from"), _("share of each job's slowdown"))
        self.caveats = label("", "muted", wrap=True)
        self.claim = label("", "muted", wrap=True)
        for told in (self.claim, self.caveats):
            told.hide()
        pages: dict[str, QWidget] = {
            "slowdown": column((self.claim, 0), (self.beside, 1)),
            "pairs": self.pairs,
            "causes": column((judged, 1), (self.caveats, 0)),
            "sensitivity": self.sensitivity,
            "card": self.card,
        }
        self.add_pages({name: pages[name] for name in contention_titles()})

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show; of a matrix run the matrix first."""
        there = {
            "slowdown": bool(self.slowdown.groups or self.gain.groups),
            "pairs": len(self.pairs.matrix.table.names) > 1,
            "causes": bool(self.causes.groups),
            "sensitivity": bool(self.sensitivity.probed),
            "card": bool(facts.traces),
        }
        names = [name for name, is_there in there.items() if is_there]
        if len(self.pairs.matrix.table.names) >= MATRIX:
            names.sort(key=lambda name: name != "pairs")
        return names

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        self._points = facts.points
        self.slowdown.show_groups(slowdown_groups(facts.points, self._theme))
        self.gain.show_groups(gain_groups(facts.points, self._theme))
        self.beside.one.setVisible(bool(self.gain.groups))
        self.beside.share(self.gain.sizeHint().height(), self.slowdown.sizeHint().height())
        told = [claim_words(facts.points), *round_lines(facts.points)]
        self.claim.setText("\n".join(line for line in told if line))
        self.claim.setVisible(bool(self.claim.text()))
        self.caveats.setText("\n".join(cause_lines(facts.points)))
        self.caveats.setVisible(bool(self.caveats.text()))
        self.causes.show_groups(cause_groups(facts.points, self._theme))
        for bars in (self.slowdown, self.gain, self.causes):
            bars.setMinimumHeight(bars.sizeHint().height() if bars.groups else 0)
        self.pairs.show_points(facts.points)
        self.sensitivity.show_points(facts.points)
        self.show_trace(facts)

    def show_trace(self, facts: RunFacts) -> None:
        """Follow telemetry."""
        if self.card.isVisible() or facts.finished is not None:
            self.card.show_stretch(facts, None)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        for bars in (self.slowdown, self.gain, self.causes, self.pairs.matrix):
            bars.mark(point_ids)
        self.sensitivity.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that a picture shows, in its order."""
        if name == "pairs":
            return tuple(cell.point_id for cell in self.pairs.matrix.table.cells.values())
        if name == "causes":
            return tuple(share.point_id for g in self.causes.groups for row in g.rows for share in row.shares)
        if name == "slowdown":
            return tuple(p.id for mix in mixes(self._points) for p in (*mix.slowdowns, mix.gain) if p is not None)
        return ()

    def markdown(self, facts: RunFacts) -> str:
        """What the shown picture rests on, as tables; of the curves and of the card all figures."""
        shown = next(name for name, page in self._pages.items() if page is self.current)
        match shown:
            case "pairs":
                return pairs_markdown(facts.points, self.pairs.mode)
            case "slowdown":
                return mixes_markdown(facts.points)
            case "causes":
                return causes_markdown(facts.points)
            case _:
                return markdown(newest(facts.points))

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        curves = {p.id for p in self._points if p.metric in CURVES}
        if curves & point_ids:
            return "sensitivity"
        return next((name for name in ("slowdown", "causes", "pairs") if set(self.rows_of(name)) & point_ids), None)


def listed_figures(points: list[Point]) -> list[Point]:
    """The figures that the table has, of those told anew the last, of predictions those of the program's own model."""
    return [
        point for point in newest(points) if point.metric not in UNLISTED and point.params.get("model", MODEL) == MODEL
    ]


class BesideEachOther(QWidget):
    """Two pictures beside each other where there is room, else below each other."""

    def __init__(self, one: PictureFrame, other: PictureFrame) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self.one, self.other = one, other
        self._needs = (1, 1)
        self._layout = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._layout.addWidget(one, 1)
        self._layout.addWidget(other, 1)

    def share(self, one: int, other: int) -> None:
        """Share the height by what each has to show, pixels, the smaller one favoured; beside each other equally."""
        self._needs = (round(10 * sqrt(max(1, one))), round(10 * sqrt(max(1, other))))
        self._fit()

    def _fit(self) -> None:
        below = self._layout.direction() == QBoxLayout.Direction.TopToBottom
        for place, need in enumerate(self._needs if below else (1, 1)):
            self._layout.setStretch(place, need)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the direction by the width."""
        super().resizeEvent(event)
        wide = self.width() >= SIDE_BY_SIDE
        ways = QBoxLayout.Direction
        self._layout.setDirection(ways.LeftToRight if wide else ways.TopToBottom)
        self._fit()


class PairsPicture(PictureFrame):
    """The matrix of pairs with a choice of the way of sharing, where there are several."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(_("Pairs"), _("time of a step of the row's job beside the column's, against alone"))
        self.matrix = PairMatrix(theme)
        self.mode = ""
        self._points: list[Point] = []
        self.modes: dict[str, QPushButton] = {}
        self._row = QWidget()
        self._row.setProperty("role", "clear")
        self._line = QHBoxLayout(self._row)
        self._line.setContentsMargins(12, 6, 12, 0)
        self._line.setSpacing(4)
        self._line.addStretch(1)
        self._group = QButtonGroup(self)
        page = QWidget()
        page.setProperty("role", "clear")
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._row)
        column.addWidget(self.matrix, 1)
        self.lines = label("", "muted", wrap=True)
        self.lines.setContentsMargins(12, 0, 12, 6)
        self.lines.hide()
        column.addWidget(self.lines)
        self.set_picture(page)

    def show_points(self, points: list[Point]) -> None:
        """Show the pairs among these figures."""
        self._points = points
        modes = pair_modes(points)
        for mode in modes:
            if mode not in self.modes:
                self._add_mode(mode)
        for mode, button in self.modes.items():
            button.setVisible(mode in modes)
            button.setText(words.mode(mode, points[0].card if points else ""))
        self._row.setVisible(len(modes) > 1)
        self.choose(self.mode if self.mode in modes else next(iter(modes), ""))

    def choose(self, mode: str) -> None:
        """Show the pairs of one way of sharing."""
        self.mode = mode
        if mode in self.modes:
            self.modes[mode].setChecked(True)
        self.matrix.show_table(pair_table(self._points, mode))
        lines = prediction_lines(self._points) if self.matrix.has_predicted else []
        self.lines.setText(lines[0] if lines else "")  # a row of the picture is worth more than a second line
        self.lines.setToolTip("\n".join(lines))
        self.lines.setVisible(bool(self.lines.text()))

    def _add_mode(self, mode: str) -> None:
        button = QPushButton(words.mode(mode))
        button.setCheckable(True)
        button.setProperty("segment", True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(lambda _checked=False, mode=mode: self.choose(mode))
        self._group.addButton(button)
        self._line.insertWidget(len(self.modes), button)
        self.modes[mode] = button
