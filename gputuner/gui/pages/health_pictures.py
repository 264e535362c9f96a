# pyright: standard
"""The pictures of a health test: map by address, identity, products, counters, certificate, wear."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from gputuner.gui.pages.health_certificate import CertificatePicture
from gputuner.gui.pages.health_tables import TableFrame, nothing_yet
from gputuner.gui.pages.health_wear import WearPicture
from gputuner.gui.pages.pictures import Pictures, column, framed
from gputuner.gui.picture_names import health_titles
from gputuner.gui.plots.address_map import AddressMap
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import Scale, free, linear
from gputuner.gui.results import of_metric
from gputuner.gui.results_health import (
    burn_shown,
    counter_lines,
    counters_table,
    health_headline,
    health_markdown,
    is_sound,
    rate_series,
    shown_map,
    sold_words,
    stretch_hint,
)
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.wear_desk import WearDesk
from gputuner.gui.widgets.labels import card, label, repolish
from gputuner.language import health
from gputuner.language.words import _


class VerdictBar(QWidget):
    """Two verdicts in words: sound, and as sold."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        frame = card()
        row = QHBoxLayout(frame)
        row.setContentsMargins(14, 6, 14, 6)
        row.setSpacing(8)
        self.health, self.sold = label("", "heading"), label("", "heading")
        row.addWidget(label(_("Health"), "muted"))
        row.addWidget(self.health)
        row.addSpacing(24)
        self._identity = label(_("Identity"), "muted")
        row.addWidget(self._identity)
        row.addWidget(self.sold)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(frame)

    def show_facts(self, facts: RunFacts) -> None:
        """Say what is known."""
        sign, role = {True: ("✓", "good"), False: ("✕", "danger"), None: ("○", "heading")}[is_sound(facts)]
        self.health.setText(f"{sign} {health_headline(facts)}")
        repolish(self.health, "role", role)
        known = facts.finished is not None and not (facts.cards and facts.cards[0].is_cpu)
        for each in (self._identity, self.sold):
            each.setVisible(known)
        self.sold.setText(sold_words(facts.points))
        as_sold, other = self.sold.text() == _("as sold"), self.sold.text() == _("not as sold")
        repolish(self.sold, "role", "good" if as_sold else "danger" if other else "heading")


