"""Cards as the queue needs to see them, read from the telemetry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import psutil

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import Quantity
from gputuner.model.samples import ProcessOnCard, Sample
from gputuner.telemetry.feed import Feed, FeedState

HEAT_MARGIN_C = 10.0
"""No job starts nearer than this to the temperature at which the card slows down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A card at one time.

    ``free_bytes`` None: it does not answer. ``processes`` None: who is there is not told. ``computes``: whether it
    computed just now (None: not told).
    """

    uuid: str
    title: str
    index: int
    total_bytes: int
    free_bytes: int | None = None
    processes: tuple[ProcessOnCard, ...] | None = None
    computes: bool | None = None
    temperature_c: float | None = None
    start_below_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    slots: int | None = None


class Cards(Protocol):
    """The cards that the queue serves."""

    def look(self) -> tuple[Seen, ...]:
        """All of them as they stand now."""
        ...


class FeedCards:
    """Cards of a telemetry feed.

    Of the card ``cpu`` the memory is the machine's, asked for at each look: jobs are not bound to a budget there.
    """

    def __init__(self, feed: Feed, cards: Callable[[], tuple[CardInfo, ...]], slots: int) -> None:
        """Look at those of the ``feed`` that ``cards`` names; ``slots`` jobs at a time on the card ``cpu``."""
        self._feed = feed
        self._cards = cards
        self._slots = slots

    def look(self) -> tuple[Seen, ...]:
        """All of them as they stand now."""
        tick = self._feed.latest() if self._feed.status().state is FeedState.OK else None  # else: old, or nothing
        samples = {sample.card: sample for sample in tick.samples} if tick else {}
        return tuple(self._seen(card, samples.get(card.uuid)) for card in self._cards())

    def _seen(self, card: CardInfo, sample: Sample | None) -> Seen:
        if card.is_cpu:
            return cpu_seen(card.title, self._slots)
        values = sample.values if sample is not None else {}
        table = self._feed.processes(card.uuid)
        slowdown = card.number("slowdown_c")
        utilisation = values.get(Quantity.GPU_UTILISATION)
        return Seen(
            uuid=card.uuid,
            title=card.title,
            index=card.index,
            total_bytes=card.memory_total_bytes or 0,
            free_bytes=_free(card, values),
            processes=None if table is None or table.reason is not None else table.processes,
            computes=None if utilisation is None else utilisation > 0.01,
            temperature_c=values.get(Quantity.CORE_TEMPERATURE_C),
            start_below_c=None if slowdown is None else slowdown - HEAT_MARGIN_C,
            power_w=values.get(Quantity.POWER_AVERAGE_W, values.get(Quantity.POWER_INSTANT_W)),
            power_limit_w=card.number("power_limit_enforced_w"),
        )


def cpu_seen(title: str, slots: int) -> Seen:
    """The machine's own processor: its main memory, and so many jobs at a time."""
    memory = psutil.virtual_memory()
    return Seen(uuid="cpu", title=title, index=0, total_bytes=memory.total, free_bytes=memory.available, slots=slots)


def default_slots() -> int:
    """Half of the physical cores, at least one."""
    return max(1, (psutil.cpu_count(logical=False) or 1) // 2)


def _free(card: CardInfo, values: dict[Quantity, float]) -> int | None:
    if card.state is CardState.ASLEEP:
        return card.memory_total_bytes  # nobody is there, or it would be awake
    if card.state is CardState.LOST or card.memory_total_bytes is None:
        return None
    free = values.get(Quantity.MEMORY_FREE_BYTES)
    used = values.get(Quantity.MEMORY_USED_BYTES)
    if free is not None:
        return int(free)
    return None if used is None else max(0, card.memory_total_bytes - int(used))
