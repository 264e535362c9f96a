# pyright: standard
"""One chip per card: name, temperature, and the limiter's glyph in its colour."""

from collections import Counter
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from gputuner.gui.fonts import tabular
from gputuner.gui.icons import limiter_icon
from gputuner.gui.live import LiveCard
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.flow import FlowLayout
from gputuner.language import terms
from gputuner.language.numbers import MISSING
from gputuner.language.words import _
from gputuner.model.cards import CardState
from gputuner.model.quantities import Limiter, Quantity

MANY = 3
"""More cards than this have short names on their chips."""


def chip_names(cards: Sequence[tuple[int, str]]) -> list[str]:
    """Names on the chips of cards (index, title): numbered where titles repeat, short where there are many."""
    repeated = Counter(title for _index, title in cards)
    if len(cards) > MANY and len(repeated) == 1:
        return [f"GPU {index}" for index, _title in cards]
    names: list[str] = []
    for index, title in cards:
        name = title.removeprefix("NVIDIA ").removeprefix("GeForce ") if len(cards) > MANY else title
        names.append(f"{index} · {name}" if repeated[title] > 1 or len(cards) > MANY else name)
    return names


class Chips(QWidget):
    """The cards to choose from; wraps when there are many."""

    chosen = Signal(str)
    """UUID of the card the user chose."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._layout = FlowLayout(8)
        self.setLayout(self._layout)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        self._icons: dict[str, Limiter] = {}

    @property
    def buttons(self) -> dict[str, QPushButton]:
        """The chips by UUID."""
        return self._buttons

    def show_cards(self, cards: Iterable[LiveCard], current: str | None) -> None:
        """Show chips for exactly these cards and mark the current one."""
        cards = list(cards)
        if list(self._buttons) != [card.info.uuid for card in cards]:
            self._rebuild(cards)
        for card, name in zip(cards, chip_names([(card.info.index, card.info.title) for card in cards]), strict=True):
            self._fill(card, name)
            self._buttons[card.info.uuid].setChecked(card.info.uuid == current)

    def _rebuild(self, cards: list[LiveCard]) -> None:
        for button in self._buttons.values():
            self._group.removeButton(button)
            self._layout.removeWidget(button)
            button.deleteLater()
        self._buttons, self._icons = {}, {}
        for card in cards:
            button = QPushButton()
            button.setProperty("chip", True)
            button.setCheckable(True)
            button.setIconSize(QSize(12, 12))
            tabular(button)
            uuid = card.info.uuid
            button.clicked.connect(lambda _checked=False, uuid=uuid: self.chosen.emit(uuid))
            self._group.addButton(button)
            self._layout.addWidget(button)
            self._buttons[uuid] = button

    def _fill(self, card: LiveCard, name: str) -> None:
        info = card.info
        button = self._buttons[info.uuid]
        if card.lost:
            reading = _("lost")
        elif info.state is CardState.ASLEEP:
            reading = _("asleep")
        else:
            value = card.shown(Quantity.CORE_TEMPERATURE_C).value
            reading = f"{MISSING} °C" if value is None else f"{value:.0f} °C"
            if value is None and info.is_cpu:
                reading = ""
        text = f"{name}   {reading}".rstrip()
        if button.text() != text:
            button.setText(text)
        limiter = Limiter.UNKNOWN if card.lost else card.limiter
        if self._icons.get(info.uuid) is not limiter:
            self._icons[info.uuid] = limiter
            button.setIcon(limiter_icon(limiter, self._theme.limiter(limiter)))
            button.setToolTip(info.title if info.is_cpu else f"{info.title} · {terms.limiter(limiter)}")
