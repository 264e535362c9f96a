# pyright: standard
"""The opened session: overview over time, figures with their pictures, advice."""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gputuner.gui.alert_marks import alert_mark, alerts_told
from gputuner.gui.others import Others
from gputuner.gui.pages.bench_result import bench_result
from gputuner.gui.pages.card_plots import arrange, name_for
from gputuner.gui.pages.compare import CompareView
from gputuner.gui.pages.cooling_result import cooling_result
from gputuner.gui.pages.monitor_numbers import GIB, gib, percent, share_words
from gputuner.gui.pages.result_view import ResultView
from gputuner.gui.pages.tune_result import RESULTS, tune_result
from gputuner.gui.plots.time_marks import signs
from gputuner.gui.plots.time_plot import Curve, Limit, TimePlot
from gputuner.gui.results_text import measured_with
from gputuner.gui.run_state import RunFacts
from gputuner.gui.session_content import Band, SessionContent
from gputuner.gui.theme import Theme
from gputuner.gui.try_desk import Tries
from gputuner.gui.widgets.advice_column import AdviceColumn
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import card, label
from gputuner.gui.widgets.notice import Notice
from gputuner.gui.widgets.ribbon import Ribbon
from gputuner.language import sentences
from gputuner.language.numbers import clock, grouped
from gputuner.language.words import _
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity

Q = Quantity
BESIDE_OTHERS: dict[str, Callable[[Theme, Others], ResultView]] = {"bench": bench_result, "cooling": cooling_result}
"""The results that compare a session with others of its kind, by the name of their experiment."""


def view_words() -> dict[str, str]:
    """Names of the views of a session."""
    return {"overview": _("Overview"), "figures": _("Figures"), "advice": _("Advice"), "compare": _("Compare")}


