# pyright: standard
"""A watched command as it runs: step time, waiting, cards, processor and memory on one time axis."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gputuner.gui.history import History, Track
from gputuner.gui.pages.monitor_numbers import GIB
from gputuner.gui.plots.time_plot import Curve, TimePlot
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.watched_history import CARD_MEMORY, CORES, MEMORY, STEP, WAITING
from gputuner.language.numbers import number
from gputuner.language.words import _
from gputuner.model.quantities import Quantity

Q = Quantity
MILLI = 1e-3
Floats = NDArray[np.float64]


class WatchLive(QWidget):
    """Six small plots; those of the card step aside where none is there."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")

        def plot(title: str, unit: str, curve: Curve) -> TimePlot:
            return TimePlot(theme, title, unit, [curve])

        def curve(key: str, name: str, colour: str, *, area: bool = False) -> Curve:
            return Curve(key=key, name=name, colour=colour, area=area, text=number)

        self.step = plot(_("Step"), "ms", curve(STEP, _("a step"), theme.green))
        self.waiting = TimePlot(theme, _("Waiting for data"), "%", [
            Curve(key=WAITING, name=_("of the time"), colour=theme.orange, area=True, text=number)
        ], top=100.0)  # fmt: skip
        self.card = TimePlot(theme, _("Card in use"), "%", [
            Curve(key="use", name=_("GPU"), colour=theme.quantity(Q.GPU_UTILISATION), text=number)
        ], top=100.0)  # fmt: skip
        self.card_memory = plot(
            _("Memory on the card"), "GiB", curve(CARD_MEMORY, _("the command"), theme.quantity(Q.MEMORY_USED_BYTES))
        )
        self.cores = plot(_("Processor"), _("cores"), curve(CORES, _("busy"), theme.purple, area=True))
        self.memory = plot(_("Memory of the host"), "GiB", curve(MEMORY, _("the command"), theme.sky, area=True))
        self.plots = (self.step, self.waiting, self.card, self.card_memory, self.cores, self.memory)
        grid = QGridLayout()
        grid.setSpacing(8)
        for number_, each in enumerate(self.plots):
            grid.addWidget(each, number_ // 2, number_ % 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(grid)
        for each in self.plots:
            each.pointed.connect(self._point)

    def show_facts(self, facts: RunFacts) -> None:
        """Draw all that was seen so far."""
        begin = facts.command.t_ns * 1e-9 if facts.command is not None else 0.0
        end = max(begin + 1.0, (facts.ended.t_ns if facts.ended is not None else facts.t_ns) * 1e-9)
        tracks = facts.watched.tracks
        unseen = _no_training(facts)
        self._draw(self.step, STEP, tracks[STEP], begin, end, MILLI, unseen)
        self._draw(self.waiting, WAITING, tracks[WAITING], begin, end, 0.01, unseen)
        self._draw(self.cores, CORES, tracks[CORES], begin, end, 1.0, _("not seen yet"))
        self._draw(self.memory, MEMORY, tracks[MEMORY], begin, end, GIB, _("not seen yet"))
        self._show_card(facts, begin, end)

    def _show_card(self, facts: RunFacts, begin: float, end: float) -> None:
        there = bool(facts.cards) and not all(card.is_cpu for card in facts.cards)
        for plot in (self.card, self.card_memory):
            plot.setVisible(there)
        if not there:
            return
        history = _busiest(facts)
        track = history.tracks[Q.GPU_UTILISATION] if history is not None else Track()
        self._draw(self.card, "use", track, begin, end, 0.01, _("not reported by this card"))
        held = facts.watched.tracks[CARD_MEMORY]
        self._draw(self.card_memory, CARD_MEMORY, held, begin, end, GIB, _("nothing held yet, or not told"))

    @staticmethod
    def _draw(plot: TimePlot, key: str, track: Track, begin: float, end: float, per: float, unseen: str) -> None:
        times, values = track.window(begin, end)
        scaled: Floats = values / per
        there = len(values) > 0 and not bool(np.isnan(values).all())
        last = track.at(end)
        plot.show_reading(key, None if last is None else last / per, "" if there else unseen)
        plot.show_hint("" if there else unseen)
        plot.show_range({key: (times - begin, scaled)}, 0.0, end - begin)

    def _point(self, t_s: float | None) -> None:
        """One cursor in all."""
        for plot in self.plots:
            plot.show_cursor(t_s)


def _busiest(facts: RunFacts) -> History | None:
    """Telemetry of the card that the command holds most memory on; without that of the first."""
    last = facts.watched.last
    held = sorted(last.cards, key=lambda card: -(card.own_bytes or 0)) if last is not None else []
    wanted = [card.card for card in held] or [card.uuid for card in facts.cards]
    return next((facts.traces[uuid] for uuid in wanted if uuid in facts.traces), None)


def _no_training(facts: RunFacts) -> str:
    if facts.command is not None and not facts.command.hooks:
        return _("its Python is not looked into")
    return _("no training step seen") if facts.ended is not None else _("no training step seen yet")
