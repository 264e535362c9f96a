# pyright: standard
"""The page Monitor: what the cards do now and did lately."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.elsewhere import Elsewhere
from gputuner.gui.icons import glyph_icon
from gputuner.gui.live import Live, LiveCard
from gputuner.gui.pages.monitor_numbers import MonitorHead, span_words
from gputuner.gui.standing import lines, standing
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.chips import Chips
from gputuner.gui.widgets.notice import Notice, NoticeLines
from gputuner.gui.widgets.process_table import ProcessTable
from gputuner.language import numbers, sentences
from gputuner.language.words import _, ngettext
from gputuner.model.cards import CardState
from gputuner.model.quantities import Tier
from gputuner.telemetry.feed import FeedState, FeedStatus

if TYPE_CHECKING:
    from gputuner.gui.pages.monitor_plots import MonitorPlots

SPANS_S = (60, 300, 1800, 7200, 43200)
"""Time spans to choose from, in seconds."""
CHOSEN_CARD = frozenset({"telemetry_call_hung", "telemetry_card_lost"})
"""Of the chosen card the page says these in its own notice."""
REPAINT_MS = 250
"""At most four repaints a second."""


class MonitorPage(QWidget):
    """Chips, head, plots and processes of the chosen card."""

    record_wanted = Signal()
    """The user wants to start or stop recording."""
    alerts_wanted = Signal()
    """The user wants to see or change the alerts."""
    live_wanted = Signal()
    """The user wants to leave the replay."""

    def __init__(self, theme: Theme, live: Live, status: Callable[[], FeedStatus], elsewhere: Elsewhere) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self._theme = theme
        self._live = live
        self._status = status
        self._elsewhere = elsewhere
        self.span_s = 300
        self._paused_at_s: float | None = None
        self._dirty = True
        self._drawn_s = float("-inf")
        self._replayed = False
        self._said = ""
        self._raised: tuple[str, ...] = ()
        self._wrong: Callable[[], tuple[str, ...]] = tuple
        self._wrong_lines: tuple[str, ...] = ()
        self.current: str | None = None
        self.plots: MonitorPlots | None = None
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(REPAINT_MS)
        self._timer.timeout.connect(self.refresh_if_needed)
        live.ticked.connect(self._mark_dirty)
        live.cards_changed.connect(self._cards_changed)
        self._cards_changed()

    def _build(self) -> None:
        self.chips = Chips(self._theme)
        self.chips.chosen.connect(self.choose)
        self.notice = Notice()
        self.notice.acted.connect(self.live_wanted)
        self.standing = NoticeLines()
        self.head = MonitorHead(self._theme)
        self.head.ribbon.pointed.connect(self._pointed)
        self.processes = ProcessTable(self._theme)
        self.processes.setFixedHeight(108)
        self._place = QVBoxLayout()
        self._filler = QWidget()
        self._filler.setProperty("role", "clear")
        self._place.addWidget(self._filler, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 12)
        layout.setSpacing(8)
        layout.addLayout(self._toolbar())
        layout.addWidget(self.notice)
        layout.addWidget(self.standing)
        layout.addWidget(self.head)
        layout.addLayout(self._place, 1)
        layout.addWidget(self.processes)
        self._bottom = QWidget()
        self._bottom.setProperty("role", "clear")
        layout.addWidget(self._bottom, 1)

    def _toolbar(self) -> QHBoxLayout:
        self.span_button = QPushButton()
        menu = QMenu(self.span_button)
        group = QActionGroup(menu)
        self.span_actions: list[QAction] = []
        for seconds in SPANS_S:
            action = QAction(_("last {span}").format(span=span_words(seconds)), menu)
            action.setCheckable(True)
            action.setChecked(seconds == self.span_s)
            action.triggered.connect(lambda _checked=False, seconds=seconds: self.show_span(seconds))
            group.addAction(action)
            menu.addAction(action)
            self.span_actions.append(action)
        self.span_button.setMenu(menu)
        self.pause_button = QPushButton()
        self.pause_button.setCheckable(True)
        self.pause_button.clicked.connect(lambda _checked=False: self.toggle_pause())
        self.record_button = QPushButton()
        self.record_button.clicked.connect(self.record_wanted)
        self.alerts_button = QPushButton()
        self.alerts_button.clicked.connect(self.alerts_wanted)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.chips, 1)
        top = Qt.AlignmentFlag.AlignTop
        for button in (self.span_button, self.pause_button, self.record_button, self.alerts_button):
            button.setIconSize(QSize(12, 12))
            row.addWidget(button, 0, top)
        self._label_span()
        self._label_pause()
        self.show_recording(None)
        self.show_alerts(())
        return row

    def showEvent(self, event: QShowEvent) -> None:
        """Load the plots once, then repaint while visible."""
        super().showEvent(event)
        self._dirty, self._wrong_lines = True, self._wrong()
        self._timer.start()
        QTimer.singleShot(0, self, self.load_plots)

    def hideEvent(self, event: QHideEvent) -> None:
        """No repaint while hidden."""
        super().hideEvent(event)
        self._timer.stop()

    def set_awake(self, awake: bool) -> None:
        """Stop repainting while the window is minimised."""
        if awake and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()

    @property
    def repainting(self) -> bool:
        """True while the page repaints."""
        return self._timer.isActive()

    def load_plots(self) -> None:
        """Load the drawing library and put the pictures in (once; after the frame is on the screen)."""
        if self.plots is None:
            from gputuner.gui.pages.monitor_plots import MonitorPlots

            plots = MonitorPlots(self._theme)
            plots.pointed.connect(self._pointed)
            self._place.replaceWidget(self._filler, plots)
            self._place.setStretch(0, 1)
            self._filler.deleteLater()
            self.plots = plots
            self.refresh()

    @property
    def card(self) -> LiveCard | None:
        """The chosen card."""
        return self._live.cards.get(self.current or "")

    @property
    def shown_until_s(self) -> float:
        """Right end of the pictures on the feed's clock, in seconds."""
        return self._now_s()

    def choose(self, uuid: str) -> None:
        """Show another card."""
        self.current, self._said = uuid, ""
        self.refresh()

    def choose_next(self, step: int = 1) -> None:
        """Show the next (or previous) card."""
        order = list(self._live.cards)
        if order:
            place = order.index(self.current) if self.current in order else 0
            self.choose(order[(place + step) % len(order)])

    def show_span(self, seconds: int) -> None:
        """Show another time span."""
        self.span_s = seconds
        self._label_span()
        self.refresh()

    def toggle_pause(self) -> None:
        """Freeze or resume the pictures; readings go on being kept."""
        self._paused_at_s = None if self._paused_at_s is not None else self._now_s()
        self._label_pause()
        self.refresh()

    def show_recording(self, seconds: float | None) -> None:
        """Show whether and how long a recording runs."""
        if seconds is None:
            self.record_button.setText(_("Record"))
            self.record_button.setIcon(glyph_icon("record", self._theme.danger))
            self.record_button.setToolTip(_("Keep telemetry as a session (Ctrl+R)"))
        else:
            whole = int(seconds)
            self.record_button.setText(_("Recording {time}").format(time=f"{whole // 60}:{whole % 60:02d}"))
            self.record_button.setIcon(glyph_icon("stop", self._theme.danger))
            self.record_button.setToolTip(_("Stop recording (Ctrl+R)"))

    def show_alerts(self, raised: tuple[str, ...], broken: bool = False) -> None:
        """Show what is raised: how many on the bell, the sentences above the head; ``broken``: alerts need a look."""
        self._raised = raised
        self.alerts_button.setText(str(len(raised)) if raised else "!" if broken else "")
        self.alerts_button.setIcon(glyph_icon("bell", self._theme.danger if raised else self._theme.muted))
        count = ngettext("{count} alert is raised", "{count} alerts are raised", len(raised)).format(count=len(raised))
        words = count if raised else _("No alert is raised")
        self.alerts_button.setToolTip(_("{what}; see and set alerts (Ctrl+Shift+A)").format(what=words))
        self.alerts_button.setAccessibleName(words)
        self._dirty = True

    def say(self, words: str) -> None:
        """Say a sentence once (a recording that failed); the next card chosen takes it away."""
        self._said = words
        self._show_notice()

    def use_preferences(self, wrong: Callable[[], tuple[str, ...]]) -> None:
        """``wrong``: what is wrong with the file of the preferences; looked at whenever the page is shown."""
        self._wrong, self._wrong_lines = wrong, wrong()

    def show_replayed(self, replayed: bool) -> None:
        """Say whether a replay feeds the page."""
        self._replayed = replayed
        self._dirty = True

    def refresh_if_needed(self) -> None:
        """Repaint if something came; without a card look whether there is one by now."""
        if not self._live.cards:
            self._live.look_again()
        if self._dirty and self.card is not None and not self._pictures_due:
            self._dirty = False
            self.chips.show_cards(self._live.cards.values(), self.current)
            self._show_notice()
            self.head.show_card(self.card)
        elif self._dirty:
            self.refresh()
        else:
            self._show_notice()

    def refresh(self) -> None:
        """Repaint everything now."""
        self._dirty = False
        card = self.card
        self.chips.show_cards(self._live.cards.values(), self.current)
        self._show_notice()
        self.record_button.setEnabled(card is not None and not self._replayed)
        for widget in (self.head, self.processes, self.plots or self._filler):
            widget.setVisible(card is not None)
        self._bottom.setVisible(card is None)
        if card is None:
            return
        self.head.show_card(card)
        self.processes.show_processes(card.processes, lost=card.lost)
        self.processes.setVisible(not card.info.is_cpu)  # processes are told by a driver
        self._draw(card)

    def _draw(self, card: LiveCard) -> None:
        now_s = self._drawn_s = self._now_s()
        t0_s = now_s - self.span_s
        marks = [xid.t_ns * 1e-9 for xid in card.history.xids]
        self.head.show_ribbon(card.history.spans(t0_s, now_s), t0_s, now_s, marks)
        if self.plots is not None:
            self.plots.show_card(card, now_s, float(self.span_s))

    @property
    def _pictures_due(self) -> bool:
        """Whether the pictures would move by about half a pixel; on long spans they are drawn more rarely."""
        return abs(self._now_s() - self._drawn_s) >= min(5.0, self.span_s / 700)

    def _mark_dirty(self) -> None:
        if self._paused_at_s is None:
            self._dirty = True

    def _now_s(self) -> float:
        return self._live.now_ns * 1e-9 if self._paused_at_s is None else self._paused_at_s

    def _cards_changed(self) -> None:
        if self.current not in self._live.cards:
            self.current = next(iter(self._live.cards), None)
        self._dirty = True

    def _pointed(self, relative_s: float | None) -> None:
        if self.plots is not None and self.card is not None:
            self.plots.show_cursor(relative_s)
            self.plots.show_readings(self.card, self._now_s())
        self.head.ribbon.show_cursor(relative_s)

    def _label_span(self) -> None:
        self.span_button.setText(_("last {span}").format(span=span_words(self.span_s)) + " ▾")
        for seconds, action in zip(SPANS_S, self.span_actions, strict=True):
            action.setChecked(seconds == self.span_s)

    def _label_pause(self) -> None:
        paused = self._paused_at_s is not None
        self.pause_button.setChecked(paused)
        self.pause_button.setText(_("Resume") if paused else _("Pause"))
        self.pause_button.setIcon(glyph_icon("play" if paused else "pause", self._theme.text))
        self.pause_button.setToolTip(_("Freeze or resume the pictures (Ctrl+P)"))

    def _show_notice(self) -> None:
        status = self._status()
        title, more, button = self._message(status)
        self.notice.say(title, more, button)
        held = standing(status, self._live.cards, self._live.now_ns)
        here = [item for item in held if not (title and item.card == self.current and item.code in CHOSEN_CARD)]
        raised = () if self._replayed else self._raised
        told = (*raised, *lines(here, self._live.cards), *self._wrong_lines, *self._users())
        self.standing.say(told, alerts=len(raised))

    def _users(self) -> tuple[str, ...]:
        """What other programs of ours do with the cards; looked for in the background, told as last known."""
        if self._replayed:
            return ()
        self._elsewhere.look(self._live.cards)
        return self._elsewhere.lines(self._live.cards)

    def _message(self, status: FeedStatus) -> tuple[str, str, str]:
        card = self.card
        if self._said:
            return self._said, "", ""
        if status.state is FeedState.ENDED:
            return _("The stored session has been played to its end"), "", _("Back to live") if self._replayed else ""
        if self._replayed:
            return _("A stored session is played back"), "", _("Back to live")
        if status.state not in (FeedState.OK, FeedState.STARTING, FeedState.ENDED, FeedState.CLOSED):
            why = sentences.error(status.code, status.params) if status.code else ""
            return _state_title(status.state), why, ""
        if card is None:
            if status.state is FeedState.STARTING:
                return _("Looking for cards…"), "", ""
            return _("No card here"), sentences.error("no_cards"), ""
        if card.lost:
            since = card.info.lost_since_ns or card.last_ns
            when = "" if since is None else self._clock(since)
            return (
                _("{card} was lost at {time}; the last readings are shown in grey").format(
                    card=card.info.title, time=when or numbers.MISSING
                ),
                sentences.error("card_lost", {"card": card.info.title}),
                "",
            )
        if card.info.state is CardState.ASLEEP:
            return (
                _("{card} is asleep").format(card=card.info.title),
                sentences.error("card_asleep", {"card": card.info.title}),
                "",
            )
        hung = status.hangs(card.info.uuid, Tier.FAST)
        if hung is not None:
            params = {"card": card.info.title, "call": hung.tier, "function": hung.function}
            return (
                _("{card} does not answer at the moment").format(card=card.info.title),
                sentences.warning("telemetry_call_hung", params),
                "",
            )
        return "", "", ""

    def _clock(self, t_ns: int) -> str:
        return datetime.fromtimestamp((t_ns + self._live.wall_offset_ns) * 1e-9).strftime("%H:%M:%S")


def _state_title(state: FeedState) -> str:
    match state:
        case FeedState.ABSENT:
            return _("No NVIDIA driver can be asked")
        case FeedState.MISMATCH:
            return _("The driver's files do not fit together")
        case FeedState.HUNG:
            return _("The driver does not answer; it is asked again soon")
        case FeedState.RESTARTING:
            return _("Telemetry was interrupted and starts again")
        case _:
            return _("The driver answers with errors")
