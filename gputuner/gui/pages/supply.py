# pyright: standard
"""The view Supply of the page Power: what the card's watts ask of supply, connectors, circuit, air and radiators."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QScrollArea, QVBoxLayout, QWidget

from gputuner.advice.supply import supply_advice
from gputuner.analysis.supply import SupplyPlan
from gputuner.analysis.supply_draw import CardDraw, DrawSource, Feed
from gputuner.analysis.supply_planned import planned
from gputuner.catalog.supply import load_supply
from gputuner.gui.pages.supply_picture import SupplyGauges
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.refusals import refusal
from gputuner.gui.results_supply import gauges, rows
from gputuner.gui.supply_desk import Draws
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.supply_form import SupplyForm
from gputuner.gui.widgets.tables import Column, Table, WholeRows
from gputuner.language import numbers, sentences
from gputuner.language import supply as words
from gputuner.language.words import _

LEAST_ROWS = 3
SUBJECT, HOW = (0, 340), (3, 760)
"""Columns that are left out of a table narrower than so many pixels (hovering over a figure tells all)."""


class SupplyView(PictureFrame):
    """Verdict, gauges and table. What the card drew is looked up in the background when shown."""

    def __init__(self, theme: Theme, draws: Draws, form: SupplyForm) -> None:
        """``form``: what the plan is made for; it stands where the page is set up."""
        super().__init__(_("Supply"), _("power supply, connectors, circuit, air"))
        self._theme = theme
        self._draws = draws
        self._card = ""
        self._draw: CardDraw | None = None
        self._problem = ""
        self.plan: SupplyPlan | None = None
        self.form = form
        self.headline = label("", "title", wrap=True)
        self.said = label("", "muted", wrap=True)
        self.picture = SupplyGauges(theme)
        columns = [Column(_("Subject"), 11), Column(_("Figure"), 0), Column(_("Value"), 16, right=True)]
        columns.append(Column(_("How it was found"), 40))
        self.table = Table(theme, columns, _("figures of the supply"), row_height=22)
        self.copy_button = QPushButton(_("Copy"))
        self.copy_button.setProperty("small", True)
        self.copy_button.setToolTip(_("Copy the plan as Markdown"))
        self.copy_button.clicked.connect(self._copy)
        self._lay_out()
        self.form.changed.connect(self._typed)
        draws.known.connect(self._known)
        draws.failed.connect(self._failed)
        self._show()

    def _lay_out(self) -> None:
        inside = QWidget()
        inside.setProperty("role", "clear")
        column = QVBoxLayout(inside)
        column.setContentsMargins(10, 4, 10, 6)
        column.setSpacing(4)
        column.addWidget(self.headline)
        column.addWidget(self.said)
        column.addWidget(self.picture)
        column.addWidget(WholeRows(self.table, LEAST_ROWS), 1)
        column.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignRight)
        self.set_picture(_scrolled(inside))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what has no room."""
        super().resizeEvent(event)
        for column, least in (SUBJECT, HOW):
            self.table.setColumnHidden(column, self.width() < least)

    def showEvent(self, event: QShowEvent) -> None:
        """Look what the card has drawn since."""
        super().showEvent(event)
        self._ask()

    def show_card(self, uuid: str) -> None:
        """Size for this card; "": there is none, or it is the processor."""
        if uuid != self._card:
            self._card, self._draw, self._problem = uuid, None, ""
            self._show()
            self._ask()

    def _ask(self) -> None:
        if self._card and self.isVisible():
            self._draws.ask(self._card)

    def _typed(self) -> None:
        self._draws.typed = self.form.kept
        self._show()

    def _known(self, card: str, draw: CardDraw) -> None:
        if card == self._card:
            self._draw, self._problem = draw, ""
            self._show()

    def _failed(self, card: str, err: Exception) -> None:
        if card == self._card:
            self._draw, self._problem = None, refusal(err)
            self._show()

    def draw(self) -> CardDraw | None:
        """The card as it is sized: as told, else as known."""
        told = self.form.watts.told
        if told is None:
            return self._draw
        known = self._draw
        name = known.name if known is not None else numbers.value(told, "W")
        fed = known.fed if known is not None else Feed.CABLES
        return CardDraw(name=name, source=DrawSource.TOLD, sustained_w=told, peak_w=told, fed=fed)

    def _show(self) -> None:
        draw = self.draw()
        facts = load_supply()
        plan = None if draw is None else planned([draw] * self.form.cards.value(), self.form.wishes, facts)
        self.plan = plan
        self.picture.setVisible(plan is not None)
        self.copy_button.setEnabled(plan is not None)
        self.table.rows.show_rows([] if plan is None else rows(plan))
        self.picture.show_gauges([] if plan is None else gauges(plan, self._theme))
        headline, lines = self._nothing() if plan is None else self._verdict(plan)
        self.headline.setText(headline)
        self.headline.setVisible(bool(headline))
        self.said.setText("\n".join(lines))
        self.said.setToolTip("" if plan is None else "\n".join(words.draw_lines(plan.draws)))
        self.said.setVisible(bool(lines))

    def _nothing(self) -> tuple[str, list[str]]:
        """Why there is no plan yet."""
        if self._problem:
            return "", [self._problem]
        if not self._card:
            return "", [sentences.error("supply_needs_card_here")]
        return "", [_("looking at what the card drew in the stored sessions…")]

    @staticmethod
    def _verdict(plan: SupplyPlan) -> tuple[str, list[str]]:
        """What the plan calls for, else what to buy; then where the watts come from."""
        advice = supply_advice(plan, load_supply())
        lines = [words.draw_brief(plan.draws)]
        if advice:
            return sentences.advice_title(advice[0]), [sentences.advice_action(advice[0]), *lines]
        size = words.range_words(plan.need("size"))
        load = words.range_words(plan.need("load"))
        if plan.wishes.psu_w is None:
            return _("A supply of {size}").format(size=size), lines
        return _("{load} of the supply's rating").format(load=load), lines

    def markdown(self) -> str:
        """The plan to take along; "" where there is none."""
        return "" if self.plan is None else words.plan_markdown(self.plan)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.markdown())


def _scrolled(widget: QWidget) -> QScrollArea:
    """A widget that scrolls up and down where it has no room."""
    scroll = QScrollArea()
    scroll.setProperty("role", "clear")
    scroll.setWidgetResizable(True)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(widget)
    return scroll
