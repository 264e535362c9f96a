# pyright: standard
"""The form of a question about a training: which training, what the question needs to know, and how much time."""

from collections.abc import Sequence
from dataclasses import Field, fields, replace
from functools import partial
from typing import Any

from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox

from gputuner.experiments.numerics_check import LEAST_DRAWS
from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.gui.widgets.training_source import TrainingSource
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError
from gputuner.workloads.specs import PRECISIONS
from gputuner.workloads.specs_numerics import MOST_DRAWS, MOST_STEPS

OF_SOURCE = ("workload", "recipe", "folder", "images")
"""Fields that ``TrainingSource`` asks for."""
HURRIED_MINUTES = 2.0
"""Usual time where only what fits is asked."""


class TrainingForm(SpecForm):
    """The training, then a control for each other field of the spec."""

    def __init__(self, theme: Theme, spec_type: type[object], trainings: Sequence[str]) -> None:
        super().__init__(theme, spec_type, partial(_words, getattr(spec_type, "name", "")))
        self._known = {entry.name for entry in fields(spec_type)}  # type: ignore[arg-type]
        self.source = TrainingSource(theme, trainings, images="images" in self._known)
        self.column.insertWidget(0, self.source)
        self.column.insertSpacing(1, 6)
        self.source.changed.connect(self.changed)
        minutes = self.controls["minutes"]
        assert isinstance(minutes, QDoubleSpinBox)
        self._minutes, self._usual = minutes, minutes.value()
        only = self.controls.get("limit_only")
        if isinstance(only, QCheckBox):
            only.toggled.connect(self._hurry)

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if self.source.own and not self.source.values()["recipe"]:
            return UsageError("recipe_missing", "no recipe is named")
        return super().problem()

    def values(self) -> dict[str, object]:
        """The spec's fields."""
        named = {name: value for name, value in self.source.values().items() if name in self._known}
        return {**named, **super().values()}

    def kept(self) -> dict[str, object]:
        """The values, and what was typed although it is not meant now."""
        return {**self.values(), **self.source.kept()}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        self.source.set_values(values)
        super().set_values(values)
        if "minutes" in values:
            super().set_values({"minutes": values["minutes"]})  # whatever the tick before it did to the time

    def _hurry(self, hurried: bool) -> None:
        """The usual time of what is asked, unless the user has set another."""
        before, after = (self._usual, HURRIED_MINUTES) if hurried else (HURRIED_MINUTES, self._usual)
        if self._minutes.value() == before:
            self._minutes.setValue(after)


def _words(question: str, entry: "Field[Any]") -> FieldWords:
    """The words for a field of a question's spec (``question``: the experiment's name)."""
    formats = tuple((precision.upper(), precision) for precision in PRECISIONS)
    match entry.name:
        case "precision" if question == "loading":
            return FieldWords(
                name=_("Number format"),
                why=_("The training eats as fast as it runs in this format."),
                choices=((_("the card's usual one"), ""), *formats),
            )
        case "precision":
            return FieldWords(
                name=_("Number format"),
                why=_("One format, or all that the card computes compared at the batch where they are fast."),
                choices=((_("all that the card computes"), ""), *formats),
            )
        case "limit_only":
            return FieldWords(name=_("Only what fits"), why=_("Limit and safe batch, without rates: for the hurried."))
        case "minutes":
            return replace(field_words(entry), note="")
        case "batch":
            return FieldWords(
                name=_("Batch size"),
                why=_("Samples per step at which all is measured; by itself it takes one that fits in every setting."),
                low=0,
                high=1 << 20,
                lowest=_("found by itself"),
            )
        case "steps":
            return FieldWords(
                name=_("Optimizer steps"),
                why=_("Of each run; more of them tell more, and take longer."),
                low=0,
                high=MOST_STEPS,
                rare=True,
                lowest=_("as time allows"),
            )
        case "seeds":
            return FieldWords(
                name=_("FP32 runs"),
                why=_("Runs with different seeds: the band that they span is what a format is judged by."),
                low=LEAST_DRAWS,
                high=MOST_DRAWS,
                rare=True,
            )
        case "compile":
            return FieldWords(
                name=_("Try torch.compile"), why=_("It takes most of the time: every setting is compiled anew.")
            )
        case name if name in OF_SOURCE:
            return FieldWords(name="", hidden=True)
        case _:
            return field_words(entry)
