# pyright: standard
"""The pictures of a health test: map by address, identity, products, counters, certificate, wear."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from gputuner.gui.pages.health_certificate import CertificatePicture
from gputuner.gui.pages.health_tables import TableFrame, nothing_yet
from gputuner.gui.pages.health_verdict import VerdictBar
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
    health_markdown,
    rate_series,
    shown_map,
    stretch_hint,
)
from gputuner.gui.results_health_verdict import identity_rows, sold_words
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.wear_desk import WearDesk
from gputuner.language import health, health_tables
from gputuner.language.words import _, ngettext


class HealthPictures(Pictures):
    """Filled from figures as they come. ``wear``: reads what stored sessions tell; None: not beside this result."""

    def __init__(self, theme: Theme, wear: WearDesk | None = None) -> None:
        super().__init__()
        self._theme = theme
        self.map = AddressMap(theme)
        self.strips = {name: VerdictBar() for name in ("map", "identity", "burn", "counters")}
        """What the test says of the card, above each of these pictures."""
        self.verdicts = self.strips["map"]
        self.framed_map = framed(self.map, _("Video memory by address"), "")
        where: Scale = linear(lambda value: f"{value:g}")
        self.rates = CurvePlot(theme, _("Read rate by address"), _("GB/s"), _("offset, GiB"), where, linear())
        self.identity = TableFrame(theme, _("Against the sheet"), health_tables.identity_table(()).headers)
        self.memory = TableFrame(theme, _("Video memory"), health_tables.memory_table(()).headers, (2, 3, 4, 5))
        minutes: Scale = linear(lambda value: f"{value:g}")
        told = _("minutes of the test")
        self.burn = CurvePlot(theme, _("Rate of the products"), _("TFLOP/s"), told, minutes, linear())
        self.heat = CurvePlot(theme, _("Core temperature"), "°C", told, minutes, free())
        self.clock = CurvePlot(theme, _("SM clock"), "MHz", told, minutes, free())
        self._traces = beside(self.heat, self.clock)
        self.counters = TableFrame(theme, _("Error counters"), counters_table(RunFacts()).headers, (1, 2, 3))
        self.stages = TableFrame(theme, _("Stages"), health_tables.stages_table(()).headers, (1,))
        self.certificate = CertificatePicture(theme)
        self.wear = None if wear is None else WearPicture(theme, wear)
        pages: dict[str, QWidget] = {
            "map": column((self.verdicts, 0), (self.framed_map, 2), (self.rates, 1)),
            "identity": column((self.strips["identity"], 0), (scrolling(self.identity), 1)),
            "burn": column((self.strips["burn"], 0), (self.burn, 3), (self._traces, 2)),
            "counters": column((self.strips["counters"], 0), (scrolling(self.memory, self.stages, self.counters), 1)),
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
        for strip in self.strips.values():
            strip.show_facts(facts)
        cpu = bool(facts.cards) and facts.cards[0].is_cpu
        self.framed_map.show_title(_("Main memory by address") if cpu else _("Video memory by address"))
        self.counters.setVisible(not cpu)
        self.framed_map.show_unit(_map_words(facts, shown.unplaced))
        series = rate_series(points, self._theme)
        self.rates.show_series(series)
        self.rates.setVisible(bool(series))
        verdicts = [health.identity(point) for point in of_metric(points, "identity_verdict")]
        checks, differing = identity_rows(points)
        self.identity.show_table(checks, verdicts or [nothing_yet()], differing)
        self.identity.show_unit(sold_words(points) if verdicts else "")
        burned = burn_shown(facts, self._theme)
        for plot, found in ((self.burn, burned.rates), (self.heat, burned.heat), (self.clock, burned.clock)):
            named = burned.stretches if plot is self.burn else [replace(each, name="") for each in burned.stretches]
            plot.show_series(found, named if found else ())
            plot.setVisible(bool(found))
        self._traces.setVisible(bool(burned.heat or burned.clock))
        self.counters.show_table(counters_table(facts), counter_lines(facts))
        self.stages.show_table(health_tables.stages_table(points))
        self.memory.show_table(
            health_tables.memory_table(points), health_tables.memory_lines(of_metric(points, "vram_coverage"))
        )
        self.certificate.show_facts(facts)

    def own_files(self) -> Mapping[str, str]:
        """The certificate is a page and a document too."""
        return self.certificate.files() if self.current is self.certificate else {}

    def save_own(self, target: Path) -> None:
        """Save the certificate as one of them."""
        self.certificate.save(target)

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
        told += health_tables.memory_lines(covered)[:1]
    if unplaced:
        words = ngettext("{count} wrong word has no known place", "{count} wrong words have no known place", unplaced)
        told.append(words.format(count=unplaced))
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
