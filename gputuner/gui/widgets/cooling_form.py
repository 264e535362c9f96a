# pyright: standard
"""The form of a thermal test: what heats the card, the room, the kind of cooler, the time."""

from collections.abc import Sequence
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFocusEvent

from gputuner.experiments.cooling import COOLERS, LEAST_MINUTES, PRODUCT, ROOM_C
from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.mix_builder import COMMAND, JobRow
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.language import cooling as words
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError

TRAINING = "training"
USUAL_ROOM_C = 22.0
"""Where the room's temperature starts once it is told."""


class CoolingForm(SpecForm):
    """The load on top, then a control for each field."""

    def __init__(self, theme: Theme, spec_type: type[object], trainings: Sequence[str]) -> None:
        super().__init__(theme, spec_type, _words)
        self.load = ChoiceBox()
        self.load.shrink()
        self.load.setAccessibleName(_("load"))
        self.load.setToolTip(
            _("One kind of load per test. Dense matrix products heat a card most; a training tells how hot it gets.")
        )
        self.load.addItem(_("matrix products, the hottest"), PRODUCT)
        self.load.addItem(_("a training"), TRAINING)
        self.job = JobRow(theme, trainings)
        self.job.training.removeItem(self.job.training.findData(COMMAND))
        self.job.remove.hide()
        self.room = RoomBox()
        top = (label(_("Load"), "muted"), self.load, self.job)
        for place, widget in enumerate(top):
            self.column.insertWidget(place, widget)
        self.column.insertSpacing(len(top), 6)
        self.column.insertWidget(len(top) + 1, label(_("Room temperature"), "muted"))
        self.column.insertWidget(len(top) + 2, self.room)
        self.column.insertSpacing(len(top) + 3, 6)
        self.load.currentIndexChanged.connect(lambda _index: self._load_chosen())
        self.job.changed.connect(self.changed)
        self.room.valueChanged.connect(lambda _value: self.changed.emit())
        self._fit()

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if not self.load_text:
            return UsageError("recipe_missing", "no recipe is named")
        return super().problem()

    @property
    def load_text(self) -> str:
        """The load as a command line takes it; "" where the user's own training is not named yet."""
        return PRODUCT if self.load.currentData() == PRODUCT else self.job.text

    def values(self) -> dict[str, object]:
        """The spec's fields."""
        return {**super().values(), "load": self.load_text, "room_c": self.room.room_c, "folder": str(Path.cwd())}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        text = values.get("load")
        if isinstance(text, str):
            self.load.setCurrentIndex(self.load.findData(PRODUCT if text == PRODUCT else TRAINING))
            if text != PRODUCT:
                self.job.show_text(text)
        if "room_c" in values:
            room = values["room_c"]
            self.room.tell(float(room) if isinstance(room, int | float) else None)
        super().set_values(values)
        self._fit()

    def _load_chosen(self) -> None:
        self._fit()
        self.changed.emit()

    def _fit(self) -> None:
        self.job.setVisible(self.load.currentData() == TRAINING)


class RoomBox(DecimalBox):
    """A temperature that need not be told: below the lowest one stands "not told"."""

    def __init__(self) -> None:
        super().__init__()
        low, high = ROOM_C
        self.setDecimals(1)
        self.setRange(low - 1.0, high)
        self.setSuffix(" °C")
        self.setSpecialValueText(_("not told"))
        self.setValue(self.minimum())
        self.setAccessibleName(_("room temperature"))
        self.setToolTip(_("Of the air in front of the card. With it the verdict tells a warm case from a poor cooler."))

    @property
    def room_c(self) -> float | None:
        """°C; None: not told."""
        return None if self.value() < ROOM_C[0] else self.value()

    def tell(self, room_c: float | None) -> None:
        """Show a temperature, or that it is not told."""
        self.setValue(self.minimum() if room_c is None else room_c)

    def stepBy(self, steps: int) -> None:
        """The first step from "not told" leads to a usual room, not to the coldest."""
        if self.room_c is None and steps > 0:
            self.setValue(USUAL_ROOM_C)
        else:
            super().stepBy(steps)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """What is typed replaces what stands there."""
        super().focusInEvent(event)
        QTimer.singleShot(0, self, self.selectAll)


def _words(entry: "Field[Any]") -> FieldWords:
    """The words for a field of the spec."""
    match entry.name:
        case "cooler":
            told = tuple((words.cooler(name), name) for name in COOLERS)
            return FieldWords(
                name=_("Kind of cooler"),
                why=_("With it the test says whether the cooler is as good as others of its kind."),
                choices=((_("not told"), ""), *told),
            )
        case "minutes":
            return replace(
                field_words(entry),
                why=_("At most. The test ends by itself once the steady temperature is known."),
                note=_("air coolers mostly need 10 to 18, water 20 to 25"),
                low=LEAST_MINUTES,
            )
        case _:
            return FieldWords(name="", hidden=True)
