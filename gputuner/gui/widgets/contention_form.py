# pyright: standard
"""The form of the question what share a card: the jobs, how they share it, and what is to be found out."""

from collections.abc import Sequence
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QLabel

from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.mix_builder import MixBuilder
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError

LONG, LONG_MINUTES = ("causes", "matrix"), 10.0
"""Questions that take longer, and the time that they have as a rule."""
MODES = ("processes", "mps", "streams")


class ContentionForm(SpecForm):
    """The mix on top, the ways of sharing, then a control for each question."""

    def __init__(self, theme: Theme, spec_type: type[object], trainings: Sequence[str]) -> None:
        super().__init__(theme, spec_type, _words)
        self.mix = MixBuilder(theme, trainings)
        self.modes = {mode: CheckBox(theme, name) for mode, name in _mode_names().items()}
        hints = _mode_hints()
        self.column.insertWidget(0, self.mix)
        self.column.insertSpacing(1, 8)
        self.column.insertWidget(2, label(_("Ways of sharing"), "muted"))
        for place, (mode, box) in enumerate(self.modes.items(), start=3):
            box.setToolTip(hints[mode])
            box.setChecked(mode == MODES[0])
            box.toggled.connect(lambda _on: self._modes_changed())
            self.column.insertWidget(place, box)
        self.column.insertSpacing(3 + len(self.modes), 6)
        self.one_fault = CheckBox(theme, _("Commands under MPS too"))
        self.one_fault.setToolTip(
            _("Under MPS a fatal fault in one program ends every program on the card, your commands with it.")
        )
        self.one_fault.toggled.connect(lambda _on: self.changed.emit())
        self.column.insertWidget(3 + len(self.modes), self.one_fault)
        minutes = self.controls["minutes"]
        assert isinstance(minutes, QDoubleSpinBox)
        self._minutes, self._usual = minutes, minutes.value()
        for name in LONG:
            box = self.controls[name]
            assert isinstance(box, QCheckBox)
            box.toggled.connect(lambda _on: self._take_time())
        self.mix.changed.connect(self._mix_changed)
        self._fit()

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if not all(self.mix.texts):
            return UsageError("recipe_missing", "no recipe is named")
        if not all(self.mix.commands):
            return UsageError("watch_no_command", "no command was given")
        return super().problem()

    @property
    def chosen_modes(self) -> tuple[str, ...]:
        """The ways of sharing that are ticked; without any the usual one."""
        return tuple(mode for mode, box in self.modes.items() if box.isChecked()) or MODES[:1]

    def values(self) -> dict[str, object]:
        """The spec's fields."""
        told = super().values()
        if len(self.mix.rows) > 1:
            told["count"] = 0
        else:
            told["matrix"] = False
        commands = self.mix.commands
        if commands:
            told |= {"commands": commands, "mps_commands": "mps" in self.chosen_modes and self.one_fault.isChecked()}
        told["causes"] = bool(told["causes"] or told["matrix"])
        return {
            **told,
            "jobs": self.mix.texts,
            "modes": self.chosen_modes,
            "thread_percentages": self.mix.thread_percentages,
            "priorities": self.mix.priorities,
            "folder": str(Path.cwd()),
        }

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        jobs, modes = values.get("jobs"), values.get("modes")
        if isinstance(modes, tuple | list):
            for mode, box in self.modes.items():
                box.setChecked(mode in modes)
        if isinstance(jobs, tuple | list):
            commands = values.get("commands", ())
            self.mix.show_texts([str(job) for job in jobs], commands if isinstance(commands, tuple | list) else ())
        self.one_fault.setChecked(bool(values.get("mps_commands", self.one_fault.isChecked())))
        self.mix.show_shares(_numbers(values.get("thread_percentages")), _numbers(values.get("priorities")))
        super().set_values(values)
        if "minutes" in values:
            super().set_values({"minutes": values["minutes"]})  # whatever a tick before it did to the time
        self.mix.show_modes(self.chosen_modes)
        self._fit()

    def _mix_changed(self) -> None:
        self._fit()
        self.changed.emit()

    def _modes_changed(self) -> None:
        self._fit()
        self.mix.show_modes(self.chosen_modes)
        self.changed.emit()

    def _take_time(self) -> None:
        """Probes and pairs take longer, unless the user has set another time."""
        long = any(box.isChecked() for name in LONG if isinstance(box := self.controls[name], QCheckBox))
        before, after = (self._usual, LONG_MINUTES) if long else (LONG_MINUTES, self._usual)
        if self._minutes.value() == before:
            self._minutes.setValue(after)
        self._fit_causes(pairs=len(self.mix.rows) != 1)

    def _fit(self) -> None:
        """How many of it is a question to one job alone, a matrix one to several."""
        one = len(self.mix.rows) == 1
        self.one_fault.setVisible(bool(self.mix.commands) and self.modes["mps"].isChecked())
        for name, on in (("count", one), ("max_jobs", one), ("matrix", not one)):
            if name in self.controls:
                control = self.controls[name]
                control.setVisible(on)
                above = self.column.itemAt(self.column.indexOf(control) - 1)
                named = above.widget() if above is not None else None
                if isinstance(named, QLabel):
                    named.setVisible(on)
        self._fit_causes(pairs=not one)

    def _fit_causes(self, pairs: bool) -> None:
        """All pairs are always asked with their causes: that stays ticked and cannot be unticked."""
        matrix, causes = self.controls.get("matrix"), self.controls.get("causes")
        if isinstance(matrix, QCheckBox) and isinstance(causes, QCheckBox):
            forced = pairs and matrix.isChecked()
            if forced:
                causes.setChecked(True)
            causes.setEnabled(not forced)


