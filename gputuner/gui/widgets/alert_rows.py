# pyright: standard
"""The rules of the alerts as a form: a tick, a threshold and how long it must hold, a row each."""

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import DecimalBox
from gputuner.gui.widgets.labels import label
from gputuner.language import alerts as words
from gputuner.language.words import _
from gputuner.model.alerts import HELD, HOLD_S, KINDS, AlertKind, AlertRule

SUFFIXES = {"degC": " °C", "s": " s"}
BOX_WIDTH = 104
SHOWN = "shown"
"""Property of a box: what it showed of the rule."""
OWN = "own"
"""Property of a box whose least value stands for the card's own limit."""


@dataclass(slots=True)
class _Row:
    rule: AlertRule
    tick: CheckBox
    threshold: DecimalBox | None
    hold: DecimalBox | None


class AlertRows(QWidget):
    """Says ``changed`` with all rules after each change of the user's."""

    changed = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self.rows: dict[str, _Row] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 8, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)

    def show_rules(self, rules: tuple[AlertRule, ...]) -> None:
        """Show these rules; boxes that the user writes in keep what stands there."""
        if [(rule.name, rule.kind) for rule in rules] != [(row.rule.name, row.rule.kind) for row in self.rows.values()]:
            self._build(rules)
        for rule in rules:
            row = self.rows[rule.name]
            row.rule = rule
            row.tick.setChecked(rule.on)
            for box, told in ((row.threshold, rule.threshold), (row.hold, rule.hold_s)):
                value = box.minimum() if told is None and box is not None and KINDS[rule.kind].own else told
                if box is not None and value is not None and not box.hasFocus():
                    box.blockSignals(True)
                    box.setValue(value)
                    box.setProperty(SHOWN, box.value())
                    box.blockSignals(False)
                if box is not None:
                    box.setEnabled(rule.on)

    def _build(self, rules: tuple[AlertRule, ...]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = {}
        for column, text in ((1, _("raised at")), (2, _("held for"))):
            self._grid.addWidget(label(text, "muted"), 0, column)
        for number, rule in enumerate(rules, start=1):
            self.rows[rule.name] = row = self._row(rule)
            for column, widget in enumerate((row.tick, row.threshold, row.hold)):
                if widget is not None:
                    self._grid.addWidget(widget, number, column)
        self._grid.setRowStretch(len(rules) + 1, 1)

    def _row(self, rule: AlertRule) -> _Row:
        info = KINDS[rule.kind]
        text = words.name(rule.kind)
        if rule.name != rule.kind.value:
            text = f"{text} · {rule.name}"
        tick = CheckBox(self._theme, text)
        tick.setToolTip(words.condition(rule))
        tick.clicked.connect(lambda _on: self._say())
        threshold = hold = None
        if info.low is not None and info.high is not None:
            suffix = " K" if rule.kind is AlertKind.MARGIN else SUFFIXES.get(info.unit, "")
            low = info.low - info.own
            threshold = self._box(low, info.high, suffix, _("Threshold: {name}").format(name=text))
            if info.own:
                threshold.setSpecialValueText(_("card's own"))
                threshold.setProperty(OWN, True)
        if rule.kind in HELD:
            hold = self._box(*HOLD_S, " s", _("Held for: {name}").format(name=text))
        return _Row(rule, tick, threshold, hold)

    def _box(self, low: float, high: float, suffix: str, name: str) -> DecimalBox:
        box = DecimalBox()
        box.setRange(low, high)
        box.setDecimals(0)
        box.setSuffix(suffix)
        box.setFixedWidth(BOX_WIDTH)
        box.setAccessibleName(name)
        box.setKeyboardTracking(False)
        box.valueChanged.connect(lambda _value: self._say())
        return box

    def _say(self) -> None:
        """Tell the rules as they stand in the boxes."""
        told: list[AlertRule] = []
        for row in self.rows.values():
            threshold = _written(row.threshold, row.rule.threshold)
            hold_s = _written(row.hold, row.rule.hold_s)
            told.append(replace(row.rule, on=row.tick.isChecked(), threshold=threshold, hold_s=hold_s or 0.0))
        self.changed.emit(tuple(told))


def _written(box: DecimalBox | None, before: float | None) -> float | None:
    """What stands in a box; ``before`` where it is only that in whole numbers, None where the card's own counts."""
    if box is not None and box.property(OWN) and box.value() == box.minimum():
        return None
    return before if box is None or box.value() == box.property(SHOWN) else box.value()
