"""One further card while trials use it: as safe as the run's own, what it did meanwhile, and whether others came."""

from collections import deque
from collections.abc import Callable, Collection, Sequence

from gputuner.engine.admission import foreign_compute
from gputuner.engine.safety import SafetyWatch
from gputuner.model.cards import CardInfo
from gputuner.model.points import Conditions
from gputuner.model.quantities import Quantity
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import PeerSeen
from gputuner.telemetry.feed import Tick

KEPT_SAMPLES = 20_000
"""As many as of the run's own card."""

ConditionsOf = Callable[[Sequence[Sample], int, int], Conditions]


class PeerWatch:
    """Keeps the samples and process tables of one card from its admission until it is let go."""

    def __init__(self, safety: SafetyWatch) -> None:
        """The run works on the card of ``safety`` from now on."""
        self.safety = safety
        self._samples: deque[Sample] = deque(maxlen=KEPT_SAMPLES)
        self._tables: list[CardProcesses] = []
        safety.work_starts()

    @property
    def card(self) -> CardInfo:
        """The card as it stands."""
        return self.safety.card

    def load_starts(self, t_ns: int) -> None:
        """Our load begins; of the tables read before only the last says who is there now."""
        del self._tables[:-1]
        self.safety.load_starts(t_ns)

    def take(self, tick: Tick) -> None:
        """Keep what ``tick`` tells of the card."""
        self._samples.extend(sample for sample in tick.samples if sample.card == self.card.uuid)
        self._tables.extend(table for table in tick.processes if table.card == self.card.uuid)

    def shared(self, ours: Collection[int], workers: int, *, named: bool) -> bool:
        """True if others computed on the card during the last load, or right before it.

        Where the driver's numbers are not ours (``named`` False: a container with numbers of its own), as many
        processes as we have workers here are taken for ours.

        Args:
            ours: process numbers of the run's workers.
            workers: how many of them see the card.
            named: our workers stand under their own numbers in the driver's tables.
        """
        present = [[p.pid for p in foreign_compute(table)] for table in self._tables]
        if named:
            return any(pid not in ours for pids in present for pid in pids)
        return any(len(pids) > workers for pids in present)

    def seen(self, conditions_of: ConditionsOf, t0_ns: int, t1_ns: int, *, shared: bool) -> PeerSeen:
        """What the card did in the window."""
        core = Quantity.CORE_TEMPERATURE_C
        warm = [s.values[core] for s in self._samples if core in s.values and t0_ns <= s.t_ns <= t1_ns]
        return PeerSeen(
            card=self.card,
            conditions=conditions_of(self._samples, t0_ns, t1_ns),
            core_temperature_max_c=max(warm, default=None),
            shared=shared,
        )