def _numbers(values: object) -> list[int]:
    return [int(value) for value in values] if isinstance(values, tuple | list) else []


def _mode_names() -> dict[str, str]:
    return {"processes": _("Processes"), "mps": "MPS", "streams": _("Streams")}


def _mode_hints() -> dict[str, str]:
    return {
        "processes": _("A process for each job, as when they are started by hand: the card takes turns among them."),
        "mps": _(
            "NVIDIA's Multi-Process Service lets kernels of several processes run at the same moment. A daemon of our "
            "own is started for the run and ended after it."
        ),
        "streams": _("All jobs in one process, a CUDA stream with a priority for each."),
    }


def _words(entry: "Field[Any]") -> FieldWords:
    """The words for a field of the spec."""
    match entry.name:
        case "count":
            return FieldWords(
                name=_("How many at once"),
                why=_("By itself 1, 2, 3 … until one more gains nothing or memory ends it."),
                low=0,
                high=16,
                lowest=_("as many as pay"),
            )
        case "max_jobs":
            return FieldWords(
                name=_("At most"), why=_("No more jobs at once are tried."), unit=_("jobs"), low=2, high=16
            )
        case "causes":
            return FieldWords(
                name=_("Find the causes"),
                why=_("Probes press on one part of the card each while a job runs: what does it suffer from?"),
            )
        case "matrix":
            return FieldWords(
                name=_("All pairs"),
                why=_(
                    "Every job beside every other and beside itself: who goes well with whom? At most 10 minutes for 4."
                ),
            )
        case "null":
            return FieldWords(
                name=_("With an idle partner"),
                why=_("A check of the method itself: beside a job that does nothing no slowdown must come out."),
                rare=True,
            )
        case "fixed_batch":
            return FieldWords(
                name=_("The batch stays"),
                why=_(
                    "Sharing is compared with each job alone at its own best batch. Tick this where the batch must not "
                    "change: then with one after the other."
                ),
                rare=True,
            )
        case "minutes":
            return replace(field_words(entry), note="")
        case _:
            return FieldWords(name="", hidden=True)
