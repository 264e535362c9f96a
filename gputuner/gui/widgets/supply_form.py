# pyright: standard
"""The form of a supply: how many cards, what else draws, the supply and circuit that are there, degrees, money."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gputuner.analysis.supply import RANGES, Wishes
from gputuner.gui.widgets.entry_boxes import DecimalBox, WholeBox
from gputuner.gui.widgets.fold import Fold
from gputuner.gui.widgets.labels import label
from gputuner.language.words import _

UNTOLD = {"watts": 350.0, "cpu_w": 200.0, "rest_w": 90.0, "psu_w": 1000.0, "price": 0.3, "efficiency": 90.0}
"""Where a value starts once it is told."""
PERCENT = 100.0


class OpenBox(DecimalBox):
    """A number that need not be told: below the lowest one stands what is taken then."""

    def __init__(self, low: float, high: float, start: float, unit: str, untold: str, decimals: int = 0) -> None:
        super().__init__()
        self._low, self._start = low, start
        step = 10.0**-decimals
        self.setDecimals(decimals)
        self.setRange(low - step, high)
        self.setSingleStep(10.0 if not decimals and high > PERCENT else step)
        self.setSuffix(f" {unit}" if unit else "")
        self.setSpecialValueText(untold)
        self.setValue(self.minimum())

    @property
    def told(self) -> float | None:
        """The number; None: not told."""
        return None if self.value() < self._low else self.value()

    def tell(self, value: float | None) -> None:
        """Show a number, or that it is not told."""
        self.setValue(self.minimum() if value is None else value)

    def stepBy(self, steps: int) -> None:
        """The first step from "not told" leads to a usual number."""
        if self.told is None and steps > 0:
            self.setValue(self._start)
        elif self.told is not None and self.value() + steps * self.singleStep() < self._low:
            self.setValue(self.minimum())
        else:
            super().stepBy(steps)


class SupplyForm(QWidget):
    """Everything has a usual value; the plan follows at once."""

    changed = Signal()
    """The user changed a value."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2)
        self.more = Fold()
        self._boxes: list[WholeBox | DecimalBox] = []
        low, high = RANGES["cards"]
        self.cards = WholeBox()
        self.cards.setRange(int(low), int(high))
        self._add(self.cards, _("Cards"), _("So many cards like the chosen one in the machine."))
        self.watts = self._open("watts", "W", _("as measured"))
        self._add(self.watts, _("Watts of each"), _("Instead of what its stored sessions, its limit or its sheet say."))
        self.cpu = self._open("cpu_w", "W", _("usual"))
        self._add(self.cpu, _("Processor"), _("Watts of the processor under load."), rare=True)
        self.rest = self._open("rest_w", "W", _("usual"))
        self._add(self.rest, _("Everything else"), _("Watts of board, memory, disks and fans."), rare=True)
        self.psu = self._open("psu_w", "W", _("what is needed"))
        self._add(self.psu, _("Power supply"), _("Rating of the power supply that is there."))
        self.efficiency = OpenBox(50, 100, UNTOLD["efficiency"], "%", _("80 PLUS Gold"))
        self._add(self.efficiency, _("Its efficiency"), _("At the load that it has; its sheet tells."), rare=True)
        self.volts = self._real("circuit_volts", 230.0, "V")
        self._add(self.volts, _("Outlet"), _("Of the outlet: 230, 120, 100 …"))
        self.amps = self._real("circuit_amps", 16.0, "A")
        self._add(self.amps, _("Breaker"), _("Rating of the circuit's breaker."))
        self.air = self._real("air_rise_k", 10.0, "K")
        why = _("Degrees that the air may warm on its way through.")
        self._add(self.air, _("Air may warm by"), why, rare=True)
        self.coolant = self._real("coolant_rise_k", 10.0, "K")
        why = _("Degrees that the coolant may be above the air.")
        self._add(self.coolant, _("Coolant above air"), why, rare=True)
        self.hours = self._real("hours_per_day", 24.0, "h")
        self._add(self.hours, _("Hours a day"), _("Hours a day that the machine works."), rare=True)
        self.price = OpenBox(0.01, RANGES["price"][1], UNTOLD["price"], "", _("not told"), decimals=3)
        self.price.setSingleStep(0.01)
        self._add(self.price, _("Price of a kWh"), _("What a kWh costs, in your currency."), rare=True)
        self.column.addWidget(self.more)
        self._usual = self.kept
        self.changed.connect(self._tell_more)

    def _open(self, name: str, unit: str, untold: str) -> OpenBox:
        low, high = RANGES[name]
        return OpenBox(low, high, UNTOLD[name], unit, untold)

    def _real(self, name: str, usual: float, unit: str) -> DecimalBox:
        box = DecimalBox()
        box.setDecimals(0)
        low, high = RANGES[name]
        box.setRange(max(1.0, low), high)
        box.setValue(usual)
        box.setSuffix(f" {unit}")
        return box

    def _add(self, box: WholeBox | DecimalBox, name: str, why: str, *, rare: bool = False) -> None:
        column = self.more.column if rare else self.column
        self._boxes.append(box)
        box.setAccessibleName(name)
        box.setToolTip(why)
        box.setMinimumWidth(1)
        tell: Callable[[object], None] = lambda _value: self.changed.emit()  # noqa: E731
        box.valueChanged.connect(tell)
        column.addWidget(label(name, "muted"))
        column.addWidget(box)
        column.addSpacing(6)

    def _tell_more(self) -> None:
        """The fold says how much in it is not as usual."""
        told = zip(self._boxes, self._usual, strict=True)
        self.more.tell_set(sum(self.more.isAncestorOf(box) and box.value() != usual for box, usual in told))

    @property
    def kept(self) -> tuple[float, ...]:
        """All numbers as they stand, for a form that is built anew."""
        return tuple(float(box.value()) for box in self._boxes)

    def keep(self, kept: tuple[float, ...]) -> None:
        """Put them in; none: leave what stands."""
        for box, value in zip(self._boxes, kept, strict=False):
            if isinstance(box, WholeBox):
                box.setValue(int(value))
            else:
                box.setValue(value)
        self._tell_more()

    @property
    def wishes(self) -> Wishes:
        """What the form says."""
        share = self.efficiency.told
        return Wishes(
            cpu_w=self.cpu.told,
            rest_w=self.rest.told,
            psu_w=self.psu.told,
            efficiency=None if share is None else share / PERCENT,
            coolant_rise_k=self.coolant.value(),
            air_rise_k=self.air.value(),
            circuit_volts=self.volts.value(),
            circuit_amps=self.amps.value(),
            price=self.price.told,
            hours_per_day=self.hours.value(),
        )
