# pyright: standard
"""On an advice that a training can try: the button that tries it, how far that is, and what it gained against what
was predicted."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gputuner.advice.tried import tried_of
from gputuner.analysis.trying import Verdict
from gputuner.gui.try_desk import Tried, Tries
from gputuner.gui.widgets.labels import label, minus, repolish
from gputuner.language import tried as words
from gputuner.language.words import _
from gputuner.model.advice import Advice

GOOD = (Verdict.AS_PREDICTED, Verdict.MORE, Verdict.GAIN, Verdict.UP_TO, Verdict.SAVES)
BAD = (Verdict.LOSS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TryShown:
    """How one advice stands."""

    offered: bool = False
    """It can be tried, or was."""
    blocked: str = ""
    running: bool = False
    stopping: bool = False
    line: str = ""
    done: Tried | None = None
    failed: str = ""


def shown_of(advice: Advice, name: str, tries: Tries) -> TryShown:
    """What an advice's card shows of its tries; an advice that changes nothing a training could try shows nothing."""
    if not tries.session or advice.change is None or advice.card not in tries.cards:
        return TryShown()
    running = tries.running == name
    return TryShown(
        offered=True,
        blocked="" if running else tries.blocked,
        running=running,
        stopping=running and tries.stopping,
        line=tries.line if running else "",
        done=tries.done.get(name),
        failed=tries.failed.get(name, ""),
    )


class AdviceTry(QWidget):
    """What came of a try, or how far it is; the button that starts or stops it stands in the card's last line."""

    try_wanted = Signal()
    stop_wanted = Signal()
    trials_wanted = Signal(object)
    """Show the session (path) that holds the trials."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._shown: TryShown | None = None
        self.button = QPushButton(_("Try it"))
        self.button.setProperty("small", True)
        self.button.clicked.connect(self._clicked)
        self._gain = label("", "gain", wrap=True)
        self._predicted = label("", "small", wrap=True)
        self._verdict = label("", "small", wrap=True)
        self._more = label("", "muted", wrap=True)
        self._failed = label("", "danger", wrap=True)
        self.trials_button = QPushButton(_("Show the trials"))
        self.trials_button.setProperty("small", True)
        self.trials_button.clicked.connect(self._show_trials)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(self.trials_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(2)
        for each in self._labels:
            layout.addWidget(each)
        layout.addLayout(row)
        self.show_try(TryShown())

    @property
    def _labels(self) -> tuple[QLabel, ...]:
        return (self._gain, self._predicted, self._verdict, self._more, self._failed)

    @property
    def text(self) -> str:
        """All that is said, a line each."""
        return "\n".join(each.text() for each in self._labels if each.text())

    def show_try(self, shown: TryShown) -> None:
        """Show how the advice stands."""
        if shown == self._shown:
            return
        self._shown = shown
        self.button.setVisible(shown.offered)
        self._show_button(shown)
        self._fill(shown)
        for each in self._labels:
            each.setVisible(bool(each.text()))
        done = shown.done if not shown.running else None
        self.trials_button.setVisible(done is not None and done.path is not None)
        self.setVisible(shown.offered and bool(self.text))

    def _show_button(self, shown: TryShown) -> None:
        again = shown.done is not None
        self.button.setText(_("Stop") if shown.running else _("Try it again") if again else _("Try it"))
        self.button.setEnabled(not shown.stopping and not shown.blocked)
        hint = _(
            "Runs the training as before and as advised in turn, A B B A, for about 2 minutes, and tells what it "
            "gained. Nothing is changed in your code or on the card."
        )
        self.button.setToolTip(_("Stop and keep what was measured") if shown.running else shown.blocked or hint)

    def _fill(self, shown: TryShown) -> None:
        gain, predicted, verdict, more, role = "", "", "", "", "small"
        if shown.running:
            more = shown.line
        elif shown.done is not None:
            point = shown.done.point
            told = tried_of(point)
            gain = _("Tried: {gain}").format(gain=words.gain(told.found.gain))
            if told.predicted is not None:
                predicted = _("predicted: {gain}").format(gain=words.gain(told.predicted))
            verdict = words.verdict(told.verdict)
            role = "good" if told.verdict in GOOD else "danger" if told.verdict in BAD else "small"
            more = "\n".join(
                each for each in (minus(words.memory(point.extra.get("memory_change"))), *shown.done.remarks) if each
            )
        for each, text in zip(self._labels[:4], (gain, predicted, verdict, more), strict=True):
            each.setText(minus(text) if each in (self._gain, self._predicted) else text)
        self._failed.setText("" if shown.running else shown.failed)
        repolish(self._verdict, "role", role)
        repolish(self._gain, "role", "heading" if role != "good" else "gain")

    def _clicked(self) -> None:
        if self._shown is not None and self._shown.running:
            self.stop_wanted.emit()
        else:
            self.try_wanted.emit()

    def _show_trials(self) -> None:
        done = self._shown.done if self._shown is not None else None
        if done is not None and done.path is not None:
            self.trials_wanted.emit(done.path)
