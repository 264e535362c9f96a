"""What the collector says of itself: signs of life, what watching costs, and what its source found out."""

from contextlib import suppress
from typing import Any

from gputuner.model.quantities import Tier
from gputuner.model.readings import Scalar
from gputuner.telemetry.feed import HungCall
from gputuner.telemetry.ledger import Ledger
from gputuner.telemetry.meter import Meter
from gputuner.telemetry.wire import Health


class Vitals:
    """Looks at a collector's ledger, meter and source when asked."""

    def __init__(self, source: object, ledger: Ledger, meter: Meter) -> None:
        """Nothing told yet; a ``source`` may have ``rejected`` (a count) and ``notes``."""
        self._source: Any = source
        self._ledger = ledger
        self._meter = meter
        self._rejected = self._notes_told = 0

    def health(self, now_ns: int, missed: int, hung_calls: tuple[HungCall, ...], all_hung_s: float) -> Health:
        """A sign of life; ``missed``: readings that were not even asked for because time was lost."""
        meter, failing = self._meter, self._ledger.all_failing
        return Health(
            t_ns=now_ns,
            ticks=meter.ticks,
            missed_ticks=meter.missed + missed,
            rejected_values=self._rejected_values(),
            cpu_s=meter.cpu_s(),
            age_s=meter.age_s(now_ns),
            memory_bytes=meter.memory_bytes(),
            interval_s=meter.interval_s(),
            fast_cost=meter.cost(Tier.FAST),
            slow_cost=meter.cost(Tier.SLOW),
            hung_calls=hung_calls,
            all_hung_s=all_hung_s,
            failing=failing,
            error=self._ledger.error_code if failing else "",
        )

    def _rejected_values(self) -> int:
        with suppress(RuntimeError):  # a call took a card away meanwhile: the next time will do
            self._rejected = int(getattr(self._source, "rejected", 0))
        return self._rejected

    def pass_notes_on(self, now_ns: int) -> None:
        """Tell what the source found out by itself, each once."""
        notes: tuple[tuple[str, dict[str, Scalar]], ...] = getattr(self._source, "notes", ())
        for code, params in notes[self._notes_told :]:
            self._ledger.tell(code, now_ns, **params)
        self._notes_told = len(notes)
