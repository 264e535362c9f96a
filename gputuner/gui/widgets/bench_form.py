# pyright: standard
"""The form of the page Benchmarks: which suite, which of its benchmarks, and how much time."""

from collections.abc import Sequence

from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.experiments.bench import MINUTES_MOST
from gputuner.gui.ports import BenchmarkEntry
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.bench_chooser import BenchChooser
from gputuner.gui.widgets.entry_boxes import DecimalBox
from gputuner.gui.widgets.labels import Elided, label
from gputuner.gui.widgets.spec_form import Form
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError


class BenchForm(Form):
    """Default or full suite, ticks, minutes."""

    def __init__(self, theme: Theme, spec_type: type[object]) -> None:
        super().__init__(spec_type)
        self.chooser = BenchChooser(theme)
        self.suites: dict[bool, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(4)
        group = QButtonGroup(self)
        for full, words, why in (
            (False, _("Default"), _("What matters for training, within twelve minutes on a large card.")),
            (True, _("Full"), _("Every benchmark with every size and setting; it takes as long as it takes.")),
        ):
            button = QPushButton(words)
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.setToolTip(why)
            button.clicked.connect(lambda _checked=False, full=full: self._choose_suite(full))
            group.addButton(button)
            row.addWidget(button, 1)
            self.suites[full] = button
        self.suites[False].setChecked(True)
        self._count = Elided()
        self.minutes = DecimalBox()
        self.minutes.setDecimals(1)
        self.minutes.setRange(0.0, MINUTES_MOST)
        self.minutes.setSpecialValueText(_("as long as it takes"))
        self.minutes.setSuffix(" " + _("min"))
        self.minutes.setAccessibleName(_("Time at most"))
        self.minutes.setToolTip(_("With less time each benchmark is shortened, and the last ones are left out."))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(label(_("Suite"), "muted"))
        layout.addLayout(row)
        layout.addSpacing(4)
        layout.addWidget(self._count)
        layout.addWidget(self.chooser, 1)
        layout.addSpacing(4)
        layout.addWidget(label(_("Time at most"), "muted"))
        layout.addWidget(self.minutes)
        layout.addSpacing(4)
        self.chooser.changed.connect(self._ticked)
        self.minutes.valueChanged.connect(lambda _value: self.changed.emit())

    @property
    def full(self) -> bool:
        """Whether every size and setting is wanted."""
        return self.suites[True].isChecked()

    @property
    def count_text(self) -> str:
        """What it says of what is ticked."""
        return self._count.whole

    def show_entries(self, entries: Sequence[BenchmarkEntry]) -> None:
        """Show the suite as it stands on another card; the ticks stay, the first time those of the default suite."""
        known = bool(self.chooser.entries)
        whole = self.chooser.chosen == self.chooser.suite(self.full)
        chosen = self.chooser.chosen
        self.chooser.show_entries(entries)
        wanted = chosen if known and not whole else self.chooser.suite(self.full)
        self.chooser.tick(wanted, full=self.full)
        self._say_count()
        self._order_stops()

    def _order_stops(self) -> None:
        """The tabulator goes from the suite down its list to the time: the list is made anew after both."""
        before: QWidget = self.suites[True]
        for stop in (*self.chooser.stops, self.minutes):
            QWidget.setTabOrder(before, stop)
            before = stop

    def problem(self) -> GputunerError | None:
        """Why the values make no spec, or None."""
        if not self.chooser.chosen:
            return UsageError("no_benchmark_chosen", "no benchmark is chosen")
        return super().problem()

    def values(self) -> dict[str, object]:
        """The spec's fields; no names where the whole suite is meant."""
        chosen = self.chooser.chosen
        whole = chosen == self.chooser.suite(self.full)
        names = () if whole else tuple(name for name in self.chooser.entries if name in chosen)
        return {"names": names, "full": self.full, "minutes": self.minutes.value() or None}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of fields that exist)."""
        if "full" in values:
            self.suites[bool(values["full"])].setChecked(True)
        if "minutes" in values:
            minutes = values["minutes"]
            self.minutes.setValue(float(minutes) if isinstance(minutes, (int, float)) else 0.0)
        names = values.get("names")
        if isinstance(names, tuple):
            self.chooser.tick(names or self.chooser.suite(self.full), full=self.full)
        self._say_count()

    def _choose_suite(self, full: bool) -> None:
        self.chooser.tick(self.chooser.suite(full), full=full)
        self._ticked()

    def _ticked(self) -> None:
        self._say_count()
        self.changed.emit()

    def _say_count(self) -> None:
        words = _("{count} of {total} benchmarks").format(
            count=len(self.chooser.chosen), total=len(self.chooser.entries)
        )
        self._count.show_text(words if self.chooser.entries else "")
