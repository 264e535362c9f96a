# pyright: standard
"""The bar on top of an experiment: what it does now, how far it is, Start or Stop."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout

from gputuner.gui.fonts import tabular
from gputuner.gui.icons import glyph_icon
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.bar import Bar
from gputuner.gui.widgets.labels import Elided, label
from gputuner.language.words import _

ABOUT = 0.36
"""Part of the bar's width that what the run is of may have."""


class RunBar(QFrame):
    """Title, words, progress, one button."""

    start_wanted = Signal()
    """The user pressed Start."""
    stop_wanted = Signal()
    """The user pressed Stop."""
    open_wanted = Signal()
    """The user wants to see the stored session."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._theme = theme
        self._running = False
        self._said = ""
        self._about = Elided()
        self._about.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._step = Elided("", "small")
        self._left = label("", "muted")
        tabular(self._left)
        self._bar = Bar(theme, theme.accent)
        self._remarks = Elided()
        self._remarks.hide()
        self.button = QPushButton()
        self.button.setIconSize(QSize(12, 12))
        self.button.setMinimumWidth(96)
        self.button.clicked.connect(self._pressed)
        self.open_button = QPushButton(_("Open in Sessions"))
        self.open_button.clicked.connect(self.open_wanted)
        self.open_button.hide()
        words = QHBoxLayout()
        words.setSpacing(8)
        words.addWidget(self._step, 1)
        words.addWidget(self._left)
        middle = QVBoxLayout()
        middle.setSpacing(4)
        middle.addLayout(words)
        middle.addWidget(self._bar)
        middle.addWidget(self._remarks)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 8, 12, 8)
        layout.setSpacing(12)
        layout.addWidget(label(title, "title"))
        layout.addWidget(self._about)
        layout.addLayout(middle, 1)
        layout.addWidget(self.open_button)
        layout.addWidget(self.button)
        self.show_idle("", "", enabled=True)

    @property
    def about_text(self) -> str:
        """What it says the run is of."""
        return self._about.whole

    @property
    def step_text(self) -> str:
        """What it says the run does."""
        return self._step.whole

    @property
    def left_text(self) -> str:
        """What it says of the time left."""
        return self._left.text()

    @property
    def remarks(self) -> str:
        """All remarks on the run, a line each."""
        return self._said

    def show_remarks(self, texts: Sequence[str]) -> None:
        """Say quietly what a reader must know of the run: in one line, all of it on hover."""
        self._said = "\n".join(texts)
        self._remarks.show_text(" · ".join(texts), self._said)
        self._remarks.setVisible(bool(texts))

    @property
    def progress(self) -> float | None:
        """The progress shown, 0–1."""
        return self._bar.fraction

    def show_idle(self, about: str, words: str, enabled: bool, done: float = 0.0, why: str = "") -> None:
        """Nothing runs; ``why``: what keeps a run from starting."""
        self._running = False
        self._tell_about(about)
        self._step.show_text(words)
        self._left.setText("")
        self._bar.show_fraction(done)
        self.button.setText(_("Start"))
        self.button.setProperty("primary", True)
        self.button.setIcon(glyph_icon("play", self._theme.on_accent if enabled else self._theme.muted))
        self.button.setToolTip(why or _("Start (Ctrl+Return)"))
        self.button.setEnabled(enabled)
        self._repolish()

    def show_running(self, about: str, words: str, left: str, done: float, stopping: bool) -> None:
        """A run is under way, ``done`` 0–1."""
        self._running = True
        self._tell_about(about)
        self._step.show_text(words)
        self._left.setText(left)
        self._bar.show_fraction(done)
        self.button.setText(_("Stopping…") if stopping else _("Stop"))
        self.button.setProperty("primary", False)
        self.button.setIcon(glyph_icon("stop", self._theme.text))
        self.button.setToolTip(_("Stop and keep what was measured (Ctrl+.)"))
        self.button.setEnabled(not stopping)
        self._repolish()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What the run is of is told whole while it leaves room for the rest."""
        super().resizeEvent(event)
        self._tell_about(self._about.whole)

    def _tell_about(self, about: str) -> None:
        self._about.show_text(about)
        wanted = self._about.fontMetrics().horizontalAdvance(about) + 2
        self._about.setFixedWidth(min(wanted, int(ABOUT * self.width())))

    def _repolish(self) -> None:
        self.button.style().unpolish(self.button)
        self.button.style().polish(self.button)

    def _pressed(self) -> None:
        if self._running:
            self.stop_wanted.emit()
        else:
            self.start_wanted.emit()