class SessionDetail(QWidget):
    """Four views of one session."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self._others = others
        self._content: SessionContent | None = None
        self.overview = SessionOverview(theme)
        self.result = tune_result(theme)
        self._results: dict[str, ResultView] = {"tune": self.result}
        self.advice = AdviceColumn()
        self._tries: Callable[[RunFacts], Tries] = lambda _facts: Tries()
        self.warnings = Notice()
        advice_page = QWidget()
        advice_page.setProperty("role", "clear")
        column = QVBoxLayout(advice_page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.warnings)
        column.addWidget(self.advice, 1)
        self._stack = QStackedWidget()
        self.compare = CompareView(theme, others)
        self._views: dict[str, QWidget] = {
            "overview": self.overview,
            "figures": self.result,
            "advice": advice_page,
            "compare": self.compare,
        }
        for view in self._views.values():
            self._stack.addWidget(view)
        self.chooser = ChoiceBox()
        self.chooser.setAccessibleName(_("card"))
        self.chooser.currentIndexChanged.connect(lambda _index: self._show_card())
        row = QHBoxLayout()
        row.setSpacing(4)
        group = QButtonGroup(self)
        self.tabs: dict[str, QPushButton] = {}
        for name, words in view_words().items():
            tab = QPushButton(words)
            tab.setCheckable(True)
            tab.setProperty("segment", True)
            tab.clicked.connect(lambda _checked=False, name=name: self.show_view(name))
            group.addButton(tab)
            row.addWidget(tab)
            self.tabs[name] = tab
        row.addStretch(1)
        row.addWidget(self.chooser)
        self.advice.evidence_wanted.connect(self._show_evidence)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(row)
        layout.addWidget(self._stack, 1)
        self.show_view("overview")

    @property
    def content(self) -> SessionContent | None:
        """What is shown."""
        return self._content

    def use_tries(self, tries: Callable[[RunFacts], Tries]) -> None:
        """``tries``: how the advice of the session that is shown stands."""
        self._tries = tries
        self.show_tries()

    def show_tries(self) -> None:
        """Show anew how the advice stands."""
        self.advice.show_tries(self._tries(self._content.facts) if self._content is not None else Tries())

    def show_view(self, name: str) -> None:
        """Show overview, figures, advice or the comparison."""
        self.tabs[name].setChecked(True)
        self._stack.setCurrentWidget(self._views[name])

    def show_content(self, content: SessionContent) -> None:
        """Show a session; another one than before opens on what it answers."""
        before = self._content.facts.started if self._content is not None else None
        facts = content.facts
        anew = before is None or facts.started is None or before.run_id != facts.started.run_id
        self._content = content
        self.chooser.blockSignals(True)
        self.chooser.clear()
        for info in facts.cards:
            self.chooser.addItem(f"{info.index} · {info.title}", info.uuid)
        self.chooser.blockSignals(False)
        self.chooser.setVisible(len(facts.cards) > 1)
        self._use_result(facts)
        self.result.show_facts(facts, now=True)
        told = dict.fromkeys(sentences.warning(w.code, w.params) for w in facts.warnings)
        told |= dict.fromkeys(entry.text for entry in alerts_told(facts))
        self.warnings.say(_("Remarks of the run") if told else "", "\n".join(told))
        self.advice.show_advice(facts.advice, facts.questions, _("This session gave no advice"))
        self.show_tries()
        self.compare.show_facts(facts)
        advised = bool(facts.advice or facts.questions or told)
        for name, there in (("figures", bool(facts.points)), ("advice", advised), ("compare", bool(facts.points))):
            self.tabs[name].setEnabled(there)
            if not there and self.tabs[name].isChecked():
                self.show_view("overview")
        if anew:
            self.show_view("figures" if facts.points else "overview")
        self._show_card()

    def _use_result(self, facts: RunFacts) -> None:
        """Benchmarks and questions about trainings have pictures of their own; what has none gets those of Tune."""
        kind = facts.started.experiment if facts.started is not None else ""
        if kind not in BESIDE_OTHERS and kind not in RESULTS:
            kind = "tune"
        if kind not in self._results:
            beside = BESIDE_OTHERS.get(kind)
            self._results[kind] = RESULTS[kind](self._theme) if beside is None else beside(self._theme, self._others)
            self._stack.addWidget(self._results[kind])
        self.result = self._views["figures"] = self._results[kind]
        if self.tabs["figures"].isChecked():
            self.show_view("figures")

    def _show_card(self) -> None:
        content = self._content
        if content is None:
            return
        uuid = self.chooser.currentData()
        info = next((card for card in content.facts.cards if card.uuid == uuid), None)
        if info is not None:
            self.overview.show_card(content, info)

    def _show_evidence(self, evidence: tuple[str, ...]) -> None:
        self.show_view("figures")
        self.result.mark(frozenset(evidence))


class SessionOverview(QWidget):
    """Temperature, power, clock, memory and utilisation over the whole session, from roll-ups."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme

        def curve(quantity: Quantity, name: str, area: bool = False, text: Callable[[float], str] = grouped) -> Curve:
            return Curve(key=quantity.value, name=name, colour=theme.quantity(quantity), area=area, text=text)

        self.plots: dict[str, tuple[TimePlot, tuple[Quantity, ...], float]] = {
            "temperature": (
                TimePlot(
                    theme,
                    _("Temperature"),
                    "°C",
                    [curve(Q.CORE_TEMPERATURE_C, _("core")), curve(Q.MEMORY_TEMPERATURE_C, _("memory"))],
                ),
                (Q.CORE_TEMPERATURE_C, Q.MEMORY_TEMPERATURE_C),
                1.0,
            ),
            "power": (
                TimePlot(
                    theme,
                    _("Power"),
                    "W",
                    [curve(Q.POWER_INSTANT_W, _("instant"), True), curve(Q.POWER_AVERAGE_W, _("average"))],
                ),
                (Q.POWER_INSTANT_W, Q.POWER_AVERAGE_W),
                1.0,
            ),
            "clock": (
                TimePlot(theme, _("SM clock"), "MHz", [curve(Q.SM_CLOCK_MHZ, _("SM"))], axis_text=grouped),
                (Q.SM_CLOCK_MHZ,),
                1.0,
            ),
            "memory": (
                TimePlot(theme, _("Memory"), "GiB", [curve(Q.MEMORY_USED_BYTES, _("used"), text=gib)]),
                (Q.MEMORY_USED_BYTES,),
                1 / GIB,
            ),
            "busy": (
                TimePlot(theme, _("Utilisation"), "%", [curve(Q.GPU_UTILISATION, _("GPU"), text=percent)], top=105.0),
                (Q.GPU_UTILISATION,),
                100.0,
            ),
        }
        self._grid = layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        self._limited = self._limiter_row()
        layout.addWidget(self._limited, 0, 0, 1, 2)
        arrange(layout, [plot for plot, _quantities, _factor in self.plots.values()], 2, first=1)
        for plot, _quantities, _factor in self.plots.values():
            plot.pointed.connect(self._pointed)
        self._about = label("", "muted", wrap=True)
        self._about_card = about = card()
        inside = QVBoxLayout(about)
        inside.setContentsMargins(12, 8, 12, 8)
        inside.addWidget(label(_("Measured with"), "heading"))
        inside.addWidget(self._about)
        inside.addStretch(1)
        layout.addWidget(about, 3, 1)
        for row in (1, 2, 3):
            layout.setRowStretch(row, 1)
        self._content: SessionContent | None = None
        self._card: CardInfo | None = None

    def _limiter_row(self) -> QWidget:
        """What limited the card over the session, as in Monitor."""
        self.ribbon = Ribbon(self._theme)
        self.ribbon.pointed.connect(lambda t_s: self._pointed(None if t_s is None else t_s + self._length_s))
        self._shares = label("", "muted")
        self._shares.setTextFormat(Qt.TextFormat.RichText)
        self._shares.setMinimumWidth(1)
        frame = card()
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(12, 6, 12, 4)
        inside.setSpacing(2)
        inside.addWidget(self.ribbon)
        self._told = label("", "muted")
        below = QHBoxLayout()
        below.addWidget(self._shares, 1)
        below.addWidget(self._told)
        inside.addLayout(below)
        return frame

    @property
    def shares_text(self) -> str:
        """How much of the time each limiter held, as shown."""
        return self._shares.accessibleName()

    @property
    def _length_s(self) -> float:
        return self._content.length_s if self._content is not None else 0.0

    def show_card(self, content: SessionContent, card: CardInfo) -> None:
        """Draw the whole session of one card; the light area runs from the lowest to the highest value of a bucket."""
        self._content, self._card = content, card
        name_for(card, {name: (plot, quantities) for name, (plot, quantities, _factor) in self.plots.items()})
        for plot, quantities, _factor in self.plots.values():
            if card.is_cpu and not any((card.uuid, quantity) in content.bands for quantity in quantities):
                plot.name_curves("", {})
        arrange(self._grid, [plot for plot, _quantities, _factor in self.plots.values()], 2, first=1)
        shown = sum(1 for plot, _quantities, _factor in self.plots.values() if plot.named)
        self._grid.removeWidget(self._about_card)
        self._grid.addWidget(self._about_card, 1 + shown // 2, shown % 2)
        for row in (1, 2, 3):
            self._grid.setRowStretch(row, 1 if row <= 1 + shown // 2 else 0)
        self._limited.setVisible(not card.is_cpu)
        started = content.facts.started
        t0_s = started.t_ns * 1e-9 if started else 0.0
        marks = [alert_mark(told, t0_s) for told in alerts_told(content.facts, card.uuid)]
        for name, (plot, quantities, factor) in self.plots.items():
            plot.show_marks(marks if name == "temperature" else signs(marks))
            data = {}
            bands = {}
            for quantity in quantities:
                band = content.bands.get((card.uuid, quantity))
                if band is not None:
                    data[quantity.value] = (band.t_s, band.mean * factor)
                    bands[quantity.value] = (band.t_s, band.low * factor, band.high * factor)
            plot.show_limits(self._limits(name, card))
            plot.show_range(data, 0.0, content.length_s)
            plot.show_bands(bands)
            plot.show_hint("" if data else _("not in this session"))
        spans = content.limits.get(card.uuid, [])
        self.ribbon.show_spans(spans, 0.0, content.length_s, [])
        text, plain = share_words(self._theme, spans, content.length_s)
        self._shares.setText(text)
        self._shares.setAccessibleName(plain)
        self._about.setText(measured_with(content.facts))
        self._pointed(None)

    def _limits(self, name: str, card: CardInfo) -> list[Limit]:
        theme = self._theme
        pairs = {
            "temperature": (_("core slows down {value}"), card.number("slowdown_c"), Q.CORE_TEMPERATURE_C),
            "power": (_("limit {value}"), card.number("power_limit_enforced_w"), Q.POWER_AVERAGE_W),
            "memory": (_("total {value}"), (card.memory_total_bytes or 0) / GIB or None, Q.MEMORY_USED_BYTES),
        }
        if name not in pairs:
            return []
        words, value, quantity = pairs[name]
        if value is None:
            return []
        text = words.format(value=gib(value) if name == "memory" else grouped(value))
        return [Limit(name=text, value=value, colour=theme.quantity(quantity), always=name == "memory")]

    def _pointed(self, t_s: float | None) -> None:
        content, card = self._content, self._card
        self._told.setText(_("figures: mean / max") if t_s is None else _("figures: at {time}").format(time=clock(t_s)))
        self.ribbon.show_cursor(None if t_s is None else t_s - self._length_s)
        for plot, quantities, factor in self.plots.values():
            plot.show_cursor(t_s)
            for quantity in quantities:
                band = content.bands.get((card.uuid, quantity)) if content and card else None
                value, most = _at(band, t_s)
                name = sentences.quantity(quantity)
                hint = name if band is not None else _("{name}: not in this session").format(name=name)
                scaled = None if value is None else value * factor
                plot.show_reading(quantity.value, scaled, hint, most=None if most is None else most * factor)


def _at(band: Band | None, t_s: float | None) -> tuple[float | None, float | None]:
    """The mean around a time; without one the mean over the whole session and the highest value."""
    if band is None or np.isnan(band.mean).all():
        return None, None
    if t_s is None:
        return float(np.nanmean(band.mean)), float(np.nanmax(band.high))
    found = float(band.mean[max(0, int(band.t_s.searchsorted(t_s, "right")) - 1)])
    return (None if np.isnan(found) else found), None
