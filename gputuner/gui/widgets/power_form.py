# pyright: standard
"""The form of a power sweep: the training, what may be set, what may be lost, and what a kWh costs."""

from collections.abc import Sequence
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from gputuner.experiments.power import LEAST_MINUTES, LOAD, MOST_LOSS, MOST_MINUTES
from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.mix_builder import COMMAND, JobRow
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError

NOTHING, LIMIT, CLOCKS, NULL = "nothing", "limit", "clocks", "null"
"""What may be set."""
MOST_WATTS = 5000.0


class PowerForm(SpecForm):
    """The training on top, then what may be set; nothing is set as long as the user does not say so."""

    def __init__(self, theme: Theme, spec_type: type[object], trainings: Sequence[str]) -> None:
        super().__init__(theme, spec_type, _words)
        self.job = JobRow(theme, trainings)
        self.job.training.removeItem(self.job.training.findData(COMMAND))
        self.job.remove.hide()
        self.job.show_text(LOAD)
        self.sets = ChoiceBox()
        self.sets.shrink()
        self.sets.setAccessibleName(_("what may be set"))
        self.sets.setToolTip(
            _("A sweep sets the card's power limit or clock to several values and puts back what it found.")
            + "\n"
            + _("Change nothing, visit the same setting again and again: how often is a difference seen?")
        )
        for name, choice in (
            (_("nothing: only look"), NOTHING),
            (_("the power limit, put back"), LIMIT),
            (_("the highest clock, put back"), CLOCKS),
            (_("nothing: equal visits, as a check"), NULL),
        ):
            self.sets.addItem(name, choice)
        self.up_to = _optional(10.0, 0, _("the limit that stands"))
        self.up_to.setRange(0.0, MOST_WATTS)
        self.up_to.setSuffix(" W")
        self.up_to.setAccessibleName(_("highest limit"))
        self.up_to.setToolTip(_("Also limits above the one that stands, up to this; not above what the card takes."))
        self.up_to_words = label(_("Highest limit"), "muted")
        self.price, self.hours = _optional(0.01, 3, _("not told")), _optional(100.0, 0, _("not told"))
        self.price.setRange(0.0, 1e5)
        self.hours.setRange(0.0, 8784.0)
        self.price.setAccessibleName(_("price of a kWh"))
        self.price.setToolTip(_("In any currency; of the card alone."))
        self.hours.setAccessibleName(_("hours a year"))
        top = (
            label(_("Load"), "muted"),
            self.job,
            label(_("May be set"), "muted"),
            self.sets,
            self.up_to_words,
            self.up_to,
        )
        for place, widget in enumerate(top):
            self.column.insertWidget(place, widget)
        self.column.insertSpacing(len(top), 6)
        for name, box in ((_("Price of a kWh"), self.price), (_("Hours a year at work"), self.hours)):
            self.put_rare(box, name)
            box.valueChanged.connect(lambda _value: self.changed.emit())
        self.job.changed.connect(self.changed)
        self.up_to.valueChanged.connect(lambda _value: self.changed.emit())
        self.sets.currentIndexChanged.connect(lambda _index: self._show_choice())
        self._show_choice()

    @property
    def sets_something(self) -> bool:
        """Whether settings of the card are to be changed."""
        return self.sets.currentData() in {LIMIT, CLOCKS}

    @property
    def up_to_w(self) -> float | None:
        """Highest limit that may be set, W; None: the one that stands."""
        return (self.up_to.value() or None) if self.sets.currentData() == LIMIT else None

    def _show_choice(self) -> None:
        """A highest limit is asked for only where limits are set."""
        for widget in (self.up_to_words, self.up_to):
            widget.setVisible(self.sets.currentData() == LIMIT)
        self.changed.emit()

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if not self.job.text:
            return UsageError("recipe_missing", "no recipe is named")
        return super().problem()

    def values(self) -> dict[str, object]:
        """The spec's fields."""
        return {
            **super().values(),
            "load": self.job.text,
            "passive": self.sets.currentData() == NOTHING,
            "clocks": self.sets.currentData() == CLOCKS,
            "null": self.sets.currentData() == NULL,
            "up_to_w": self.up_to_w,
            "price": self.price.value() or None,
            "hours": self.hours.value() or None,
            "folder": str(Path.cwd()),
        }

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        if isinstance(values.get("load"), str):
            self.job.show_text(str(values["load"]))
        if "passive" in values:
            clocks, null = values.get("clocks"), values.get("null")
            choice = NULL if null else NOTHING if values["passive"] else CLOCKS if clocks else LIMIT
            self.sets.setCurrentIndex(self.sets.findData(choice))
        for name, box in (("price", self.price), ("hours", self.hours), ("up_to_w", self.up_to)):
            if name in values:
                told = values[name]
                box.setValue(float(told) if isinstance(told, int | float) else 0.0)
        super().set_values(values)


def _optional(step: float, decimals: int, untold: str) -> DecimalBox:
    """A number that need not be told: 0 stands for that, in the words ``untold``."""
    box = DecimalBox()
    box.setDecimals(decimals)
    box.setSingleStep(step)
    box.setSpecialValueText(untold)
    return box


def _words(entry: "Field[Any]") -> FieldWords:
    """The words for a field of the spec."""
    match entry.name:
        case "loss":
            return FieldWords(
                name=_("Loss that is fine"),
                why=_("The lowest setting is looked for that costs no more of the best rate."),
                unit="%",
                low=0.1,
                high=MOST_LOSS,
                step=0.5,
            )
        case "rights":
            return FieldWords(
                name=_("Rights"),
                why=_("Setting needs root's rights: from the service, or asked for by pkexec with its own window."),
                choices=((_("what there is"), "auto"), (_("pkexec asks"), "pkexec")),
                rare=True,
            )
        case "minutes":
            return replace(field_words(entry), note="", low=LEAST_MINUTES, high=MOST_MINUTES)
        case _:
            return FieldWords(name="", hidden=True)
