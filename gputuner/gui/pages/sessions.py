# pyright: standard
"""The page Sessions: what was kept, newest first; open, replay, export, delete."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.others import Others
from gputuner.gui.ports import SessionEntry, SessionSummary
from gputuner.gui.run_state import RunFacts
from gputuner.gui.session_content import SessionContent
from gputuner.gui.session_words import (
    card_words,
    experiment_words,
    outcome_mark,
    outcome_words,
    started_briefly,
    started_words,
)
from gputuner.gui.theme import Theme
from gputuner.gui.try_desk import Tries
from gputuner.gui.widgets.labels import Elided, card, label
from gputuner.gui.widgets.notice import Notice
from gputuner.gui.widgets.save import ask_where
from gputuner.gui.widgets.tables import Cell, Column, Table
from gputuner.language import numbers, sentences
from gputuner.language.words import _, ngettext
from gputuner.model.cards import Origin

if TYPE_CHECKING:
    from gputuner.gui.pages.session_detail import SessionDetail


LIST_WIDTH, LIST_USUAL, LIST_NARROW = 424, 384, 330
"""Width of the list in pixels, by that of the page: what a session holds gets the rest."""
USUAL = 1150
"""From this width of the page on (pixels) cards have room for their names in the list."""
LENGTH = 3
"""The column that a narrow list is without; it is told on hover."""
WIDE = 1240
"""From this width of the page on (pixels) the title has room beside the buttons."""


class SessionsPage(QWidget):
    """List left, the chosen session right."""

    refresh_wanted = Signal()
    """List the sessions anew."""
    open_wanted = Signal(object)
    """Read this session (path)."""
    replay_wanted = Signal(object)
    """Play this session back in Monitor (path)."""
    delete_wanted = Signal(object)
    """Delete this session for good (path); the user has confirmed it."""
    export_wanted = Signal(object, str, object)
    """Write this session (path) in a form to a target (path)."""
    tune_wanted = Signal()
    """Go and tune."""
    bench_wanted = Signal()
    """Go and measure benchmarks."""
    try_wanted = Signal(str, str)
    """Try an advice: the session's run id, the advice's name."""
    stop_try_wanted = Signal()
    """End the try and keep what was measured."""
    trials_wanted = Signal(object)
    """Show the session (path) with the trials of a try."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self._theme = theme
        self._others = others
        self._tries: Callable[[RunFacts], Tries] = lambda _facts: Tries()
        self._entries: dict[str, SessionEntry] = {}
        self._listed = False
        self.detail: SessionDetail | None = None
        self.current: Path | None = None
        self.table = Table(
            theme,
            [
                Column(_("When"), 11, firm=True),
                Column(_("What"), 13),
                Column(_("Card"), 0),
                Column(_("Length"), 7, right=True),
            ],
            _("stored sessions"),
            row_height=26,
        )
        self.table.on_current(self._choose)
        self.notice = Notice()
        self.notice.acted.connect(self.tune_wanted)
        self.notice.acted_otherwise.connect(self.bench_wanted)
        self._build()
        self.say("")

    def _build(self) -> None:
        self._title = Elided("", "title")
        self._about = Elided()
        self.buttons = {
            "replay": self._button(_("Replay"), _("Play it back in Monitor"), self._replay, "Ctrl+Shift+R"),
            "csv": self._button(_("CSV…"), _("Export as CSV"), lambda: self._export("csv"), "Ctrl+E"),
            "json": self._button(_("JSON…"), _("Export as JSON"), lambda: self._export("json"), "Ctrl+Shift+E"),
            "delete": self._button(_("Delete…"), _("Delete it for good"), self.ask_delete, "Ctrl+Shift+Delete"),
        }
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._title)
        words.addWidget(self._about)
        self._head_row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head_row.setSpacing(6)
        self._head_row.addLayout(words, 1)
        row = QHBoxLayout()
        row.setSpacing(6)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addStretch(0)
        self._head_row.addLayout(row)
        self._head = card()
        head = QVBoxLayout(self._head)
        head.setContentsMargins(16, 8, 12, 8)
        head.setSpacing(6)
        head.addLayout(self._head_row)
        head.addWidget(self._confirmation())
        self._said = label("", "muted", wrap=True)
        head.addWidget(self._said)
        self._list = list_frame = card()
        inside = QVBoxLayout(list_frame)
        inside.setContentsMargins(4, 4, 4, 4)
        inside.addWidget(self.table)
        self._right = QVBoxLayout()
        self._right.setSpacing(8)
        self._right.addWidget(self.notice)
        self._right.addWidget(self._head)
        self._filler = QWidget()
        self._filler.setProperty("role", "clear")
        self._right.addWidget(self._filler, 1)
        self._right.addStretch(0)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 12)
        layout.setSpacing(8)
        layout.addWidget(list_frame)
        layout.addLayout(self._right, 1)
        self._show_head()

    def _button(self, words: str, hint: str, act: Callable[[], object], keys: str) -> QPushButton:
        button = QPushButton(words)
        button.setProperty("segment", True)
        button.setToolTip(f"{hint} ({keys})")
        button.clicked.connect(lambda _checked=False: act())
        return button

    def _confirmation(self) -> QWidget:
        self.confirm = QWidget()
        self.confirm.setProperty("role", "clear")
        row = QHBoxLayout(self.confirm)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(label(_("Delete this session for good? Its figures cannot be measured again."), "danger"), 1)
        self.confirm_yes = QPushButton(_("Delete"))
        self.confirm_yes.clicked.connect(self._delete)
        self.confirm_no = QPushButton(_("Keep"))
        self.confirm_no.clicked.connect(lambda _checked=False: self.confirm.hide())
        row.addWidget(self.confirm_no)
        row.addWidget(self.confirm_yes)
        self.confirm.hide()
        return self.confirm

    def showEvent(self, event: QShowEvent) -> None:
        """List the sessions, and load the pictures once."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self.load_plots)
        self.refresh_wanted.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Buttons beside the title, or below it where both would be cut; a narrow page has a narrow list."""
        super().resizeEvent(event)
        direction, wide = QBoxLayout.Direction, self.width() >= WIDE
        self._head_row.setDirection(direction.LeftToRight if wide else direction.TopToBottom)
        self._list.setFixedWidth(LIST_WIDTH if wide else LIST_USUAL if self.width() >= USUAL else LIST_NARROW)
        self.table.setColumnHidden(LENGTH, not wide)

    def load_plots(self) -> None:
        """Load the drawing library and put the pictures in (once)."""
        if self.detail is None:
            from gputuner.gui.pages.session_detail import SessionDetail

            self.detail = SessionDetail(self._theme, self._others)
            self.detail.use_tries(self._tries)
            self.detail.advice.try_wanted.connect(self.try_wanted)
            self.detail.advice.stop_wanted.connect(self.stop_try_wanted)
            self.detail.advice.trials_wanted.connect(self.trials_wanted)
            self._right.replaceWidget(self._filler, self.detail)
            self._right.setStretch(2, 1)
            self._filler.deleteLater()
            self.detail.setVisible(False)
            if self.current is not None:
                self.open_wanted.emit(self.current)

    def use_tries(self, tries: Callable[[RunFacts], Tries]) -> None:
        """``tries``: how the advice of a session stands."""
        self._tries = tries

    def show_tries(self) -> None:
        """Show anew how the advice of the opened session stands."""
        if self.detail is not None:
            self.detail.show_tries()

    def show_entries(self, entries: Sequence[SessionEntry]) -> None:
        """Show the list; what was chosen stays chosen."""
        self._listed = True
        chosen = self.current
        self._entries = {str(entry.path): entry for entry in entries}
        rows = [(str(entry.path), _row(entry)) for entry in entries]
        self.table.selectionModel().blockSignals(True)
        self.table.rows.show_rows(rows)
        self.table.selectionModel().blockSignals(False)
        keys = self.table.rows.keys
        if chosen is not None and str(chosen) not in keys:
            chosen = self.current = _same_file(chosen, entries)
        if chosen is not None and str(chosen) in keys:
            self.table.selectRow(keys.index(str(chosen)))
        else:
            self.current = None
            if self.detail is not None:
                self.detail.setVisible(False)
            if keys:
                self.table.selectRow(0)
        self._show_head()

    def select(self, path: Path) -> None:
        """Choose a session, also one that is listed only later."""
        keys = self.table.rows.keys
        if str(path) in keys:
            self.table.selectRow(keys.index(str(path)))
            self._choose(str(path))
            return
        self.current = path
        if self.detail is not None:
            self.open_wanted.emit(path)

    def show_content(self, path: Path, content: SessionContent) -> None:
        """Show what a session holds."""
        if self.detail is not None and path == self.current:
            self.detail.show_content(content)
            self.detail.setVisible(True)

    def say(self, words: str) -> None:
        """A line about what was just done or failed."""
        self._said.setText(words)
        self._said.setVisible(bool(words))

    @property
    def said(self) -> str:
        """That line."""
        return self._said.text()

    def ask_delete(self) -> None:
        """Ask in place whether to delete."""
        if self.buttons["delete"].isEnabled():
            self.confirm.show()
            self.confirm_no.setFocus()

    @property
    def origin(self) -> Origin:
        """Where the chosen session's numbers come from."""
        entry = self._entries.get(str(self.current))
        return entry.summary.origin if entry and entry.summary else Origin.MEASURED

    def replay(self) -> None:
        """Play the chosen session back."""
        if self.buttons["replay"].isEnabled():
            self._replay()

    def export(self, form: str) -> None:
        """Ask where to and export the chosen session."""
        if self.buttons[form].isEnabled():
            self._export(form)

    def _choose(self, key: str) -> None:
        path = Path(key)
        changed = path != self.current
        self.current = path
        if changed:
            self.say("")
            self.confirm.hide()
        self._show_head()
        entry = self._entries.get(key)
        if entry is not None and entry.summary is not None:
            if changed or self.detail is None or self.detail.isHidden():
                self.open_wanted.emit(path)
        elif self.detail is not None:
            self.detail.setVisible(False)

    def _show_head(self) -> None:
        entry = self._entries.get(str(self.current))
        if self._listed and not self._entries:
            self.notice.say(
                _("No session kept yet"),
                _("Tune, Training, Benchmarks and Record in Monitor each keep what they measured as a session."),
                _("Go to Tune"),
                _("Go to Benchmarks"),
            )
        elif entry is not None and entry.error is not None:
            self.notice.say(_("This session cannot be read"), sentences.error(entry.error))
        else:
            self.notice.say("")
        summary = entry.summary if entry else None
        self._head.setVisible(entry is not None)
        for name, button in self.buttons.items():
            button.setEnabled(summary is not None and not (name == "delete" and summary.running))
        if entry is not None and summary is None:
            self.buttons["delete"].setEnabled(True)
        if entry is not None:
            self._title.show_text(_session_title(summary) if summary else entry.path.name)
            self._about.show_text(_entry_about(entry), str(entry.path))

    def _replay(self) -> None:
        if self.current is not None:
            self.replay_wanted.emit(self.current)

    def _export(self, form: str) -> None:
        path = self.current
        if path is not None:
            ask_where(
                self,
                _("Export"),
                f"{path.stem}.{form}",
                [f"{form.upper()} (*.{form})"],
                lambda target: self.export_wanted.emit(path, form, target),
            )

    def _delete(self) -> None:
        self.confirm.hide()
        if self.current is not None:
            self.delete_wanted.emit(self.current)


