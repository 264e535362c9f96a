# pyright: standard
"""Temperature, power and SM clock of a run's card over a stretch of the run."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gputuner.gui.history import History
from gputuner.gui.plots.time_plot import Curve, Limit, TimePlot
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.quantities import Quantity

Q = Quantity
Stretch = tuple[float, float]
"""Begin and end in seconds of the run's clock."""


class CardTraces(QWidget):
    """Three plots below each other, with the limits of the card."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme

        def curve(key: str, name: str, quantity: Quantity, *, area: bool = False) -> Curve:
            return Curve(key=key, name=name, colour=theme.quantity(quantity), area=area)

        heat = [curve("core", _("core"), Q.CORE_TEMPERATURE_C), curve("memory", _("memory"), Q.MEMORY_TEMPERATURE_C)]
        draw = [
            curve("instant", _("instant"), Q.POWER_INSTANT_W, area=True),
            curve("average", _("average"), Q.POWER_AVERAGE_W),
        ]
        self.temperature = TimePlot(theme, _("Temperature"), "°C", heat)
        self.power = TimePlot(theme, _("Power"), "W", draw)
        self.clock = TimePlot(theme, _("SM clock"), "MHz", [curve("clock", _("SM"), Q.SM_CLOCK_MHZ)])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for plot, stretch in ((self.temperature, 3), (self.power, 3), (self.clock, 2)):
            layout.addWidget(plot, stretch)

    def show_stretch(self, facts: RunFacts, stretch: Stretch | None) -> None:
        """Draw a stretch of the run; None: from its start to now."""
        card = facts.cards[0] if facts.cards else None
        history = facts.traces.get(card.uuid) if card else None
        if card is None or history is None or history.last_s is None:
            for plot in (self.temperature, self.power, self.clock):
                plot.show_hint(_("no telemetry yet"))
            return
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
