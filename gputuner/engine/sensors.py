"""Whether the sensors of a run's cards can be believed: noted once, never a reason to stop."""

from collections import deque

from gputuner.analysis.telemetry_quality import QualityNote, stuck_temperature
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

KEPT = 3600
EVERY_NS = 900_000_000
"""One reading a second tells enough."""
JUDGED_EVERY = 10

Row = tuple[float, float, float]


class SensorWatch:
    """Watches one card's temperature against its power; silent from its first movement on, or once it has spoken."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._rows: deque[Row] | None = deque(maxlen=KEPT)
        self._last_ns = 0
        self._count = 0

    def take(self, sample: Sample) -> QualityNote | None:
        """A note as soon as the temperature has stood still for too long under a changing load."""
        core = sample.values.get(Quantity.CORE_TEMPERATURE_C)
        power = sample.values.get(Quantity.POWER_INSTANT_W, sample.values.get(Quantity.POWER_AVERAGE_W))
        if self._rows is None or core is None or power is None:
            return None
        if self._rows and core != self._rows[0][1]:
            self._rows = None
            return None
        if self._rows and sample.t_ns - self._last_ns < EVERY_NS:
            return None
        self._last_ns = sample.t_ns
        self._rows.append((sample.t_ns / 1e9, core, power))
        self._count += 1
        if self._count % JUDGED_EVERY:
            return None
        t_s, temperature_c, power_w = zip(*self._rows, strict=True)
        note = stuck_temperature(t_s, temperature_c, power_w)
        if note is not None:
            self._rows = None
        return note
