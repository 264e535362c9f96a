# pyright: standard
"""A form made from the fields of an experiment's spec (a frozen dataclass): words, unit, default, why on hover."""

import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gputuner.gui.field_words import FieldWords, field_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox, WholeBox
from gputuner.gui.widgets.fold import Fold
from gputuner.gui.widgets.labels import label
from gputuner.model.errors import GputunerError


class Form(QWidget):
    """What makes a spec: ``spec_type`` with the values of its controls."""

    changed = Signal()
    """The user changed a value."""

    def __init__(self, spec_type: type[object]) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._type = spec_type

    def spec(self) -> object:
        """The spec as set; the spec's own checks speak.

        Raises:
            GputunerError: the spec refuses the values.
        """
        return self._type(**self.values())

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        try:
            self.spec()
        except GputunerError as err:
            return err
        return None

    @property
    def sets_something(self) -> bool:
        """Whether what it asks for changes settings of the card."""
        return False

    def values(self) -> dict[str, object]:
        """The values by field name; a form without controls has none."""
        return {}

    def kept(self) -> dict[str, object]:
        """What ``set_values`` of a form that is built anew needs to look the same."""
        return self.values()

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""


class SpecForm(Form):
    """One control per field; those rarely needed stand in a fold at its end."""

    def __init__(
        self, theme: Theme, spec_type: type[object], words_of: "Callable[[Field[Any]], FieldWords]" = field_words
    ) -> None:
        super().__init__(spec_type)
        self._theme = theme
        self.controls: dict[str, QWidget] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2)
        self.more = Fold()
        self._rare: list[tuple[QWidget, object]] = []
        hints = typing.get_type_hints(spec_type)
        for entry in fields(spec_type):  # type: ignore[arg-type]
            words = words_of(entry)
            if words.hidden or not entry.init:
                continue
            control = self._control(entry, hints[entry.name], words)
            control.setToolTip(words.why)
            control.setAccessibleName(words.name)
            self.controls[entry.name] = control
            self._put(control, words.name, words.note, rare=words.rare)
        self.column.addWidget(self.more)
        self.changed.connect(self._tell_more)
        self._tell_more()

    def _put(self, control: QWidget, name: str, note: str = "", *, rare: bool) -> None:
        """Add a control with its name above and a note below, to the column or to the fold."""
        column = self.more.column if rare else self.column
        if not isinstance(control, QCheckBox):
            column.addWidget(label(name, "muted"))
        column.addWidget(control)
        if note:
            column.addWidget(label(note, "muted", wrap=True))
        column.addSpacing(6)
        if rare:
            self._rare.append((control, _value(control)))

    def put_rare(self, control: QWidget, name: str) -> None:
        """Add a control of its own to the fold, with what it says as its usual value."""
        self._put(control, name, rare=True)
        self._tell_more()

    def _tell_more(self) -> None:
        """The fold says how much in it is not as usual."""
        self.more.setVisible(bool(self._rare))
        self.more.tell_set(sum(_value(control) != usual for control, usual in self._rare))

    def values(self) -> dict[str, object]:
        """The values by field name."""
        return {name: _value(control) for name, control in self.controls.items()}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        for name, value in values.items():
            if name in self.controls:
                _set(self.controls[name], value)
        self._tell_more()

    def _control(self, entry: "Field[Any]", hint: object, words: FieldWords) -> QWidget:
        default = entry.default if entry.default is not MISSING else None
        choices = words.choices or _choices(hint)
        if choices:
            box = ChoiceBox()
            box.shrink()
            for name, choice in choices:
                box.addItem(name, choice)
            box.setCurrentIndex(max(0, box.findData(default)))
            box.currentIndexChanged.connect(lambda _index: self.changed.emit())
            return box
        if hint is bool:
            check = CheckBox(self._theme, words.name)
            check.setChecked(bool(default))
            check.toggled.connect(lambda _on: self.changed.emit())
            return check
        if hint is int:
            whole = WholeBox()
            whole.setRange(int(words.low), int(words.high))
            whole.setValue(int(default or 0))
            whole.setSuffix(f" {words.unit}" if words.unit else "")
            whole.setSpecialValueText(words.lowest)
            whole.setMinimumWidth(1)  # long words for the lowest value must not widen the form
            whole.valueChanged.connect(lambda _value: self.changed.emit())
            return whole
        if hint is float:
            real = DecimalBox()
            real.setDecimals(words.decimals)
            real.setRange(words.low, words.high)
            real.setSingleStep(words.step)
            real.setValue(float(default or 0.0))
            real.setSuffix(f" {words.unit}" if words.unit else "")
            real.valueChanged.connect(lambda _value: self.changed.emit())
            return real
        line = QLineEdit("" if default is None else str(default))
        line.textChanged.connect(lambda _text: self.changed.emit())
        return line


def _choices(hint: object) -> tuple[tuple[str, Any], ...]:
    """Words and values of a type that has a few."""
    if typing.get_origin(hint) is typing.Literal:
        return tuple((str(choice), choice) for choice in typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple((str(choice.value), choice) for choice in hint)
    return ()


def _value(control: QWidget) -> object:
    match control:
        case QCheckBox():
            return control.isChecked()
        case QComboBox():
            return control.currentData()
        case QSpinBox() | QDoubleSpinBox():
            return control.value()
        case QLineEdit():
            return control.text() or None
        case _:
            return None


def _set(control: QWidget, value: Any) -> None:
    match control:
        case QCheckBox():
            control.setChecked(bool(value))
        case QComboBox():
            control.setCurrentIndex(max(0, control.findData(value)))
        case QSpinBox():
            control.setValue(int(value))
        case QDoubleSpinBox():
            control.setValue(float(value))
        case QLineEdit():
            control.setText("" if value is None else str(value))
        case _:
            pass
