"""Our own load must not break a card (methods §13): when to stop at once, judged tick by tick.

States of a watch: *calm* (no load of ours: nothing stops) → *loaded* (every tick is judged, silence counts) → calm.
"""

from dataclasses import dataclass

from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample
from gputuner.model.steps import Stopped
from gputuner.telemetry.feed import Tick

MARGIN_MIN_C = 3.0
MEMORY_MARGIN_C = 5.0
SILENCE_S = 3.0
SILENCE_CPU_S = 15.0
"""The host's own processor protects itself; a starved sampler thread on it is no danger."""
POWER_EXCESS = 1.10
"""Average power may overshoot its limit by this factor before it counts (regulation overshoots for a second)."""
TICKS_IN_A_ROW = 3
FAN_MUST_TURN_C = 60.0
"""Above this core temperature a fan that this card reports may not stand still under load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyLimits:
    """What the user allows beyond the card's own limits."""

    core_max_c: float | None = None


class SafetyWatch:
    """Judges ticks of one card while our load runs."""

    def __init__(self, card: CardInfo, limits: SafetyLimits) -> None:
        """Start calm."""
        self._card = card
        self._limits = limits
        self._loaded_since_ns: int | None = None
        self._last_ns: int | None = None
        self._power_row = 0
        self._fan_row = 0

    def load_starts(self, t_ns: int) -> None:
        """Our load begins."""
        self._loaded_since_ns = t_ns
        self._last_ns = t_ns
        self._power_row = self._fan_row = 0

    def load_ends(self) -> None:
        """Our load is over."""
        self._loaded_since_ns = None

    def silence_deadline_ns(self) -> int | None:
        """When telemetry counts as silent; None while calm."""
        if self._loaded_since_ns is None or self._last_ns is None:
            return None
        silence_s = SILENCE_CPU_S if self._card.is_cpu else SILENCE_S
        return self._last_ns + int(silence_s * 1e9)

    def check_silence(self, t_ns: int) -> Stopped | None:
        """Stop if no tick of this card has come for too long."""
        deadline = self.silence_deadline_ns()
        if deadline is None or t_ns < deadline:
            return None
        return Stopped(trigger="telemetry_silent", limit=SILENCE_CPU_S if self._card.is_cpu else SILENCE_S)

    def check(self, tick: Tick) -> Stopped | None:
        """Stop if this tick shows danger. XID errors stop; so does a tick's temperature, power or fan."""
        if self._loaded_since_ns is None:
            return None
        for xid in tick.xids:
            if xid.card == self._card.uuid:
                return Stopped(trigger="xid", value=float(xid.xid))
        for sample in tick.samples:
            if sample.card == self._card.uuid and sample.values:
                self._last_ns = sample.t_ns
                stopped = self._check_heat(sample) or self._check_power(sample) or self._check_fan(sample)
                if stopped:
                    return stopped
        return None

    def _check_heat(self, sample: Sample) -> Stopped | None:
        core = sample.values.get(Quantity.CORE_TEMPERATURE_C)
        margin = sample.values.get(Quantity.SLOWDOWN_MARGIN_C)
        slowdown = self._card.number("slowdown_c")
        if margin is None and core is not None and slowdown is not None:
            margin = slowdown - core
        if margin is not None and margin < MARGIN_MIN_C:
            return Stopped(trigger="core_hot", value=margin, limit=MARGIN_MIN_C)
        if core is not None and self._limits.core_max_c is not None and core >= self._limits.core_max_c:
            return Stopped(trigger="core_user_limit", value=core, limit=self._limits.core_max_c)
        memory = sample.values.get(Quantity.MEMORY_TEMPERATURE_C)
        memory_max = self._card.number("memory_max_c")
        if memory is not None and memory_max is not None and memory >= memory_max - MEMORY_MARGIN_C:
            return Stopped(trigger="memory_hot", value=memory, limit=memory_max - MEMORY_MARGIN_C)
        return None

    def _check_power(self, sample: Sample) -> Stopped | None:
        power = sample.values.get(Quantity.POWER_AVERAGE_W)
        limit = sample.values.get(Quantity.POWER_LIMIT_ENFORCED_W) or self._card.number("power_limit_enforced_w")
        if power is None or not limit:
            return None
        self._power_row = self._power_row + 1 if power > limit * POWER_EXCESS else 0
        if self._power_row >= TICKS_IN_A_ROW:
            return Stopped(trigger="power_above_limit", value=power, limit=limit)
        return None

    def _check_fan(self, sample: Sample) -> Stopped | None:
        fan = sample.values.get(Quantity.FAN_FRACTION)
        core = sample.values.get(Quantity.CORE_TEMPERATURE_C)
        if fan is None or core is None:
            return None
        self._fan_row = self._fan_row + 1 if fan == 0 and core >= FAN_MUST_TURN_C else 0
        if self._fan_row >= 2:
            return Stopped(trigger="fan_stopped", value=core, limit=FAN_MUST_TURN_C)
        return None
