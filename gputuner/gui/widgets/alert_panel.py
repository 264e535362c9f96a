# pyright: standard
"""Bell's panel over the window's right side: what is raised, the form of the alerts, hook and notifications."""

import shlex
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from gputuner.gui.alert_desk import AlertDesk
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.alert_rows import AlertRows
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.labels import label, rule
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.errors import GputunerError

WIDTH = 568
TOP, EDGE = 62, 12


class AlertPanel(QFrame):
    """Opens and closes without taking anything from what runs; Escape closes it."""

    def __init__(self, theme: Theme, desk: AlertDesk, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setFixedWidth(WIDTH)
        self._theme, self._desk = theme, desk
        self._said = ""
        self.raised = label("", wrap=True)
        self.told = label("", "muted", wrap=True)
        self.rows = AlertRows(theme)
        self.rows.changed.connect(lambda rules: desk.save(replace(desk.plan, rules=rules)))
        self.usual = QPushButton(_("Take the usual alerts"))
        self.usual.setProperty("primary", True)
        self.usual.clicked.connect(lambda _checked=False: desk.take_usual())
        self.notify = CheckBox(theme, _("Tell the desktop when an alert is raised"))
        self.notify.clicked.connect(lambda on: desk.save(replace(desk.plan, notify=bool(on))))
        self.notify_runs = CheckBox(theme, _("Tell the desktop when a long run ends and this window is not in front"))
        self.notify_runs.setToolTip(
            _("Of runs of more than three minutes, in this window; not of those that you stop.")
        )
        self.notify_runs.clicked.connect(lambda on: desk.save(replace(desk.plan, notify_runs=bool(on))))
        self.hook = QLineEdit()
        self.hook.setPlaceholderText(_("Command that alerts run: a program and its arguments"))
        self.hook.setAccessibleName(_("Command of alerts"))
        self.hook.setToolTip(
            _("It runs as you, without a shell, with the alert as JSON on stdin and in variables GPUTUNER_*.")
        )
        self.hook.editingFinished.connect(self._hook_written)
        self.trial = QPushButton(_("Test"))
        self.trial.setToolTip(_("Run the command and tell the desktop once, marked as a test (Ctrl+Alt+A)"))
        self.trial.clicked.connect(lambda _checked=False: desk.try_out())
        self._lay_out()
        parent.installEventFilter(self)
        self.hide()
        self.refresh()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(label(_("Alerts"), "heading"), 1)
        shut = QPushButton("✕")
        shut.setProperty("quiet", True)
        shut.setAccessibleName(_("Close"))
        shut.clicked.connect(lambda _checked=False: self.hide())
        head.addWidget(shut)
        scroll = QScrollArea()
        scroll.setProperty("role", "clear")
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self.rows)
        self._scroll = scroll
        below = QHBoxLayout()
        below.setSpacing(8)
        below.addWidget(self.hook, 1)
        below.addWidget(self.trial)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 12, 12)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self.raised)
        layout.addWidget(rule())
        layout.addWidget(self.usual)
        layout.addWidget(scroll, 1)
        layout.addWidget(self.notify)
        layout.addWidget(self.notify_runs)
        layout.addLayout(below)
        layout.addWidget(self.told)

    def toggle(self) -> None:
        """Show it, or hide it."""
        if self.isVisible():
            self.hide()
            return
        self.refresh()
        self._place()
        self.show()
        self.raise_()
        self.setFocus()

    def say(self, words: str) -> None:
        """Say what came of a test, or went wrong with the command."""
        self._said = words
        self._tell()

    def refresh(self) -> None:
        """Show the desk as it stands; what is being written is left alone."""
        plan = self._desk.plan
        self.raised.setText("\n".join(self._desk.lines) or _("No alert is raised"))
        self.usual.setVisible(not plan.rules)
        self._scroll.setVisible(bool(plan.rules))
        self.rows.show_rules(plan.rules)
        self.notify.setChecked(plan.notify)
        self.notify_runs.setChecked(plan.notify_runs)
        if not self.hook.hasFocus():
            self.hook.setText(shlex.join(plan.hook))
        for widget in (self.usual, self.rows, self.notify, self.notify_runs, self.hook, self.trial):
            widget.setEnabled(self._desk.acting)
        self._tell()
        if not self.isHidden():
            self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
            return
        super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the place when the window changes its size."""
        if event.type() == QEvent.Type.Resize and not self.isHidden():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        parent = self.parentWidget()
        if parent is not None:
            most = max(320, min(620, parent.height() - TOP - EDGE))
            self.setFixedHeight(most if self._desk.plan.rules else min(most, self._layout_height()))
            self.move(parent.width() - self.width() - EDGE, TOP)

    def _layout_height(self) -> int:
        """What the panel needs where no rule is listed."""
        layout = self.layout()
        if layout is None:
            return self.sizeHint().height()
        layout.activate()
        return max(layout.totalSizeHint().height(), layout.totalHeightForWidth(self.width()))

    def _hook_written(self) -> None:
        try:
            words = tuple(shlex.split(self.hook.text()))
        except ValueError:
            self.say(sentences.error("watch_line"))
            return
        if words != self._desk.plan.hook:
            self._desk.save(replace(self._desk.plan, hook=words))

    def _tell(self) -> None:
        error = self._desk.error
        if not self._desk.acting:
            text = _("A replay is not watched by alerts.")
        elif error is not None:
            text = sentences.error(error) if isinstance(error, GputunerError) else str(error)
        elif not self._desk.plan.rules:
            text = self._said or _("Nothing is watched until you ask for it; a sleeping card is never woken.")
        else:
            text = self._said
        self.told.setText(text)
        self.told.setVisible(bool(text))
