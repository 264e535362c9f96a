"""One card while a command runs: what it did, and whose memory it held, in bounded room however long that takes."""

from collections.abc import Sequence

from gputuner.model.cards import CardInfo
from gputuner.model.followed import CardHeld
from gputuner.model.quantities import Quantity
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.watched import CardUse
from gputuner.telemetry.conditions import conditions

MOST_SAMPLES = 3600
"""Half an hour at 2 Hz; from then on every second sample is kept, then every fourth, and so on."""
FILLED_BYTES = 128 * 2**20
"""Below a CUDA context with anything in it."""
_MEANS = (Quantity.SM_ACTIVE, Quantity.TENSOR_ACTIVE, Quantity.DRAM_ACTIVE, Quantity.MEMORY_UTILISATION)


class CardTally:
    """Takes the samples and process tables of one card."""

    def __init__(self, card: CardInfo) -> None:
        """Nothing seen yet."""
        self._card = card
        self._samples: list[Sample] = []
        self._stride = 1
        self._arrived = 0
        self._used_first: float | None = None
        self._used_peak: float | None = None
        self._own_peak: int | None = None
        self._others_peak: int | None = None
        self._others_computed: bool | None = None
        self._unseen = False
        self._own_known = True
        self.used = False
        """Whether the command was seen on it."""
        self.held: CardHeld | None = None
        """Whose memory it held at the last table."""

    @property
    def uuid(self) -> str:
        """Whose tally this is."""
        return self._card.uuid

    @property
    def title(self) -> str:
        """What people call it."""
        return self._card.title

    @property
    def filled(self) -> bool:
        """Whether its memory in use has grown by more than a driver's noise."""
        return (self._used_peak or 0.0) - (self._used_first or 0.0) >= FILLED_BYTES

    def take(self, sample: Sample) -> None:
        """Count one sample."""
        used = sample.values.get(Quantity.MEMORY_USED_BYTES)
        if used is not None:
            self._used_first = used if self._used_first is None else self._used_first
            self._used_peak = max(self._used_peak or 0.0, used)
        if self._arrived % self._stride == 0:
            self._samples.append(sample)
        self._arrived += 1
        if len(self._samples) > MOST_SAMPLES:
            del self._samples[1::2]
            self._stride *= 2

    def take_table(self, table: CardProcesses, own: set[int], own_bytes: int | None) -> None:
        """Count one process table: ``own`` are the command's processes, which hold ``own_bytes`` (None: not told)."""
        if table.reason is not None:
            self.held = CardHeld(card=self.uuid, own_bytes=None, others_bytes=None)
            return
        mine = [process for process in table.processes if process.pid in own]
        others = [process for process in table.processes if process.pid not in own]
        unseen = any(process.name is None for process in others)  # the driver's numbers are not this container's
        self._unseen = self._unseen or unseen
        self.used = self.used or bool(mine)
        others_bytes = None if unseen else _total([process.memory_bytes for process in others])
        if mine and own_bytes is None:
            self._own_known = False
        self.held = CardHeld(card=self.uuid, own_bytes=own_bytes if mine else None, others_bytes=others_bytes)
        if mine and own_bytes is not None:
            self._own_peak = max(self._own_peak or 0, own_bytes)
        if others_bytes is not None:
            self._others_peak = max(self._others_peak or 0, others_bytes)
        computes = any(process.compute and process.sm_utilisation != 0.0 for process in others if process.name)
        if computes or not unseen:
            self._others_computed = computes or bool(self._others_computed)

    def use(self, t0_ns: int, t1_ns: int) -> CardUse:
        """What the card did in ``[t0_ns, t1_ns]``; memory over the whole time."""
        inside = [sample for sample in self._samples if t0_ns <= sample.t_ns <= t1_ns]
        means = {quantity: _mean(inside, quantity) for quantity in _MEANS}
        return CardUse(
            uuid=self.uuid,
            conditions=conditions(self._samples, t0_ns, t1_ns) if inside else None,
            sm_active=means[Quantity.SM_ACTIVE],
            tensor_active=means[Quantity.TENSOR_ACTIVE],
            dram_active=means[Quantity.DRAM_ACTIVE],
            memory_utilisation=means[Quantity.MEMORY_UTILISATION],
            sm_clock_max_mhz=self._card.number("sm_clock_max_mhz"),
            memory_total_bytes=self._card.memory_total_bytes,
            memory_used_peak_bytes=None if self._used_peak is None else int(self._used_peak),
            tree_memory_peak_bytes=self._own_peak if self._own_known else None,
            others_memory_bytes=None if self._unseen else self._others_peak,
            others_computed=None if self._unseen and not self._others_computed else self._others_computed,
        )


def _mean(samples: Sequence[Sample], quantity: Quantity) -> float | None:
    values = [sample.values[quantity] for sample in samples if quantity in sample.values]
    return sum(values) / len(values) if values else None


def _total(parts: Sequence[int | None]) -> int | None:
    """The sum; None if a part is not known."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
