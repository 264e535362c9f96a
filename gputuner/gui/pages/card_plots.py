# pyright: standard
"""Pictures over time named by what is measured: a processor has no SM clock and no memory clock, and is no GPU."""

from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QGridLayout

from gputuner.gui.plots.time_plot import TimePlot
from gputuner.language.names import PROCESSOR
from gputuner.language.words import _
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity

Q = Quantity
Told = Mapping[str, tuple[TimePlot, Sequence[Quantity]]]
"""Pictures by name, with the quantities they draw."""


def name_for(info: CardInfo, plots: Told) -> None:
    """Title and curves as the device has them; what a processor cannot have is left out."""
    titles = {"clock": _("Clock"), "memory": _("Memory of the host"), "busy": _("Processor in use")}
    words = {
        Q.CORE_TEMPERATURE_C: _("processor"),
        Q.POWER_AVERAGE_W: _("average"),
        Q.SM_CLOCK_MHZ: _("processor"),
        Q.MEMORY_USED_BYTES: _("used"),
        Q.GPU_UTILISATION: _("processor"),
    }
    for name, (plot, quantities) in plots.items():
        if info.is_cpu:
            names = {each.value: words[each] for each in quantities if each in PROCESSOR and each in words}
            plot.name_curves(titles.get(name, plot.title), names)
        else:
            plot.name_curves(plot.title, None)


def arrange(layout: QGridLayout, plots: Sequence[TimePlot], columns: int, first: int = 0) -> None:
    """Put the pictures that have something to show beside each other; the others are hidden."""
    shown = [plot for plot in plots if plot.named]
    for plot in plots:
        layout.removeWidget(plot)
        if plot not in shown:
            plot.hide()
    for number, plot in enumerate(shown):
        layout.addWidget(plot, first + number // columns, number % columns)
        plot.show()  # after it has its place: without a parent it would be a window
