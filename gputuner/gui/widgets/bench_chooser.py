# pyright: standard
"""The suite as a list to tick: groups that fold open, how long each takes, and why what cannot run here cannot."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QToolButton, QVBoxLayout, QWidget

from gputuner.gui.bench_words import row_name
from gputuner.gui.fonts import tabular
from gputuner.gui.ports import BenchmarkEntry
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import ShortCheckBox
from gputuner.gui.widgets.fold import CLOSED, OPEN
from gputuner.gui.widgets.labels import Elided, label
from gputuner.language import benchmarks
from gputuner.language.numbers import clock

LEAST_HEIGHT = 150
"""Pixels: half a dozen groups."""


class BenchChooser(QScrollArea):
    """Check boxes by benchmark, under one for each group."""

    changed = Signal()
    """The user ticked something."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._full = False
        self.entries: dict[str, BenchmarkEntry] = {}
        self.boxes: dict[str, ShortCheckBox] = {}
        """By benchmark."""
        self.groups: dict[str, BenchGroup] = {}
        """By group."""
        self.setProperty("role", "clear")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(LEAST_HEIGHT)

    def sizeHint(self) -> QSize:
        """No higher than it must be: it scrolls, and takes the height that is left."""
        return QSize(200, LEAST_HEIGHT)

    @property
    def chosen(self) -> frozenset[str]:
        """The benchmarks that are ticked (those that cannot run never are)."""
        return frozenset(name for name, box in self.boxes.items() if box.isChecked())

    @property
    def available(self) -> frozenset[str]:
        """The benchmarks that can run here."""
        return frozenset(name for name, entry in self.entries.items() if entry.obstacle is None)

    def suite(self, full: bool) -> frozenset[str]:
        """What the default or the full suite has, of what can run here."""
        return frozenset(name for name in self.available if full or self.entries[name].in_default)

    def show_entries(self, entries: Sequence[BenchmarkEntry]) -> None:
        """Show another suite; nothing is ticked, open groups stay open."""
        opened = {name for name, group in self.groups.items() if group.unfolded}
        self.entries = {entry.name: entry for entry in entries}
        self.boxes, self.groups = {}, {}
        page = QWidget()
        page.setProperty("role", "clear")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 8, 0)
        layout.setSpacing(0)
        for name in dict.fromkeys(entry.group for entry in entries):
            group = BenchGroup(self._theme, name, [entry for entry in entries if entry.group == name])
            group.changed.connect(self.changed)
            group.unfold(name in opened)
            self.boxes |= group.boxes
            self.groups[name] = group
            layout.addWidget(group)
        layout.addStretch(1)
        self.setWidget(page)

    def tick(self, names: Iterable[str], *, full: bool) -> None:
        """Tick these and no others; times are those of the full suite or of the usual one."""
        wanted = set(names) & self.available
        for group in self.groups.values():
            group.tick(wanted, full=full)

    @property
    def stops(self) -> list[QWidget]:
        """What the tabulator stops at, from the top."""
        return [stop for group in self.groups.values() for stop in group.stops]