def _same_file(path: Path, entries: Sequence[SessionEntry]) -> Path | None:
    """The listed path of a file that was named in another way; None: it is not listed."""
    real = path.resolve()
    return next((entry.path for entry in entries if entry.path.resolve() == real), None)


def _row(entry: SessionEntry) -> list[Cell]:
    summary = entry.summary
    outside = " · " + _("outside the data folder") if entry.outside else ""
    if summary is None:
        why = sentences.error(entry.error) if entry.error else ""
        name = Cell(entry.path.name + outside, why, True)
        return [Cell(numbers.MISSING, why, True), Cell("", why), name, Cell("", why)]
    mark = "" if summary.origin is Origin.MEASURED else "▨ "
    length = _("runs now") if summary.running else numbers.clock(summary.duration_s)
    hint = "\n".join([_entry_about(entry), length, *([str(entry.path)] if entry.outside else [])])
    ended = " ".join(part for part in (outcome_mark(summary), length) if part)
    return [
        Cell(started_briefly(summary), hint),
        Cell(experiment_words(summary.experiment), hint),
        Cell(mark + card_words(card.title for card in summary.cards) + outside, hint),
        Cell(ended, hint, True),
    ]


def _session_title(summary: SessionSummary) -> str:
    return f"{experiment_words(summary.experiment)} · {card_words(card.title for card in summary.cards)}"


def _entry_about(entry: SessionEntry) -> str:
    parts = [_session_about(entry.summary)] if entry.summary else []
    return " · ".join([*parts, _("outside the data folder")] if entry.outside else parts)


def _session_about(summary: SessionSummary) -> str:
    parts = [
        started_words(summary),
        " ".join(part for part in (outcome_mark(summary), outcome_words(summary)) if part),
        ngettext("{count} figure", "{count} figures", summary.point_count).format(count=summary.point_count),
        numbers.value(float(summary.size_bytes), "bytes"),
    ]
    if summary.origin is not Origin.MEASURED:
        parts.insert(0, f"▨ {sentences.origin(summary.origin)}")
    return " · ".join(parts)
