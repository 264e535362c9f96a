"""What a telemetry event carries beside samples and process tables: gaps, XIDs, changed cards. Rare: kept as JSON."""

from dataclasses import dataclass

from gputuner.model import codec
from gputuner.model.cards import CardInfo
from gputuner.model.events import TelemetrySampled
from gputuner.model.samples import CardProcesses, Gap, XidSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The rare parts of one telemetry event."""

    gaps: tuple[Gap, ...] = ()
    xids: tuple[XidSeen, ...] = ()
    cards: tuple[CardInfo, ...] = ()

    @classmethod
    def of(cls, event: TelemetrySampled) -> "Facts":
        """The rare parts of ``event``."""
        return cls(gaps=event.gaps, xids=event.xids, cards=event.cards)

    @property
    def empty(self) -> bool:
        """True if there is nothing to keep."""
        return not (self.gaps or self.xids or self.cards)


def encode_facts(facts: Facts) -> str | None:
    """JSON, or None if there is nothing to keep."""
    return None if facts.empty else codec.encode(facts).decode()


def decode_facts(text: str | None) -> Facts:
    """The facts in a cell of ``ticks.facts``.

    Raises:
        StoreError: the text is damaged.
    """
    return codec.decode(text.encode(), Facts) if text else Facts()


def decode_processes(text: str | None) -> tuple[CardProcesses, ...]:
    """The process tables in a cell of ``ticks.processes``.

    Raises:
        StoreError: the text is damaged.
    """
    return codec.decode(text.encode(), tuple[CardProcesses, ...]) if text else ()