class HealthPictures(Pictures):
    """Filled from figures as they come. ``wear``: reads what stored sessions tell; None: not beside this result."""

    def __init__(self, theme: Theme, wear: WearDesk | None = None) -> None:
        super().__init__()
        self._theme = theme
        self.map = AddressMap(theme)
        self.verdicts = VerdictBar()
        self.framed_map = framed(self.map, _("Video memory by address"), "")
        where: Scale = linear(lambda value: f"{value:g}")
        self.rates = CurvePlot(theme, _("Read rate by address"), _("GB/s"), _("offset, GiB"), where, linear())
        self.identity = TableFrame(theme, _("Against the sheet"), health.identity_table(()).headers)
        self.memory = TableFrame(theme, _("Video memory"), health.memory_table(()).headers, (2, 3, 4, 5))
        minutes: Scale = linear(lambda value: f"{value:g}")
        told = _("minutes of the test")
        self.burn = CurvePlot(theme, _("Rate of the products"), _("TFLOP/s"), told, minutes, linear())
        self.heat = CurvePlot(theme, _("Core temperature"), "°C", told, minutes, free())
        self.clock = CurvePlot(theme, _("SM clock"), "MHz", told, minutes, free())
        self.counters = TableFrame(theme, _("Error counters"), counters_table(RunFacts()).headers, (1, 2, 3))
        self.stages = TableFrame(theme, _("Stages"), health.stages_table(()).headers, (1,))
        self.certificate = CertificatePicture(theme)
        self.wear = None if wear is None else WearPicture(theme, wear)
        pages: dict[str, QWidget] = {
            "map": column((self.verdicts, 0), (self.framed_map, 5), (self.rates, 2)),
            "identity": column((scrolling(self.identity), 1)),
            "burn": column((self.burn, 3), (beside(self.heat, self.clock), 2)),
            "counters": column((scrolling(self.counters, self.stages, self.memory), 1)),
            "certificate": self.certificate,
        }
        if self.wear is not None:
            pages["wear"] = column((self.wear, 1))
        self._history = pages.get("wear")
        self.add_pages({name: pages[name] for name in health_titles(wear=wear is not None)})
        self.rates.hide()

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there = {
            "map": bool(self.map.map.stretches),
            "identity": bool(self.identity.texts),
            "burn": bool(self.burn.series),
            "counters": bool(self.counters.texts or self.stages.texts),
            "certificate": self.certificate.tested is not None,
            "wear": self.wear is not None and self.wear.there,
        }
        return [name for name, is_there in there.items() if is_there]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        points = facts.points
        shown = shown_map(facts)
        self.map.show_map(shown, {each.offset: stretch_hint(each) for each in shown.stretches})
        self.verdicts.show_facts(facts)
        cpu = bool(facts.cards) and facts.cards[0].is_cpu
        self.framed_map.show_title(_("Main memory by address") if cpu else _("Video memory by address"))
        self.counters.setVisible(not cpu)
        self.framed_map.show_unit(_map_words(facts, shown.unplaced))
        series = rate_series(points, self._theme)
        self.rates.show_series(series)
        self.rates.setVisible(bool(series))
        verdicts = [health.identity(point) for point in of_metric(points, "identity_verdict")]
        self.identity.show_table(health.identity_table(points), verdicts or [nothing_yet()])
        self.identity.show_unit(sold_words(points) if verdicts else "")
        burned = burn_shown(facts, self._theme)
        for plot, found in ((self.burn, burned.rates), (self.heat, burned.heat), (self.clock, burned.clock)):
            named = burned.stretches if plot is self.burn else [replace(each, name="") for each in burned.stretches]
            plot.show_series(found, named if found else ())
            plot.setVisible(bool(found))
        self.counters.show_table(counters_table(facts), counter_lines(facts))
        self.stages.show_table(health.stages_table(points))
        self.memory.show_table(health.memory_table(points), health.memory_lines(points))
        self.certificate.show_facts(facts)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        self.map.mark(point_ids)
        for plot in (self.rates, self.burn):
            plot.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that a picture shows, in its order."""
        if name == "burn":
            return tuple(dot.point_id for series in self.burn.series for dot in series.dots)
        if name == "map":
            return tuple(point for stretch in self.map.map.stretches for point in stretch.points)
        return ()

    def markdown(self, facts: RunFacts) -> str:
        """What the test found, in tables; of the history what that tells."""
        if self.wear is not None and self.current is self._history:
            return self.wear.markdown()
        return health_markdown(facts)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        return next((name for name in ("burn", "map") if set(self.rows_of(name)) & point_ids), None)


def _map_words(facts: RunFacts, unplaced: int) -> str:
    told: list[str] = []
    covered = of_metric(facts.points, "vram_coverage")
    if covered:
        told += health.memory_lines(covered)[:1]
    if unplaced:
        told.append(_("{count} wrong words have no known place").format(count=unplaced))
    return " · ".join(told)


def beside(*widgets: QWidget) -> QWidget:
    """Widgets beside each other."""
    page = QWidget()
    page.setProperty("role", "clear")
    layout = QHBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(8)
    for widget in widgets:
        layout.addWidget(widget, 1)
    return page


def scrolling(*widgets: QWidget) -> QScrollArea:
    """Frames below each other, with a scroll bar where they are too tall."""
    inside = column(*((widget, 0) for widget in widgets))
    layout = inside.layout()
    if isinstance(layout, QVBoxLayout):
        layout.addStretch(1)
    scroll = QScrollArea()
    scroll.setProperty("role", "clear")
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(inside)
    return scroll
