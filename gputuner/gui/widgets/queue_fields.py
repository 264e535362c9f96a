# pyright: standard
"""The fields of a new job of the queue: what it needs, when it may start, how long it may run."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QVBoxLayout, QWidget

from gputuner.analysis.job_entry import indices, job_ids, seconds
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import ShortCheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox, WholeBox
from gputuner.gui.widgets.fold import Fold
from gputuner.gui.widgets.labels import label
from gputuner.language.filling import fill
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo
from gputuner.model.errors import UsageError
from gputuner.model.jobs import Needs, NeedSource, OnReboot, Request

GIB = 2**30
_Read = TypeVar("_Read")
_PROBLEMS: dict[str, str] = {
    "queue_ids": N_("{field}: {value} names no jobs; write their numbers as 3, 3,5 or 3-7."),
    "queue_array": N_("{field}: {value} names no indices; write them as 1-10 or 0,2,4-6."),
    "queue_array_most": N_("{field}: {value} names more than {most} indices; add it as several arrays."),
    "queue_time": N_("{field} cannot be {value}; write a time as 90 (seconds), 30m, 2h or 1d, up to a year."),
}
"""What cannot be read in a field, by code."""
_PIECES = re.compile(r"[\s,]+")
_NUMBERS = ("memory", "cards", "minutes", "priority", "retries")
_WORDS = ("after", "array", "timeout", "start_within", "name", "workload")
_TICKS = ("alone", "share")
OFTEN = 4
"""So many of the fields are needed often; the others stand in a fold."""


class FieldProblem(Exception):
    """What is typed in a field cannot be read; the text says in which, and how to write it."""


class QueueFields(QWidget):
    """Two columns of boxes; each says on hover why it matters, and what is not told is learned or has no limit."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self.memory, self.minutes = _decimal(16_384.0, 1, "GiB"), _decimal(527_040.0, 0, _("min"))
        self.cards, self.priority, self.retries = _whole(1, 64), _whole(-1000, 1000), _whole(0, 100)
        self.priority.setValue(0)
        self.after, self.array, self.timeout, self.start_within = (QLineEdit() for _field in range(4))
        self.name, self.workload = QLineEdit(), QLineEdit()
        self.reboot = ChoiceBox()
        self.reboot.shrink()
        for words, policy in ((_("stays ended"), OnReboot.STOP), (_("runs again"), OnReboot.RERUN)):
            self.reboot.addItem(words, policy)
        self.like = ChoiceBox()
        self.like.shrink()
        self.like.addItem(_("no session"), "")
        self.alone = ShortCheckBox(theme, _("No other job beside it"))
        self.share = ShortCheckBox(theme, _("Beside unmeasured jobs too"))
        self.only: dict[str, ShortCheckBox] = {}
        """A box for each card, by UUID: where any is ticked, the job starts on no other."""
        self._ticked: tuple[str, ...] = ()
        self._only_words = label(_("Only on these cards"), "muted")
        self._only_boxes = QVBoxLayout()
        self._only_boxes.setSpacing(2)
        self._kept_like = ""
        self.more = Fold()
        self._rare: list[QWidget] = []
        self._lay_out()
        self.like.currentIndexChanged.connect(lambda _index: self._fit_memory())
        self.memory.valueChanged.connect(lambda _value: self._fit_memory())
        self.alone.toggled.connect(lambda on: self.share.setChecked(self.share.isChecked() and not on))
        self.share.toggled.connect(lambda on: self.alone.setChecked(self.alone.isChecked() and not on))

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        grid, rare = _two_columns(), _two_columns()
        self.memory.setSpecialValueText(_("learned"))
        self.minutes.setSpecialValueText(_("not known"))
        self.retries.setSpecialValueText(_("never"))
        placeholders = (
            (self.after, "3, 5-7"),
            (self.array, "1-10"),
            (self.timeout, _("no limit")),
            (self.start_within, _("no limit")),
            (self.workload, _("its script's")),
        )
        for edit, text in placeholders:
            edit.setPlaceholderText(text)
        for number, (words, control, why) in enumerate(self._rows()):
            control.setToolTip(why)
            control.setAccessibleName(words)
            control.setMinimumWidth(1)
            row, column = 2 * (number // 2), number % 2
            place = grid if number < OFTEN else rare
            place.addWidget(label(words, "muted"), row, column)
            place.addWidget(control, row + 1, column)
            if number >= OFTEN:
                self._rare.append(control)
        self.like.setToolTip(_("It needs the memory that this session measured."))
        self.like.setAccessibleName(_("Memory as in session"))
        rare.addWidget(label(_("Memory as in session"), "muted"), rare.rowCount(), 0, 1, 2)
        rare.addWidget(self.like, rare.rowCount(), 0, 1, 2)
        self._rare.append(self.like)
        self.more.column.addLayout(rare)
        layout.addLayout(grid)
        self._only_words.setToolTip(_("None ticked: any card may take it."))
        layout.addWidget(self._only_words)
        layout.addLayout(self._only_boxes)
        self._only_words.hide()
        layout.addSpacing(4)
        self.alone.setToolTip(_("It has its cards to itself while it runs."))
        self.share.setToolTip(
            _("Without it two jobs share a card only where their slowdown beside each other was measured.")
        )
        layout.addWidget(self.alone)
        layout.addWidget(self.share)
        layout.addWidget(self.more)
        for control in self._rare:
            if isinstance(control, QLineEdit):
                control.textChanged.connect(lambda _text: self._tell_more())
            elif isinstance(control, QComboBox):
                control.currentIndexChanged.connect(lambda _index: self._tell_more())
            elif isinstance(control, WholeBox):
                control.valueChanged.connect(lambda _value: self._tell_more())

    def _tell_more(self) -> None:
        """The fold says how much in it is not as usual."""
        self.more.tell_set(sum(map(_is_told, self._rare)))

    def _rows(self) -> tuple[tuple[str, QWidget, str], ...]:
        """Name, box and reason of each field, row by row."""
        return (
            (
                _("Memory per card"),
                self.memory,
                _("By itself from earlier runs or watched sessions; not known: a card of its own."),
            ),
            (_("Cards"), self.cards, _("How many cards it computes on.")),
            (_("Expected time"), self.minutes, _("How long it will run, as far as you know.")),
            (_("Priority"), self.priority, _("Higher numbers start first.")),
            (_("After jobs"), self.after, _("Start once this job is done: 3, 3,5 or 3-7.")),
            (_("Try again"), self.retries, _("How often it is started again after it failed.")),
            (_("Time limit"), self.timeout, _("End it after so long: 90 (seconds), 30m, 2h, 1d.")),
            (_("Start within"), self.start_within, _("Give it up if it has not started within so long.")),
            (
                _("Array of indices"),
                self.array,
                _(
                    "One job for each index, balanced over the cards; {index} in the command and GPUTUNER_ARRAY_INDEX "
                    "in its environment tell which."
                ),
            ),
            (_("After a reboot"), self.reboot, _("What becomes of it when the machine went down while it ran.")),
            (_("Name"), self.name, _("What the list calls it.")),
            (
                _("Measured as"),
                self.workload,
                _("The name under which `contend` measured it, for what stands beside it; by default its script's."),
            ),
        )

    def offer_cards(self, cards: Sequence[CardInfo]) -> None:
        """A box for each card, where there are several to choose from; ticks stay."""
        offered = cards if len(cards) > 1 else ()
        if [card.uuid for card in offered] == list(self.only):
            return
        ticked = {*self.pinned, *self._ticked}
        self._ticked = ()
        for box in self.only.values():
            self._only_boxes.removeWidget(box)
            box.deleteLater()
        self.only = {card.uuid: ShortCheckBox(self._theme, f"{card.index} · {card.title}") for card in offered}
        for uuid, box in self.only.items():
            box.setToolTip(_("None ticked: any card may take it."))
            box.setChecked(uuid in ticked)
            self._only_boxes.addWidget(box)
        self._only_words.setVisible(bool(self.only))

    def offer_sessions(self, sessions: Sequence[tuple[str, str]]) -> None:
        """Stored sessions (id and words) whose memory the job may be like; the choice stays."""
        if [self.like.itemData(place) for place in range(1, self.like.count())] == [name for name, _words in sessions]:
            return
        chosen = self.like_session or self._kept_like
        self.like.blockSignals(True)
        while self.like.count() > 1:
            self.like.removeItem(1)
        for name, words in sessions:
            self.like.addItem(words, name)
        self.like.setCurrentIndex(max(0, self.like.findData(chosen)))
        self.like.blockSignals(False)
        self._fit_memory()

    @property
    def like_session(self) -> str:
        """Id of the session whose memory it needs; "": none is named."""
        return str(self.like.currentData() or "")

    def _fit_memory(self) -> None:
        """Its memory is typed, or that of a session; not both."""
        self.memory.setEnabled(not self.like_session)
        self.like.setEnabled(bool(self.like_session) or not self.memory.value())

    @property
    def pinned(self) -> tuple[str, ...]:
        """UUIDs of the ticked cards."""
        return tuple(uuid for uuid, box in self.only.items() if box.isChecked())

    def request(self, command: tuple[str, ...], folder: str) -> Request:
        """A job of ``command`` with what is typed.

        Raises:
            FieldProblem: something typed cannot be read.
        """
        memory = 0.0 if self.like_session else self.memory.value()
        return Request(
            command=command,
            folder=folder,
            needs=Needs(
                memory_bytes=round(memory * GIB) if memory else None,
                cards=self.cards.value(),
                minutes=self.minutes.value() or None,
                source=NeedSource.GIVEN if memory else NeedSource.UNKNOWN,
                alone=self.alone.isChecked(),
                share=self.share.isChecked(),
                pinned=self.pinned,
                label=self.workload.text().strip(),
            ),
            name=self.name.text().strip(),
            priority=self.priority.value(),
            after=_read(self.after, lambda text: job_ids(_PIECES.split(text))) or (),
            retries=self.retries.value(),
            timeout_s=_read(self.timeout, lambda text: seconds("--timeout", text)),
            start_within_s=_read(self.start_within, lambda text: seconds("--start-within", text)),
            on_reboot=OnReboot(self.reboot.currentData()),  # Qt keeps the text alone
            array=_read(self.array, indices) or (),
        )

    @property
    def kept(self) -> dict[str, object]:
        """What is told, for fields that are built anew."""
        numbers = {name: getattr(self, name).value() for name in _NUMBERS}
        ticks = {name: getattr(self, name).isChecked() for name in _TICKS}
        words = {name: getattr(self, name).text() for name in _WORDS}
        kept = {"reboot": self.reboot.currentIndex(), "only": self.pinned, "like": self.like_session}
        return {**numbers, **ticks, **words, **kept}

    def keep(self, kept: dict[str, object]) -> None:
        """Put that in again."""
        for name in _NUMBERS:
            getattr(self, name).setValue(kept[name])
        for name in _TICKS:
            getattr(self, name).setChecked(kept[name])
        for name in _WORDS:
            getattr(self, name).setText(kept[name])
        self.reboot.setCurrentIndex(int(str(kept["reboot"])))
        self._kept_like = str(kept["like"])
        only = kept["only"]
        self._ticked = tuple(map(str, only)) if isinstance(only, tuple) else ()


def _two_columns() -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    for column in (0, 1):
        grid.setColumnStretch(column, 1)
    return grid


def _is_told(control: QWidget) -> bool:
    """Whether the user said something with a control; each begins with nothing."""
    match control:
        case QLineEdit():
            return bool(control.text().strip())
        case QComboBox():
            return control.currentIndex() > 0
        case WholeBox():
            return control.value() > 0
        case _:
            return False


def _read(edit: QLineEdit, parse: Callable[[str], _Read]) -> _Read | None:
    """What is typed, as ``parse`` reads it; None: nothing."""
    text = edit.text().strip(" ,")
    if not text:
        return None
    try:
        return parse(text)
    except UsageError as err:
        if err.code not in _PROBLEMS:
            raise
        raise FieldProblem(fill(_PROBLEMS[err.code], {**err.params, "field": edit.accessibleName()})) from err


def _decimal(most: float, decimals: int, unit: str) -> DecimalBox:
    box = DecimalBox()
    box.setRange(0.0, most)
    box.setDecimals(decimals)
    box.setSuffix(f" {unit}")
    return box


def _whole(low: int, high: int) -> WholeBox:
    box = WholeBox()
    box.setRange(low, high)
    return box
