# pyright: standard
"""The six pictures of Monitor on one time axis with one cursor."""

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gputuner.gui.alert_marks import alert_mark
from gputuner.gui.history import thinned
from gputuner.gui.live import LiveCard
from gputuner.gui.pages.card_plots import arrange, name_for
from gputuner.gui.pages.monitor_numbers import GIB, gib, percent
from gputuner.gui.plots.time_marks import Mark, signs
from gputuner.gui.plots.time_plot import Curve, Limit, TimePlot
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language.numbers import grouped
from gputuner.language.words import _
from gputuner.model.quantities import Quantity

Q = Quantity


@dataclass(frozen=True, slots=True)
class _Picture:
    plot: TimePlot
    quantities: tuple[Quantity, ...]
    factor: float = 1.0


class MonitorPlots(QWidget):
    """Temperature, power, clock, memory, utilisation and memory clock, each with its own scale."""

    pointed = Signal(object)
    """Seconds before now under the mouse (≤ 0), or None."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._cursor: float | None = None

        def curve(quantity: Quantity, name: str, **style: object) -> Curve:
            return Curve(key=quantity.value, name=name, colour=theme.quantity(quantity), **style)  # type: ignore[arg-type]

        self.pictures: dict[str, _Picture] = {
            "temperature": _Picture(
                TimePlot(
                    theme,
                    _("Temperature"),
                    "°C",
                    [
                        curve(Q.CORE_TEMPERATURE_C, _("core")),
                        curve(Q.MEMORY_TEMPERATURE_C, _("memory")),
                        curve(Q.HOTSPOT_TEMPERATURE_C, _("hotspot"), dashed=True),
                    ],
                ),
                (Q.CORE_TEMPERATURE_C, Q.MEMORY_TEMPERATURE_C, Q.HOTSPOT_TEMPERATURE_C),
            ),
            "power": _Picture(
                TimePlot(
                    theme,
                    _("Power"),
                    "W",
                    [
                        curve(Q.POWER_INSTANT_W, _("instant"), area=True),
                        curve(Q.POWER_AVERAGE_W, _("average")),
                    ],
                ),
                (Q.POWER_INSTANT_W, Q.POWER_AVERAGE_W),
            ),
            "clock": _Picture(
                TimePlot(
                    theme, _("SM clock"), "MHz", [curve(Q.SM_CLOCK_MHZ, _("SM"), text=grouped)], axis_text=grouped
                ),
                (Q.SM_CLOCK_MHZ,),
            ),
            "memory": _Picture(
                TimePlot(theme, _("Memory"), "GiB", [curve(Q.MEMORY_USED_BYTES, _("used"), text=gib)]),
                (Q.MEMORY_USED_BYTES,),
                1 / GIB,
            ),
            "busy": _Picture(
                TimePlot(
                    theme,
                    _("Utilisation"),
                    "%",
                    [
                        curve(Q.GPU_UTILISATION, _("GPU"), text=percent),
                        curve(Q.TENSOR_ACTIVE, _("tensor"), text=percent, dashed=True),
                    ],
                    top=105.0,
                ),
                (Q.GPU_UTILISATION, Q.TENSOR_ACTIVE),
                100.0,
            ),
            "memory_clock": _Picture(
                TimePlot(
                    theme,
                    _("Memory clock"),
                    "MHz",
                    [curve(Q.MEMORY_CLOCK_MHZ, _("memory"), text=grouped)],
                    axis_text=grouped,
                ),
                (Q.MEMORY_CLOCK_MHZ,),
            ),
        }
        self._device: tuple[str, frozenset[str]] | None = None
        self._grid = layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        arrange(layout, [picture.plot for picture in self.pictures.values()], 3)
        for picture in self.pictures.values():
            picture.plot.pointed.connect(self.pointed)
        for column in range(3):
            layout.setColumnStretch(column, 1)

    def show_card(self, card: LiveCard, now_s: float, span_s: float) -> None:
        """Draw the last ``span_s`` seconds of a card."""
        self._name(card)
        marks = self._marks(card, now_s, span_s)
        for name, picture in self.pictures.items():
            data = {}
            for quantity in picture.quantities:
                times, values = thinned(*card.history.tracks[quantity].window(now_s - span_s, now_s))
                data[quantity.value] = (times - now_s, values * picture.factor)
            picture.plot.fade(card.lost)
            picture.plot.show_limits(self._limits(name, card))
            picture.plot.show_curves(data, span_s)
            picture.plot.show_marks(marks if name == "temperature" else signs(marks))
            self._hint(picture, card, data)
        self._readings(card, now_s)

    def _name(self, card: LiveCard) -> None:
        """By device; a processor's pictures that it has no reading for are left out."""
        silent = frozenset(
            name
            for name, picture in self.pictures.items()
            if card.info.is_cpu
            and all(card.shown(q).value is None and card.shown(q).reason for q in picture.quantities)
        )
        if self._device == (card.info.uuid, silent):
            return
        self._device = card.info.uuid, silent
        name_for(card.info, {name: (picture.plot, picture.quantities) for name, picture in self.pictures.items()})
        for name in silent:
            self.pictures[name].plot.name_curves("", {})
        arrange(self._grid, [picture.plot for picture in self.pictures.values()], 3)

    def show_cursor(self, relative_s: float | None) -> None:
        """Put the common cursor at a time before now."""
        self._cursor = relative_s
        for picture in self.pictures.values():
            picture.plot.show_cursor(relative_s)

    def show_readings(self, card: LiveCard, now_s: float) -> None:
        """Show the values at the cursor, else the latest."""
        self._readings(card, now_s)

    def _readings(self, card: LiveCard, now_s: float) -> None:
        for picture in self.pictures.values():
            for quantity in picture.quantities:
                shown = card.shown(quantity)
                value, why = shown.value, shown.reason
                if self._cursor is not None:
                    value = card.history.tracks[quantity].at(now_s + self._cursor)
                name = sentences.quantity(quantity, processor=card.info.is_cpu)
                hint = f"{name}: {sentences.reason(why)}" if value is None and why else name
                scaled = None if value is None else value * picture.factor
                picture.plot.show_reading(quantity.value, scaled, hint, card.lost)

    @staticmethod
    def _hint(picture: _Picture, card: LiveCard, data: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        if any(len(values) and not np.isnan(values).all() for _times, values in data.values()):
            picture.plot.show_hint("")
            return
        reason = card.shown(picture.quantities[0]).reason
        picture.plot.show_hint(sentences.reason(reason) if reason else _("nothing in this time span"))

    def _limits(self, name: str, card: LiveCard) -> list[Limit]:
        theme, info = self._theme, card.info
        result: list[Limit] = []

        def add(text: str, value: float | None, quantity: Quantity) -> None:
            if value is not None:
                words = text.format(value=grouped(value))
                result.append(Limit(name=words, value=value, colour=theme.quantity(quantity)))

        if name == "temperature":
            add(_("core slows down {value}"), info.number("slowdown_c"), Q.CORE_TEMPERATURE_C)
            if card.shown(Q.MEMORY_TEMPERATURE_C).value is not None:
                add(_("memory limit {value}"), info.number("memory_max_c"), Q.MEMORY_TEMPERATURE_C)
        elif name == "power":
            add(_("limit {value}"), card.power_limit_w, Q.POWER_LIMIT_ENFORCED_W)
        elif name == "memory":
            total = info.memory_total_bytes
            if total:
                result.append(
                    Limit(
                        name=_("total {value}").format(value=f"{total / GIB:.1f}"),
                        value=total / GIB,
                        colour=theme.quantity(Q.MEMORY_USED_BYTES),
                        always=True,
                    )
                )
        return result

    @staticmethod
    def _marks(card: LiveCard, now_s: float, span_s: float) -> list[Mark]:
        marks: list[Mark] = []
        for gap in card.history.gaps:
            t0, t1 = gap.t0_ns * 1e-9 - now_s, gap.t1_ns * 1e-9 - now_s
            if t1 > -span_s:
                text = _("no telemetry: {reason}").format(reason=sentences.reason(gap.reason))
                marks.append(Mark(t0_s=max(t0, -span_s), t1_s=t1, text=text))
        for xid in card.history.xids:
            t0 = xid.t_ns * 1e-9 - now_s
            if t0 > -span_s:
                marks.append(Mark(t0_s=t0, t1_s=None, text=f"XID {xid.xid}"))
        alerts = [told for told in card.history.alerts if told.t_s - now_s > -span_s]
        marks += [alert_mark(told, now_s) for told in alerts]
        return marks
