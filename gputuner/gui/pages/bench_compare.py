# pyright: standard
"""Compare a bench run with another session, or one card of it with another: paired bars with a verdict each."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QScrollArea, QVBoxLayout

from gputuner.analysis.likeness import unlike
from gputuner.analysis.regression import Difference, Verdict
from gputuner.gui.others import Others, Spreads
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_compare import headline, pair_groups, paired, session_choice, telling, void_words
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import label
from gputuner.language import sentences
from gputuner.language.words import _, ngettext
from gputuner.model.errors import GputunerError
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Point


class ComparePicture(PictureFrame):
    """A chooser of what to compare with, a line that sums up, and the pairs."""

    compared = Signal()
    """Another run stands beside this one."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__(_("Against another run"), _("▲ ▼ more than noise explains"))
        self._theme = theme
        self._others = others
        self._facts = RunFacts()
        self._run = ""
        self._other: RunFacts | None = None
        self._path: Path | None = None
        self._spreads: Spreads = {}
        self.differences: tuple[Difference, ...] = ()
        self.chooser = ChoiceBox()
        self.chooser.setAccessibleName(_("compare with"))
        self.chooser.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.headline = label("", "title", wrap=True)
        self.said = label("", "muted", wrap=True)
        self.bars = Bars(theme, keyed=True)
        scroll = QScrollArea()
        scroll.setProperty("role", "clear")
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.bars)
        row = QHBoxLayout()
        row.setContentsMargins(10, 4, 10, 2)
        row.setSpacing(8)
        row.addWidget(label(_("Compare with"), "muted"))
        row.addWidget(self.chooser, 1)
        self.body.addLayout(row)
        words = QVBoxLayout()
        words.setContentsMargins(10, 0, 10, 2)
        words.addWidget(self.headline)
        words.addWidget(self.said)
        self.body.addLayout(words)
        self.set_picture(scroll)
        self.chooser.activated.connect(self._choose)
        others.listed.connect(self._show_choices)
        others.opened.connect(self._opened)
        others.failed.connect(self._failed)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """See which sessions there are."""
        super().showEvent(event)
        self._others.refresh()

    def show_facts(self, facts: RunFacts) -> None:
        """Compare this run; another one starts without a counterpart."""
        run = facts.started.run_id if facts.started else ""
        self._facts = facts
        if run != self._run:
            self._run = run
            self._path, self._other, self._spreads = None, None, {}
            self._show_choices()
        self._show()

    def _show_choices(self) -> None:
        chosen = self.chooser.currentData()
        self.chooser.blockSignals(True)
        self.chooser.clear()
        self.chooser.addItem(_("choose…"), None)
        for card in self._facts.cards[1:]:
            self.chooser.addItem(_("{card} of this run").format(card=f"{card.index} · {card.title}"), card.uuid)
        for entry in self._others.entries:
            if entry.summary is not None and entry.summary.run_id != self._run:
                self.chooser.addItem(session_choice(entry.summary), entry.path)
        self.chooser.setCurrentIndex(max(0, self.chooser.findData(chosen)))
        self.chooser.blockSignals(False)
        self._show()

    def _choose(self) -> None:
        chosen = self.chooser.currentData()
        self._path, self._other, self._spreads = None, None, {}
        if isinstance(chosen, Path):
            self._path = chosen
            self._others.open(chosen, self._run)
        self._show()
        self.compared.emit()

    def _opened(self, path: Path, facts: RunFacts, spreads: Spreads) -> None:
        if path == self._path:
            self._other, self._spreads = facts, spreads
            self._show()
            self.compared.emit()

    def _failed(self, path: Path, err: Exception) -> None:
        if path == self._path:
            self.said.setText(sentences.error(err) if isinstance(err, GputunerError) else str(err))

    def _sides(self) -> tuple[list[Point], list[Point]] | None:
        """This run's figures and the other's; of a second card of the same run, the first card's and its."""
        points, chosen = self._facts.points, self.chooser.currentData()
        if self._other is not None:
            return points, self._other.points
        if isinstance(chosen, str) and self._facts.cards:
            first = self._facts.cards[0].uuid
            return [p for p in points if p.card == first], [p for p in points if p.card == chosen]
        return None

    def _show(self) -> None:
        sides = self._sides()
        self.differences = () if sides is None else paired(*sides, self._spreads)
        shown = telling(self.differences, sides[0]) if sides is not None else []
        self.bars.show_groups(pair_groups(shown, self._theme))
        self.bars.setMinimumHeight(self.bars.sizeHint().height() if shown else 0)
        told = headline(self.differences)
        self.headline.setText(told)
        self.headline.setVisible(bool(told))
        self.said.setText(self._summary(asked=sides is not None))

    def _summary(self, *, asked: bool) -> str:
        if not asked:
            if self._path is not None:
                return _("reading the session…")
            if self.chooser.count() > 1:
                return _("Choose a session above; what both measured is compared.")
            return _("There is no other benchmark session to compare with yet.")
        if not self.differences:
            return _("The two have no figure in common.")
        count = len(self.differences)
        kinds = [each.verdict for each in self.differences]
        words = ngettext("{count} figure in common", "{count} figures in common", count).format(count=count)
        better, worse = kinds.count(Verdict.BETTER), kinds.count(Verdict.WORSE)
        told = [words, _("▲ {count} better").format(count=better), _("▼ {count} worse").format(count=worse)]
        voids = dict.fromkeys(void_words(each) for each in self.differences if each.void)
        if voids:
            told.append(_("{count} void ({why})").format(count=kinds.count(Verdict.VOID), why=", ".join(voids)))
        if self._other is not None and self._other.started is not None and self._facts.started is not None:
            torches = (_torch(self._other), _torch(self._facts))
            names = [unlike_words(each.name) for each in unlike(self._other.started, self._facts.started, torches)]
            if names:
                told.append(_("differs besides: {what}").format(what=", ".join(names)))
        return " · ".join(told)


def _torch(facts: RunFacts) -> TorchFingerprint | None:
    return facts.torch.torch if facts.torch is not None else None


def unlike_words(name: str) -> str:
    """Something of the machines that differs."""
    match name:
        case "card":
            return _("card")
        case "origin":
            return _("measured or simulated")
        case "torch" | "cuda" | "cudnn":
            return name
        case _:
            return sentences.reading_name(name)
