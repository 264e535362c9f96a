# pyright: standard
"""Two thermal tests of one card side by side: what a new cooler, paste or pad changed."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QPushButton, QScrollArea, QVBoxLayout

from gputuner.analysis.cooling_compare import CoolingCompared, compared, resistance_of
from gputuner.gui.others import Others
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.ports import SessionEntry
from gputuner.gui.results_compare import session_choice
from gputuner.gui.results_cooler import compared_groups, compared_markdown
from gputuner.gui.run_state import RunFacts
from gputuner.gui.session_words import started_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import label
from gputuner.language import cooling as words
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.errors import GputunerError
from gputuner.model.points import Point

THIS = "this"
"""Stands for the test that is shown, among the paths of others."""
Key = Path | str


class ThermalComparePicture(PictureFrame):
    """A choice of the earlier and the later test, the verdict, and both resistances with their bands."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__(_("Two thermal tests"), _("of the same card"))
        self._theme = theme
        self._others = others
        self._facts = RunFacts()
        self._card = ""
        self._chosen = False
        self._read: dict[Path, Point | None] = {}
        self._failed: dict[Path, str] = {}
        self.found: CoolingCompared | None = None
        self.before, self.after = ChoiceBox(), ChoiceBox()
        self.headline = label("", "title", wrap=True)
        self.said = label("", "muted", wrap=True)
        self.bars = Bars(theme)
        self.copy_button = QPushButton(_("Copy"))
        self.copy_button.setProperty("small", True)
        self.copy_button.setToolTip(_("Copy the comparison as Markdown"))
        self.copy_button.clicked.connect(self._copy)
        self._lay_out()
        for box in (self.before, self.after):
            box.activated.connect(lambda _index: self._choose())
        others.listed.connect(self._show_choices)
        others.figures.connect(self._figures)
        others.failed.connect(self._cannot)
        self._show()

    def _lay_out(self) -> None:
        scroll = QScrollArea()
        scroll.setProperty("role", "clear")
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.bars)
        grid = QGridLayout()
        grid.setContentsMargins(10, 4, 10, 4)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        for row, (name, box) in enumerate(((_("before"), self.before), (_("after"), self.after))):
            box.setAccessibleName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            grid.addWidget(label(name, "muted"), row, 0)
            grid.addWidget(box, row, 1)
        grid.addWidget(self.copy_button, 0, 2, 2, 1, Qt.AlignmentFlag.AlignBottom)
        grid.setColumnStretch(1, 1)
        self.body.addLayout(grid)
        told = QVBoxLayout()
        told.setContentsMargins(10, 2, 10, 2)
        told.addWidget(self.headline)
        told.addWidget(self.said)
        self.body.addLayout(told)
        self.set_picture(scroll)

    def showEvent(self, event: QShowEvent) -> None:
        """See which tests there are."""
        super().showEvent(event)
        self._others.refresh()

    @property
    def tests(self) -> list[SessionEntry]:
        """The stored thermal tests of the card, newest first."""
        return tests_of(self._others, self._card)

    @property
    def points(self) -> list[Point]:
        """The two figures that are compared."""
        sides = self._side(self.before), self._side(self.after)
        return [side for side in sides if side is not None]

    def show_card(self, uuid: str) -> None:
        """Offer the tests of this card."""
        if uuid != self._card:
            self._card, self._chosen = uuid, False
            self._show_choices()

    def show_facts(self, facts: RunFacts) -> None:
        """The test that is shown can be one of the two."""
        anew = facts is not self._facts
        told = resistance_of(facts.points) is not None
        if anew or told is not (self.before.findData(THIS) >= 0):
            self._facts = facts
            self._chosen = self._chosen and not anew
            if facts.cards:
                self._card = facts.cards[0].uuid
            self._show_choices()

    def _choices(self) -> list[tuple[Key, str]]:
        """All that can be chosen, newest first; the test that is shown takes the place of its session."""
        run = self._facts.started.run_id if self._facts.started is not None else ""
        own = resistance_of(self._facts.points) is not None
        found: list[tuple[Key, str]] = []
        for entry in self.tests:
            summary = entry.summary
            assert summary is not None
            if own and summary.run_id == run:
                found.append((THIS, " · ".join((_("this test"), started_words(summary)))))
            else:
                found.append((entry.path, session_choice(summary)))
        if own and THIS not in [key for key, _name in found]:
            found.insert(0, (THIS, _("this test")))
        return found

    def _show_choices(self) -> None:
        choices = self._choices()
        keys = [key for key, _name in choices]
        kept = (self.before.currentData(), self.after.currentData()) if self._chosen else (None, None)
        usual = _usual(keys)
        for box, was, first in zip((self.before, self.after), kept, usual, strict=True):
            box.blockSignals(True)
            box.clear()
            for key, name in choices:
                box.addItem(name, key)
            box.setCurrentIndex(keys.index(was) if was in keys else -1 if first is None else keys.index(first))
            box.setEnabled(len(keys) > 1)
            box.blockSignals(False)
        self._show()

    def _choose(self) -> None:
        self._chosen = True
        self._show()

    def _side(self, box: ChoiceBox) -> Point | None:
        key = box.currentData()
        return resistance_of(self._facts.points) if key == THIS else self._read.get(key) if key else None

    def _show(self) -> None:
        chosen: list[Key] = [self.before.currentData(), self.after.currentData()]
        if self.isVisible():
            for key in chosen:
                if isinstance(key, Path) and key not in self._read and key not in self._failed:
                    self._read[key] = None
                    self._others.read(key)
        before, after = self._side(self.before), self._side(self.after)
        ready = before is not None and after is not None and chosen[0] != chosen[1]
        self.found = compared(before, after) if ready and before is not None and after is not None else None
        groups = compared_groups(before, after, self._theme) if self.found and before and after else []
        self.bars.show_groups(groups)
        self.bars.setMinimumHeight(self.bars.sizeHint().height() if groups else 0)
        lines = words.compared_lines(self.found) if self.found is not None else [self._why_not(chosen)]
        self.headline.setText(lines[0] if self.found is not None else "")
        self.headline.setVisible(self.found is not None)
        rest = lines[1:] if self.found is not None else lines
        self.said.setText("\n".join(rest))
        self.said.setVisible(bool(rest))
        self.copy_button.setEnabled(self.found is not None)

    def _why_not(self, chosen: list[Key]) -> str:
        """Why there is no comparison."""
        if self.before.count() < 2:
            return _("One more thermal test of this card is needed: measure before and after the change.")
        if chosen[0] == chosen[1]:
            return _("Choose two different tests.")
        for key in chosen:
            if isinstance(key, Path) and key in self._failed:
                return self._failed[key]
        return _("reading the session…")

    def _figures(self, path: Path, facts: RunFacts) -> None:
        if path in self._read:
            point = resistance_of(facts.points)
            if point is None:
                self._failed[path] = sentences.error("compare_not_cooling", {"session": path.stem})
            self._read[path] = point
            self._show()

    def _cannot(self, path: Path, err: Exception) -> None:
        if path in self._read:
            self._failed[path] = sentences.error(err) if isinstance(err, GputunerError) else str(err)
            self._show()

    def markdown(self) -> str:
        """The comparison to take along; "" where there is none."""
        return "" if self.found is None else compared_markdown(self.found, self.points)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.markdown())


def tests_of(others: Others, card: str) -> list[SessionEntry]:
    """The stored thermal tests of a card, newest first."""
    return [
        entry
        for entry in others.every
        if entry.summary is not None
        and entry.summary.experiment == "cooling"
        and not entry.summary.running
        and [info.uuid for info in entry.summary.cards[:1]] == [card]
    ]


def _usual(keys: list[Key]) -> tuple[Key | None, Key | None]:
    """Before and after as they are shown first: the test that is shown and the one before it, else the one after it."""
    if len(keys) < 2:
        return None, keys[0] if keys else None
    here = keys.index(THIS) if THIS in keys else 0
    return (keys[here + 1], keys[here]) if here + 1 < len(keys) else (keys[here], keys[here - 1])
