# pyright: standard
"""The pictures of a tune run: batch size, peaks, sustained load, two at once."""

from PySide6.QtWidgets import QWidget

from gputuner.gui.history import History
from gputuner.gui.pages.batch_pictures import BatchPlots
from gputuner.gui.pages.pictures import Pictures, column, framed
from gputuner.gui.picture_names import LOAD_LABELS, NAMES
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.time_plot import Curve, Limit, TimePlot
from gputuner.gui.results import peak_groups, together_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.quantities import Quantity

Q = Quantity


class TunePictures(Pictures):
    """One picture at a time, each filled from the facts of a run."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.batch = BatchPlots(theme, energy=False)
        self.rate, self.memory = self.batch.rate, self.batch.memory
        self.peaks = Bars(theme)
        self.together = Bars(theme)
        self.temperature = TimePlot(
            theme,
            _("Temperature"),
            "°C",
            [
                Curve(key="core", name=_("core"), colour=theme.quantity(Q.CORE_TEMPERATURE_C)),
                Curve(key="memory", name=_("memory"), colour=theme.quantity(Q.MEMORY_TEMPERATURE_C)),
            ],
        )
        self.power = TimePlot(
            theme,
            _("Power"),
            "W",
            [
                Curve(key="instant", name=_("instant"), colour=theme.quantity(Q.POWER_INSTANT_W), area=True),
                Curve(key="average", name=_("average"), colour=theme.quantity(Q.POWER_AVERAGE_W)),
            ],
        )
        self.clock = TimePlot(
            theme, _("SM clock"), "MHz", [Curve(key="clock", name=_("SM"), colour=theme.quantity(Q.SM_CLOCK_MHZ))]
        )
        pages: dict[str, QWidget] = {
            "batch": self.batch.rate_over_memory(),
            "peak": framed(
                self.peaks,
                _("Measured against peak"),
                _("mark = sheet; outlined = from cold, before a limit takes hold"),
            ),
            "load": column((self.temperature, 3), (self.power, 3), (self.clock, 2)),
            "together": framed(self.together, _("Two trainings on one card"), _("dashed = 1.00 ×")),
        }
        self.add_pages(pages)

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        metrics = {point.metric for point in facts.points}
        there = {
            "batch": "train_throughput" in metrics,
            "peak": bool(metrics & {"matmul_rate", "copy_bandwidth"}),
            "load": any(step.label in LOAD_LABELS for step in facts.steps),
            "together": bool(metrics & {"co_run_gain", "co_run_slowdown"}),
        }
        return [name for name in NAMES if there[name]]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        self.batch.show_facts(facts)
        self.peaks.show_groups(peak_groups(facts, self._theme))
        self.together.show_groups(together_groups(facts, self._theme))
        self.show_trace(facts)

    def show_trace(self, facts: RunFacts) -> None:
        """Fill the picture of the sustained load from telemetry."""
        card = facts.cards[0] if facts.cards else None
        history = facts.traces.get(card.uuid) if card else None
        if card is None or history is None or history.last_s is None:
            for plot in (self.temperature, self.power, self.clock):
                plot.show_hint(_("no telemetry yet"))
            return
        stretch = next((s for s in map(facts.step_stretch, LOAD_LABELS) if s is not None), None)
        started = facts.started.t_ns * 1e-9 if facts.started else history.last_s
        t0, t1 = stretch or (started, history.last_s)
        self._curve(self.temperature, history, t0, t1, core=Q.CORE_TEMPERATURE_C, memory=Q.MEMORY_TEMPERATURE_C)
        self._curve(self.power, history, t0, t1, instant=Q.POWER_INSTANT_W, average=Q.POWER_AVERAGE_W)
        self._curve(self.clock, history, t0, t1, clock=Q.SM_CLOCK_MHZ)
        slowdown, limit = card.number("slowdown_c"), card.number("power_limit_enforced_w")
        if slowdown is not None:
            words = _("core slows down {value}").format(value=f"{slowdown:.0f}")
            self.temperature.show_limits(
                [Limit(name=words, value=slowdown, colour=self._theme.quantity(Q.CORE_TEMPERATURE_C))]
            )
        if limit is not None:
            words = _("limit {value}").format(value=f"{limit:.0f}")
            self.power.show_limits([Limit(name=words, value=limit, colour=self._theme.quantity(Q.POWER_AVERAGE_W))])

    @staticmethod
    def _curve(plot: TimePlot, history: History, t0: float, t1: float, **quantities: Quantity) -> None:
        data = {}
        for key, quantity in quantities.items():
            times, values = history.tracks[quantity].window(t0, t1)
            data[key] = (times - t0, values)
            value = history.tracks[quantity].at(t1)
            name = sentences.quantity(quantity)
            missing = _("{name}: not reported by this card").format(name=name)
            plot.show_reading(key, value, name if value is not None else missing)
        seen = any(len(times) for times, _values in data.values())
        plot.show_hint("" if seen else _("not reported by this card"))
        plot.show_range(data, 0.0, max(1.0, t1 - t0))

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        self.batch.mark(point_ids)
        self.peaks.mark(point_ids)
        self.together.mark(point_ids)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        bars = {"peak": self.peaks, "together": self.together}
        if self.batch.shows(point_ids):
            return "batch"
        for name, picture in bars.items():
            if {row.point_id for group in picture.groups for row in group.rows} & point_ids:
                return name
        return None
