# pyright: standard
"""What other gputuner programs do with the cards that are shown: looked for now and then in the background."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from time import monotonic

from PySide6.QtCore import QObject

from gputuner.gui.live import LiveCard
from gputuner.gui.ports import Ports
from gputuner.gui.run_worker import Background
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.holders import WATCH, Holder

EVERY_S = 2.0
"""How often it is looked while Monitor is shown; a look reads a few small files."""
READS = (WATCH, "record")
"""Purposes that leave a card free for experiments."""


class Elsewhere(QObject):
    """Keeps the last answer; never waits for one."""

    def __init__(self, ports: Ports, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ports = ports
        self._background = background
        self._asked_s = float("-inf")
        self._out = False
        self.holders: Mapping[str, tuple[Holder, ...]] = {}

    def look(self, cards: Iterable[str]) -> None:
        """Ask about these cards, if the last answer is there and some seconds old."""
        if not self._out and monotonic() - self._asked_s >= EVERY_S:
            self.ask(cards)

    def ask(self, cards: Iterable[str]) -> None:
        """Ask about these cards now."""
        self._out, self._asked_s = True, monotonic()
        wanted = ("", *cards)
        self._background.ask(lambda: self._ports.elsewhere(wanted), self._know, lambda _err: self._know({}))

    def lines(self, cards: Mapping[str, LiveCard]) -> tuple[str, ...]:
        """A sentence for each program and card: who measures first, then who records, then who only reads."""
        pairs = [(uuid, holder) for uuid, those in self.holders.items() if uuid in cards for holder in those]
        pairs.sort(key=lambda pair: pair[1].purpose in READS)
        told = {holder.pid for _uuid, holder in pairs}
        watching = [holder for holder in self.holders.get("", ()) if holder.pid is None or holder.pid not in told]
        return (
            *(_used(cards[uuid].info.title, holder) for uuid, holder in pairs),
            *(_ended(_("Another gputuner reads the cards too"), holder) for holder in watching),
        )

    def _know(self, holders: Mapping[str, tuple[Holder, ...]]) -> None:
        self._out, self.holders = False, holders


def _used(card: str, holder: Holder) -> str:
    if holder.purpose in READS:
        return _ended(_("{card} is being recorded by another gputuner").format(card=card), holder)
    return _ended(_("{card} is being measured by another gputuner").format(card=card), holder)


def _ended(sentence: str, holder: Holder) -> str:
    """The sentence with what is known of the program."""
    parts = [_("process {pid}").format(pid=holder.pid)] if holder.pid is not None else []
    parts += [holder.command] if holder.command else []
    parts += [_("since {time}").format(time=_clock(holder.since_unix_s))] if holder.since_unix_s is not None else []
    return _("{sentence}: {details}").format(sentence=sentence, details=_(", ").join(parts)) if parts else sentence


def _clock(unix_s: float) -> str:
    """Time of the day, with the date if it is not today's."""
    try:
        then = datetime.fromtimestamp(unix_s)
    except (OverflowError, OSError, ValueError):
        return numbers.MISSING
    return then.strftime("%H:%M" if then.date() == datetime.now().date() else "%Y-%m-%d %H:%M")
