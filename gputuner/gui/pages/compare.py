# pyright: standard
"""A stored session against an earlier one, figure by figure: the rows that ``sessions compare`` writes."""

from pathlib import Path

from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.analysis.likeness import Unlike, unlike
from gputuner.analysis.regression import Difference, compare, telling
from gputuner.gui.others import Others, Spreads
from gputuner.gui.ports import SessionEntry
from gputuner.gui.results_compare import comparison_cells, headline, session_choice
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import card, label
from gputuner.gui.widgets.tables import Column, Table, WholeRows
from gputuner.language import sentences
from gputuner.language.comparisons import comparison_markdown, counts_words, unlike_lines
from gputuner.language.words import _
from gputuner.model.errors import GputunerError
from gputuner.model.fingerprint import TorchFingerprint

LEAST_ROWS = 4
NARROW, NARROWEST = 640, 560
"""Below these widths in pixels the table has no column for the earlier value, and of the verdict only its sign
(hovering over a row tells both)."""
BEFORE, VERDICT = 1, 4
VERDICT_CHARACTERS, SIGN_CHARACTERS = 17, 2


class CompareView(QWidget):
    """A chooser of the earlier session, what came of the comparison in a sentence, the rows, and what differs."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._others = others
        self._facts = RunFacts()
        self._path: Path | None = None
        self._other: RunFacts | None = None
        self.differences: tuple[Difference, ...] = ()
        self._differs: tuple[Unlike, ...] = ()
        self.chooser = ChoiceBox()
        self.chooser.setAccessibleName(_("compare with"))
        self.chooser.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.copy_button = QPushButton(_("Copy"))
        self.copy_button.setProperty("small", True)
        self.copy_button.setToolTip(_("Copy the comparison as Markdown"))
        self.copy_button.clicked.connect(self.copy_markdown)
        self.headline = label("", "heading", wrap=True)
        self.said = label("", "muted", wrap=True)
        self.differs = label("", "muted", wrap=True)
        columns = [
            Column(_("Figure"), 0),
            Column(_("before"), 13, right=True),
            Column(_("after"), 13, right=True),
            Column(_("change (+ better)"), 21, right=True),
            Column(_("verdict"), VERDICT_CHARACTERS),
        ]
        self.table = Table(theme, columns, _("comparison"), row_height=22)
        self._build()
        self.chooser.activated.connect(self._choose)
        others.listed.connect(self._show_choices)
        others.opened.connect(self._opened)
        others.failed.connect(self._failed)
        self._show()

    def _build(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(label(_("Compare with"), "muted"))
        row.addWidget(self.chooser, 1)
        row.addWidget(self.copy_button)
        self._frame = card()
        inside = QVBoxLayout(self._frame)
        inside.setContentsMargins(4, 2, 4, 4)
        inside.addWidget(WholeRows(self.table, LEAST_ROWS), 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(row)
        layout.addWidget(self.headline)
        layout.addWidget(self.said)
        layout.addWidget(self._frame, 1)
        layout.addWidget(self.differs)
        layout.addStretch(0)

    def showEvent(self, event: QShowEvent) -> None:
        """See which sessions there are."""
        super().showEvent(event)
        self._others.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the earlier value, then the words of the verdict out of a narrow table: the figure's name stays."""
        super().resizeEvent(event)
        self.table.setColumnHidden(BEFORE, self.width() < NARROW)
        self.table.set_characters(VERDICT, SIGN_CHARACTERS if self._signs else VERDICT_CHARACTERS)
        self._show_rows()

    @property
    def _signs(self) -> bool:
        return self.width() < NARROWEST

    def _show_rows(self) -> None:
        self.table.rows.columns[VERDICT] = Column("" if self._signs else _("verdict"), 0)
        self.table.rows.show_rows(comparison_cells(telling(self.differences), signs=self._signs))

    def show_facts(self, facts: RunFacts) -> None:
        """Compare this session; another one starts without a counterpart."""
        before, now = self._facts.started, facts.started
        self._facts = facts
        if before is None or now is None or before.run_id != now.run_id:
            self._path = self._other = None
            self._show_choices()
        self._show()

    def copy_markdown(self) -> None:
        """Put the comparison on the clipboard as Markdown, as ``sessions compare --markdown`` writes it."""
        other, this = self._run(self._other), self._run(self._facts)
        text = comparison_markdown(self.differences, self._differs, other, this)
        QGuiApplication.clipboard().setText(text)

    def _earlier(self) -> list[SessionEntry]:
        """Sessions of the same experiment that began before this one."""
        started = self._facts.started
        if started is None:
            return []
        return [
            entry
            for entry in self._others.every
            if entry.summary is not None
            and entry.summary.experiment == started.experiment
            and entry.summary.run_id != started.run_id
            and entry.summary.started_unix_s <= started.unix_s
        ]

    def _show_choices(self) -> None:
        self.chooser.blockSignals(True)
        self.chooser.clear()
        self.chooser.addItem(_("choose…"), None)
        for entry in self._earlier():
            if entry.summary is not None:
                self.chooser.addItem(session_choice(entry.summary), entry.path)
        self.chooser.setCurrentIndex(max(0, self.chooser.findData(self._path)))
        self.chooser.blockSignals(False)
        self.chooser.setEnabled(self.chooser.count() > 1)
        self._show()

    def _choose(self) -> None:
        self._path, self._other = self.chooser.currentData(), None
        if self._path is not None:
            self._others.open(self._path, self._run(self._facts))
        self._show()

    def _opened(self, path: Path, facts: RunFacts, spreads: Spreads) -> None:
        if path != self._path:
            return
        self._other = facts
        self.differences = compare(facts.points, self._facts.points, spreads)
        started, other = self._facts.started, facts.started
        if started is not None and other is not None:
            self._differs = unlike(other, started, (_torch(facts), _torch(self._facts)))
        self._show()

    def _failed(self, path: Path, err: Exception) -> None:
        if path == self._path:
            self.said.setText(sentences.error(err) if isinstance(err, GputunerError) else str(err))
            self.said.show()

    @staticmethod
    def _run(facts: RunFacts | None) -> str:
        return facts.started.run_id if facts is not None and facts.started is not None else ""

    def _show(self) -> None:
        compared = self._other is not None
        if not compared:
            self.differences, self._differs = (), ()
        shown = telling(self.differences)
        self._show_rows()
        self._frame.setVisible(bool(shown))
        self.copy_button.setEnabled(bool(self.differences))
        self.headline.setText(headline(self.differences))
        self.headline.setVisible(bool(self.differences))
        self.said.setText(self._said(compared))
        self.said.setVisible(bool(self.said.text()))
        lines = unlike_lines(self._differs)
        self.differs.setText("\n".join([_("What differs"), *(f"• {line}" for line in lines)]) if lines else "")
        self.differs.setVisible(bool(lines))

    def _said(self, compared: bool) -> str:
        if compared and not self.differences:
            return _("The two sessions have no figure in common.")
        if compared:
            further = [each for each in self.differences if each not in telling(self.differences)]
            told = _("Further figures: {counts}; Copy takes all along.").format(counts=counts_words(further))
            return told if further else ""
        if self._path is not None:
            return _("reading the session…")
        if self.chooser.count() > 1:
            return _("Choose an earlier session above; what both measured is compared.")
        return _("There is no earlier session of this kind to compare with.")


def _torch(facts: RunFacts) -> TorchFingerprint | None:
    return facts.torch.torch if facts.torch is not None else None
