# pyright: standard
"""The left part of an experiment's page: which card, with what, and what will happen."""

from collections import Counter
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gputuner.gui.live import Live, LiveCard
from gputuner.gui.session_words import without_vendor
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.fold import Fold
from gputuner.gui.widgets.labels import label, repolish, rule
from gputuner.gui.widgets.pane import PaneCard
from gputuner.gui.widgets.spec_form import Form
from gputuner.language import numbers, sentences
from gputuner.language.words import _, in_a_row, ngettext
from gputuner.model.cards import CardState, Origin
from gputuner.model.planned import Planned
from gputuner.model.quantities import Quantity

MOST_KINDS, FEW_KINDS = 12, 3
"""Kinds of steps that the dry run names (few where the form needs the room); the rest is counted, told on hover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupState:
    """What the user set: UUID of the card, the form's values, sharing."""

    card: str
    values: dict[str, object]
    shared: bool


class SetupPanel(PaneCard):
    """Card chooser, what the experiment asks (``form``), and the dry run in words."""

    changed = Signal()
    """The user changed something."""

    def __init__(self, theme: Theme, live: Live, form: Form, *, roomy: bool = False, of_card: bool = True) -> None:
        """``roomy``: the form takes the height that is left; ``of_card``: a card is chosen."""
        super().__init__()
        self._live = live
        self._of_card = of_card
        self.planned: Planned | None = None
        self.chooser = ChoiceBox()
        self.chooser.setAccessibleName(_("card"))
        self.chooser.shrink()
        self.form = form
        self._most_kinds = FEW_KINDS if roomy else MOST_KINDS
        self.share = CheckBox(theme, _("Measure beside others"))
        self.share.setToolTip(
            _("Run although others compute on the card: never above free memory minus a margin; figures are flagged")
        )
        self._card_note = label("", "muted", wrap=True)
        self._plan = label("", "muted", wrap=True)
        self._kept = label("", "muted", wrap=True)
        self._steps = label("", "muted", wrap=True)
        layout = self.column
        layout.addWidget(label(_("Set up"), "heading"))
        layout.addSpacing(4)
        if of_card:
            layout.addWidget(label(_("Card"), "muted"))
            layout.addWidget(self.chooser)
            layout.addWidget(self._card_note)
            layout.addSpacing(8)
        layout.addWidget(form, 1 if roomy else 0)
        if of_card:
            layout.addWidget(self.share)
        layout.addSpacing(10)
        layout.addWidget(rule())
        layout.addSpacing(6)
        layout.addWidget(label(_("What will happen"), "heading"))
        layout.addWidget(self._plan)
        layout.addWidget(self._kept)
        layout.addSpacing(4)
        layout.addWidget(self._steps)
        if not roomy:
            layout.addStretch(1)
        self._roomy = roomy
        self.show_cards()
        self.chooser.currentIndexChanged.connect(self._card_changed)
        self.form.changed.connect(self._say_kept)
        self.form.changed.connect(self.changed)
        self.share.toggled.connect(lambda _on: self.changed.emit())

    def _say_kept(self) -> None:
        """What will be kept, by device: a processor has neither driver nor fan that would be told of."""
        card = self.card
        kept = _("No setting of the card is changed.")
        if self.form.sets_something:
            kept = _("Settings of the card are changed and put back; you are asked before.")
        stops = _(
            "The load stops by itself 3 °C before the core slows down, on an XID, on a fan that stands still, or when "
            "telemetry falls silent."
        )
        if card is not None and card.info.is_cpu:
            kept = _("No setting of the processor is changed.")
            stops = _("The load stops by itself when telemetry falls silent; from heat the processor protects itself.")
        short = self._roomy or not self._of_card
        self._kept.setText(kept if short else in_a_row(kept, stops))
        self._kept.setToolTip(stops if self._roomy and self._of_card else "")

    def fold_form(self, words: str, beside: QWidget, named: str) -> tuple[Fold, Fold]:
        """Put the form into a fold that says ``words``, open, and below it another widget into one of its own."""
        at = self.column.indexOf(self.form)
        folds = (Fold(words), Fold(named))
        for fold, widget in zip(folds, (self.form, beside), strict=True):
            fold.column.addWidget(widget)
            self.column.insertWidget(at, fold)
            at += 1
        folds[0].unfold(True)
        return folds

    @property
    def kept_text(self) -> str:
        """What it says will be kept."""
        return self._kept.text()

    @property
    def card(self) -> LiveCard | None:
        """The chosen card."""
        return self._live.cards.get(str(self.chooser.currentData()))

    @property
    def cards(self) -> tuple[str, ...]:
        """UUIDs of the chosen cards."""
        return (self.card.info.uuid,) if self.card and self._of_card else ()

    @property
    def shared(self) -> bool:
        """Whether to run beside others."""
        return self.share.isChecked()

    @property
    def plan_text(self) -> str:
        """What it says will happen."""
        return "\n".join(words for words in (self._plan.text(), self._steps.text()) if words)

    @property
    def state(self) -> SetupState:
        """All that is set."""
        return SetupState(card=str(self.chooser.currentData()), values=self.form.kept(), shared=self.share.isChecked())

    def choose_card(self, uuid: str) -> None:
        """Choose a card, if it is there."""
        self.chooser.setCurrentIndex(self.chooser.findData(uuid))

    def show_cards(self) -> None:
        """Offer the cards of the feed; keep the choice."""
        chosen = self.chooser.currentData()
        repeated = Counter(card.info.title for card in self._live.cards.values())
        wanted = [(card.info.uuid, _entry(card, repeated)) for card in self._live.cards.values()]
        now = [(self.chooser.itemData(i), self.chooser.itemText(i)) for i in range(self.chooser.count())]
        if wanted != now:
            self.chooser.blockSignals(True)
            self.chooser.clear()
            for uuid, name in wanted:
                self.chooser.addItem(name, uuid)
            index = self.chooser.findData(chosen)
            self.chooser.setCurrentIndex(index if index >= 0 else self._idlest())
            self.chooser.blockSignals(False)
        self.chooser.setEnabled(bool(wanted))
        self._note_card()

    def set_busy(self, busy: bool) -> None:
        """A run is under way: nothing here can be changed meanwhile."""
        for widget in (self.chooser, self.share, self.form):
            widget.setEnabled(not busy)
        self.chooser.setEnabled(not busy and self.chooser.count() > 0)
        self._note_card()

    def show_planned(self, planned: Planned, note: str = "") -> None:
        """Say what a start would do; ``note``: what else a reader must know of it."""
        self.planned = planned
        count = len(planned.steps)
        head = ngettext("{count} step, about {time}.", "{count} steps, about {time}.", count).format(
            count=count, time=numbers.duration(round(planned.expected_s))
        )
        kinds: dict[str, int] = {}
        for step in planned.steps:
            words = sentences.step(step.label, {})
            kinds[words] = kinds.get(words, 0) + 1
        lines = [f"{words}\u00a0×\u00a0{times}" if times > 1 else words for words, times in kinds.items()]
        self._steps.setToolTip("\n".join(lines) if len(lines) > self._most_kinds else "")
        if len(lines) > self._most_kinds:
            rest = len(lines) - self._most_kinds + 1
            lines = [
                *lines[: self._most_kinds - 1],
                ngettext("and {count} more", "and {count} more", rest).format(count=rest),
            ]
        self._plan.setText("\n".join(line for line in (head if count else "", note) if line))
        self._plan.setVisible(bool(self._plan.text()))
        self._steps.setText("\n".join(lines))
        repolish(self._plan, "role", "muted")

    def show_words(self, words: str) -> None:
        """Say what would happen, where no dry run tells it."""
        self._plan.setText(words)
        self._plan.show()
        self._steps.setText("")
        repolish(self._plan, "role", "muted")

    def show_problem(self, words: str) -> None:
        """Say why nothing would happen."""
        self._plan.setText(words)
        self._plan.show()
        self._steps.setText("")
        repolish(self._plan, "role", "danger")

    def _idlest(self) -> int:
        """The idle card with most memory, else the first."""

        def rank(card: LiveCard) -> tuple[bool, int]:
            busy = bool(card.processes and any(p.compute for p in card.processes.processes))
            usable = card.info.state is CardState.READY and not busy
            return usable, card.info.memory_total_bytes or 0

        cards = list(self._live.cards.values())
        return max(range(len(cards)), key=lambda i: rank(cards[i]), default=-1)

    def _card_changed(self) -> None:
        self.planned = None
        self._note_card()
        self.changed.emit()

    def _note_card(self) -> None:
        self._say_kept()
        card = self.card
        if card is None:
            self._card_note.setText(_("no card found"))
            return
        if card.info.state is not CardState.READY:
            self._card_note.setText(sentences.card_state(card.info.state))
            return
        if card.info.origin is Origin.SIMULATED:
            self._card_note.setText(_("simulated: a run has it for itself, whatever Monitor shows"))
            return
        told: list[str] = []
        if card.processes is not None and card.processes.reason is None:
            users = sum(1 for process in card.processes.processes if process.compute)
            told.append(
                ngettext("{count} process computes on it", "{count} processes compute on it", users).format(count=users)
                if users
                else _("idle")
            )
        used, total = card.shown(Quantity.MEMORY_USED_BYTES).value, card.info.memory_total_bytes
        if used is not None and total is not None:
            told.append(_("{amount} free").format(amount=numbers.value(max(0.0, total - used), "bytes")))
        self._card_note.setText(" · ".join(told))


def _entry(card: LiveCard, repeated: Counter[str]) -> str:
    """Name in the chooser, which is narrow; the bar above tells the whole of it."""
    title = card.info.title
    name = without_vendor(title)
    return f"{card.info.index} · {name}" if repeated[title] > 1 else name
