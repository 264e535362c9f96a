# pyright: standard
"""The form of a health test: which test, how long, what it was sold as, where its certificate goes."""

from collections.abc import Mapping
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QCompleter, QFileDialog, QHBoxLayout, QPushButton, QWidget

from gputuner.experiments.health_stages import BURN_IN_MINUTES, SIMULATED_BURN_IN_MINUTES, USUAL_MINUTES
from gputuner.experiments.minutes import LEAST
from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox
from gputuner.gui.widgets.labels import Elided, label
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError

MOST_MINUTES = 24 * 60.0


class HealthForm(SpecForm):
    """The test on top, its time, then what the seller said."""

    def __init__(self, theme: Theme, spec_type: type[object], sold_names: Mapping[str, str]) -> None:
        super().__init__(theme, spec_type, _words)
        self._simulated = False
        self.certificate: Path | None = None
        """Folder for the certificate; None: none is written."""
        self.test = ChoiceBox()
        self.test.shrink()
        self.test.setAccessibleName(_("test"))
        self.test.addItem(_("usual: memory, products, memory hot"), False)
        self.test.addItem(_("two-hour burn-in of a card just bought"), True)
        self.test.setToolTip(
            _("The burn-in has load and rest by turns besides, and tests the memory ten times longer.")
        )
        self.sold = SoldBox(sold_names)
        self.column.insertWidget(0, label(_("Test"), "muted"))
        self.column.insertWidget(1, self.test)
        self.column.insertSpacing(2, 6)
        self.column.addWidget(label(_("Sold as"), "muted"))
        self.column.addWidget(self.sold)
        self.column.addSpacing(6)
        self.column.addWidget(label(_("Certificate"), "muted"))
        self.column.addWidget(self._folder_row())
        self.column.addSpacing(6)
        self.test.currentIndexChanged.connect(lambda _index: self._test_chosen())
        self.sold.currentTextChanged.connect(lambda _text: self.changed.emit())

    def _folder_row(self) -> QWidget:
        row = QWidget()
        row.setProperty("role", "clear")
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        self._folder = Elided(_("not written by itself"))
        self.choose = QPushButton(_("Folder…"))
        self.choose.setProperty("small", True)
        self.choose.setToolTip(
            _("A page and a JSON document are written there when the test ends; they can be saved later too.")
        )
        self.choose.clicked.connect(self._ask_folder)
        layout.addWidget(self._folder, 1)
        layout.addWidget(self.choose)
        return row

    @property
    def burn_in(self) -> bool:
        """Whether the two-hour protocol is chosen."""
        return bool(self.test.currentData())

    def show_simulated(self, simulated: bool) -> None:
        """A model of a card has no fault that shows seldom: its burn-in is short."""
        if simulated != self._simulated:
            self._simulated = simulated
            if self.burn_in:
                self._test_chosen()

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if self.sold.card_id is None:
            return UsageError("sold_as_unlisted", "no such card", card=self.sold.currentText())
        return super().problem()

    def values(self) -> dict[str, object]:
        """The spec's fields."""
        return {**super().values(), "burn_in": self.burn_in, "sold_as": self.sold.card_id or ""}

    def kept(self) -> dict[str, object]:
        """As ``values``, with the folder of the certificate."""
        return {**self.values(), "certificate": self.certificate}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        if "burn_in" in values:
            self.test.setCurrentIndex(self.test.findData(bool(values["burn_in"])))
        if "sold_as" in values:
            self.sold.choose(str(values["sold_as"]))
        if "certificate" in values:
            folder = values["certificate"]
            self.show_folder(folder if isinstance(folder, Path) else None)
        super().set_values(values)

    def show_folder(self, folder: Path | None) -> None:
        """Write certificates into this folder; None: none."""
        self.certificate = folder
        self._folder.show_text(_("not written by itself") if folder is None else str(folder))

    def _ask_folder(self) -> None:
        dialog = QFileDialog(self, _("Folder for the certificate"), str(self.certificate or Path.home()))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setModal(False)
        dialog.fileSelected.connect(lambda text: self.show_folder(Path(text)))
        dialog.show()

    def _test_chosen(self) -> None:
        long = SIMULATED_BURN_IN_MINUTES if self._simulated else BURN_IN_MINUTES
        minutes = self.controls["minutes"]
        assert isinstance(minutes, DecimalBox)
        minutes.setValue(long if self.burn_in else USUAL_MINUTES)
        self.changed.emit()


class SoldBox(ChoiceBox):
    """A card of the catalogue, found by typing a part of its name; empty: what the driver's name says."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.shrink()
        self.setAccessibleName(_("sold as"))
        self.setToolTip(_("What the seller called it. Type a part of its name; empty: what the driver's name says."))
        self.addItem("", "")
        for card_id, name in names.items():
            self.addItem(name, card_id)
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        line = self.lineEdit()
        if line is not None:
            line.setPlaceholderText(_("what the driver says"))
        completer = QCompleter(list(names.values()), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.setCompleter(completer)
        self.setMaxVisibleItems(14)

    @property
    def card_id(self) -> str | None:
        """Id of the chosen card; "": none; None: what is typed is no card of the catalogue."""
        text = self.currentText().strip()
        if not text:
            return ""
        number = self.findText(text, Qt.MatchFlag.MatchFixedString)
        if number < 0:
            number = self.findData(text)
        return None if number < 0 else str(self.itemData(number))

    def choose(self, card_id: str) -> None:
        """Choose a card by its id; an unknown one stands as it is, so that it is told."""
        number = self.findData(card_id)
        if number >= 0:
            self.setCurrentIndex(number)
        else:
            self.setEditText(card_id)


def _words(entry: "Field[Any]") -> FieldWords:
    """The words for a field of the spec."""
    if entry.name != "minutes":
        return FieldWords(name="", hidden=True)
    return replace(
        field_words(entry),
        why=_("Longer tests find faults that show seldom. All stages take their share of it."),
        note="",
        low=LEAST,
        high=MOST_MINUTES,
    )