class BenchGroup(QWidget):
    """One group: its own box, and below it one for each benchmark."""

    changed = Signal()
    """The user ticked something in it."""

    def __init__(self, theme: Theme, name: str, entries: Sequence[BenchmarkEntry]) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._entries = list(entries)
        self.unfolded = False
        self.boxes: dict[str, ShortCheckBox] = {}
        self._times: dict[str, Elided] = {}
        self.box = ShortCheckBox(theme, benchmarks.group(name))
        self.box.setProperty("small", True)
        self.box.clicked.connect(self._all_or_none)
        self._fold = QToolButton()
        self._fold.setProperty("fold", True)
        self._fold.setFixedSize(18, 20)
        self._fold.setAccessibleName(benchmarks.group(name))
        self._fold.clicked.connect(lambda _checked=False: self.unfold(not self.unfolded))
        self._time = label("", "muted")
        tabular(self._time)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(2)
        head.addWidget(self._fold)
        head.addWidget(self.box, 1)
        head.addWidget(self._time)
        self._inside = QWidget()
        self._inside.setProperty("role", "clear")
        inside = QVBoxLayout(self._inside)
        inside.setContentsMargins(22, 0, 0, 4)
        inside.setSpacing(0)
        for entry in entries:
            inside.addLayout(self._row(theme, entry))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._inside)
        obstacles = [entry.obstacle for entry in entries if entry.obstacle is not None]
        reasons = dict.fromkeys(benchmarks.unavailable(each.code, each.params) for each in obstacles)
        possible = len(obstacles) < len(entries)
        self.box.setEnabled(possible)
        about = benchmarks.about(name, name)
        self.box.setToolTip(about if possible else "\n".join([about, *reasons]).strip())
        self.unfold(False)

    def _row(self, theme: Theme, entry: BenchmarkEntry) -> QVBoxLayout:
        box = ShortCheckBox(theme, row_name(entry.name, entry.group))
        box.setProperty("small", True)
        about = "\n".join((entry.name, benchmarks.about(entry.name, entry.group))).strip()
        box.setToolTip(about)
        box.toggled.connect(lambda _on: self._follow())
        box.clicked.connect(lambda _on: self.changed.emit())
        self.boxes[entry.name] = box
        rows = QVBoxLayout()
        rows.setSpacing(0)
        line = QHBoxLayout()
        line.addWidget(box, 1)
        rows.addLayout(line)
        if entry.obstacle is None:
            self._times[entry.name] = time = Elided()
            time.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            time.setFixedWidth(44)
            line.addWidget(time)
        else:
            why = benchmarks.unavailable(entry.obstacle.code, entry.obstacle.params)
            box.setEnabled(False)
            box.setToolTip(f"{about}\n{why}")
            reason = label(why, "muted", wrap=True)
            reason.setContentsMargins(24, 0, 0, 2)
            rows.addWidget(reason)
        return rows

    @property
    def stops(self) -> list[QWidget]:
        """What the tabulator stops at: fold, the group's own box, those of its benchmarks."""
        return [self._fold, self.box, *self.boxes.values()]

    def unfold(self, open_: bool) -> None:
        """Show or hide the benchmarks of the group."""
        self.unfolded = open_
        self._inside.setVisible(open_)
        self._fold.setText(OPEN if open_ else CLOSED)

    def tick(self, names: set[str], *, full: bool) -> None:
        """Tick these of its benchmarks and no others."""
        for entry in self._entries:
            box = self.boxes[entry.name]
            box.blockSignals(True)
            box.setChecked(entry.name in names)
            box.blockSignals(False)
            if entry.name in self._times:
                self._times[entry.name].show_text(clock(_seconds(entry, full)))
        self._full = full
        self._follow()

    _full = False

    def _follow(self) -> None:
        """The group's own box says all, some or none; its time is that of the ticked ones."""
        possible = [box for box in self.boxes.values() if box.isEnabled()]
        ticked = sum(box.isChecked() for box in possible)
        state = Qt.CheckState.PartiallyChecked
        if ticked in (0, len(possible)):
            state = Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
        self.box.setTristate(state is Qt.CheckState.PartiallyChecked)
        self.box.setCheckState(state)
        seconds = sum(_seconds(entry, self._full) for entry in self._entries if self.boxes[entry.name].isChecked())
        self._time.setText(clock(seconds) if ticked else "")

    def _all_or_none(self) -> None:
        possible = [box for box in self.boxes.values() if box.isEnabled()]
        every = all(box.isChecked() for box in possible)
        for box in possible:
            box.setChecked(not every)
        self._follow()
        self.changed.emit()


def _seconds(entry: BenchmarkEntry, full: bool) -> float:
    return entry.full_s if full else entry.default_s
