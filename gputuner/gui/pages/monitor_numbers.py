# pyright: standard
"""The head of Monitor: who the card is, what limits it, five big numbers, the ribbon."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout

from gputuner.gui.history import Span, shares
from gputuner.gui.live import LiveCard, Shown
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.big_number import BigNumber
from gputuner.gui.widgets.labels import Elided, label
from gputuner.gui.widgets.pill import LimiterPill
from gputuner.gui.widgets.ribbon import Ribbon
from gputuner.language import sentences
from gputuner.language.numbers import MISSING, grouped, number
from gputuner.language.words import _
from gputuner.model.cards import CardState
from gputuner.model.quantities import Limiter, Quantity

GIB = 2**30


def percent(value: float) -> str:
    """A percentage as a whole number."""
    return f"{value:.0f} %"


def gib(value: float) -> str:
    """GiB with one decimal."""
    return f"{value:.1f}"


def limited_words(limiter: Limiter) -> str:
    """What the pill says."""
    match limiter:
        case Limiter.NONE:
            return _("not limited")
        case Limiter.IDLE:
            return _("idle")
        case Limiter.POWER:
            return _("limited by power")
        case Limiter.THERMAL_SOFTWARE:
            return _("limited by heat")
        case Limiter.THERMAL_HARDWARE:
            return _("slowed down by heat")
        case Limiter.POWER_BRAKE:
            return _("limited by the power brake")
        case Limiter.HARDWARE:
            return _("slowed down by the hardware")
        case Limiter.USER_CAP:
            return _("limited by a set clock")
        case Limiter.SYNC_BOOST:
            return _("limited by sync boost")
        case Limiter.UNKNOWN:
            return _("limiter unknown")


def identity_line(card: LiveCard) -> str:
    """Mod, link and driver of a card in one line."""
    info = card.info
    parts: list[str] = []
    if info.catalog and info.catalog.modded:
        base = info.catalog.base_name or info.name
        parts.append(_("memory mod of {base}").format(base=base))
    elif info.catalog and info.catalog.note:
        parts.append(sentences.catalog_note(info.catalog.note))
    generation = card.latest.get(Quantity.PCIE_GENERATION, card.once("pcie_generation")).value
    width = card.latest.get(Quantity.PCIE_WIDTH, card.once("pcie_width")).value
    if generation and width:
        link = f"PCIe {generation:.0f}.0 × {width:.0f}"
        most = info.number("pcie_width_max")
        if most and width < most:
            link += " " + _("(of × {width})").format(width=f"{most:.0f}")
        parts.append(link)
    driver = info.readings.get("driver")
    if driver is not None and driver.value is not None:
        parts.append(_("driver {version}").format(version=driver.value))
    if info.is_cpu:
        parts.append(_("the host's own processor"))
    return " · ".join(parts)


def _share_name(limiter: Limiter) -> str:
    return _("not limited") if limiter is Limiter.NONE else sentences.limiter(limiter)


def share_words(theme: Theme, spans: list[Span], length_s: float) -> tuple[str, str]:
    """How much of the time each limiter held: with coloured squares (HTML), and plain."""
    pieces: list[str] = []
    plain: list[str] = []
    for limiter, share in shares(spans).items():
        words = f"{_share_name(limiter)} {share * 100:.0f} %"
        square = "▨" if limiter is Limiter.UNKNOWN else "■"
        pieces.append(f'<span style="color:{theme.limiter(limiter)}">{square}</span> {words}')
        plain.append(words)
    title = _("Limits, {minutes}:").format(minutes=span_words(length_s))
    text = f"{title} " + " &nbsp; ".join(pieces) if pieces else _("Limiter: nothing seen yet")
    return text, ", ".join(plain)


class MonitorHead(QFrame):
    """Everything about the chosen card that must be readable from a metre away."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._theme = theme
        self._name = label("", "title")
        self._identity = Elided()
        self._pill = LimiterPill(theme)
        self.ribbon = Ribbon(theme)
        self._shares = QLabel()
        self._shares.setProperty("role", "muted")
        self.numbers = {
            "core": BigNumber(theme, _("core temperature"), theme.vermilion),
            "power": BigNumber(theme, _("power"), theme.blue),
            "clock": BigNumber(theme, _("clock"), theme.green),
            "memory": BigNumber(theme, _("memory"), theme.sky),
            "busy": BigNumber(theme, _("utilisation"), theme.purple),
        }
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self._name)
        top.addWidget(self._identity, 1)
        top.addWidget(self._pill)
        row = QHBoxLayout()
        row.setSpacing(28)
        for tile in self.numbers.values():
            row.addWidget(tile, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addLayout(row)
        layout.addSpacing(4)
        layout.addWidget(self.ribbon)
        layout.addWidget(self._shares)

    @property
    def pill(self) -> LimiterPill:
        """What limits the card now."""
        return self._pill

    @property
    def identity(self) -> str:
        """The identity line as shown, unshortened."""
        return self._identity.whole

    @property
    def shares_text(self) -> str:
        """The shares as shown."""
        return self._shares.accessibleName()

    def show_card(self, card: LiveCard) -> None:
        """Show the numbers of a card."""
        self._name.setText(card.info.title)
        self._identity.show_text(identity_line(card))
        faded = card.lost
        if card.lost:
            self._pill.show_limiter(Limiter.UNKNOWN, _("lost"))
        elif card.info.state is CardState.ASLEEP:
            self._pill.show_limiter(Limiter.IDLE, _("asleep"))
        else:
            told = card.shown(Quantity.LIMIT_BITS).value is not None
            words = limited_words(card.limiter) if told else _("limit not reported")
            self._pill.show_limiter(card.limiter, words)
        self._core(card, faded)
        for widget in (self._pill, self.ribbon, self._shares):
            widget.setVisible(not card.info.is_cpu)  # nothing tells what limits a processor
        self._power(card, faded)
        self._clock(card, faded)
        self._memory(card, faded)
        self._busy(card, faded)

    def show_ribbon(self, spans: list[Span], t0_s: float, t1_s: float, marks: list[float]) -> None:
        """Show the limiter over time and its shares."""
        self.ribbon.show_spans(spans, t0_s, t1_s, marks)
        text, plain = share_words(self._theme, spans, t1_s - t0_s)
        if self._shares.text() != text:
            self._shares.setText(text)
            self._shares.setAccessibleName(plain)

    def _core(self, card: LiveCard, faded: bool) -> None:
        tile, shown = self.numbers["core"], card.shown(Quantity.CORE_TEMPERATURE_C)
        if shown.value is None:
            self._missing(tile, _("processor temperature") if card.info.is_cpu else _("core temperature"), shown)
            return
        memory = card.shown(Quantity.MEMORY_TEMPERATURE_C).value
        margin = card.shown(Quantity.SLOWDOWN_MARGIN_C).value
        slowdown = card.info.number("slowdown_c")
        if margin is None and slowdown is not None:
            margin = slowdown - shown.value
        parts: list[str] = []
        if memory is not None:
            parts.append(_("memory {value} °C").format(value=f"{memory:.0f}"))
        if margin is not None:
            parts.append(_("{value} °C to slowdown").format(value=f"{margin:.0f}"))
        parts = parts or [_("processor") if card.info.is_cpu else _("core")]
        top = shown.value + margin if margin is not None else 100.0
        tile.show_value(f"{shown.value:.0f}", "°C", shown.value / max(1.0, top), " · ".join(parts), faded)

    def _power(self, card: LiveCard, faded: bool) -> None:
        tile = self.numbers["power"]
        instant, average = card.shown(Quantity.POWER_INSTANT_W), card.shown(Quantity.POWER_AVERAGE_W)
        shown = instant if instant.value is not None else average
        if shown.value is None:
            self._missing(tile, _("power"), average)
            return
        limit = card.power_limit_w
        parts = [_("of {limit} W").format(limit=f"{limit:.0f}")] if limit else [_("limit not reported")]
        if instant.value is not None and average.value is not None:
            parts.append(_("average {value} W").format(value=f"{average.value:.0f}"))
        tile.show_value(f"{shown.value:.0f}", "W", shown.value / limit if limit else None, " · ".join(parts), faded)

    def _clock(self, card: LiveCard, faded: bool) -> None:
        tile, shown = self.numbers["clock"], card.shown(Quantity.SM_CLOCK_MHZ)
        if shown.value is None:
            self._missing(tile, _("clock"), shown)
            return
        most = card.info.number("sm_clock_max_mhz")
        memory = card.shown(Quantity.MEMORY_CLOCK_MHZ).value
        parts = [_("of {limit} MHz").format(limit=grouped(most))] if most else [_("maximum not reported")]
        if memory is not None:
            parts.append(_("memory {value} MHz").format(value=grouped(memory)))
        tile.show_value(grouped(shown.value), "MHz", shown.value / most if most else None, " · ".join(parts), faded)

    def _memory(self, card: LiveCard, faded: bool) -> None:
        tile, shown = self.numbers["memory"], card.shown(Quantity.MEMORY_USED_BYTES)
        if shown.value is None:
            self._missing(tile, _("memory"), shown)
            return
        total = card.info.memory_total_bytes
        parts = [_("of {total} GiB").format(total=f"{total / GIB:.1f}")] if total else [_("size not reported")]
        count = sum(1 for p in card.processes.processes if p.compute) if card.processes else 0
        if count:
            parts.append(_("{count} computing").format(count=count))
        fraction = shown.value / total if total else None
        tile.show_value(f"{shown.value / GIB:.1f}", "GiB", fraction, " · ".join(parts), faded)

    def _busy(self, card: LiveCard, faded: bool) -> None:
        tile, shown = self.numbers["busy"], card.shown(Quantity.GPU_UTILISATION)
        if shown.value is None:
            self._missing(tile, _("utilisation"), shown)
            return
        parts = [_("busy")]
        tensor, fan = card.shown(Quantity.TENSOR_ACTIVE).value, card.shown(Quantity.FAN_FRACTION).value
        if tensor is not None:
            parts.append(_("tensor {value} %").format(value=f"{tensor * 100:.0f}"))
        if fan is not None:
            parts.append(_("fan {value} %").format(value=f"{fan * 100:.0f}"))
        tile.show_value(f"{shown.value * 100:.0f}", "%", shown.value, " · ".join(parts), faded)

    @staticmethod
    def _missing(tile: BigNumber, name: str, shown: Shown) -> None:
        tile.show_missing(name, sentences.reason(shown.reason) if shown.reason else MISSING)


def span_words(seconds: float) -> str:
    """A time span for people: ``5 min``, ``2 h``."""
    if seconds >= 3600:
        return _("{hours} h").format(hours=number(round(seconds / 3600, 1)))
    return _("{minutes} min").format(minutes=number(round(seconds / 60, 1)))
