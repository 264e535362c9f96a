"""Our own load must not break a card (methods §13): when to stop at once, judged tick by tick.

States of a watch: *calm* (the run does not work on the card: nothing stops) → *working* (between loads too, a lost card
or an XID stops) ⇄ *loaded* (every tick is judged, silence counts).
"""

from dataclasses import dataclass

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample
from gputuner.model.steps import Stopped
from gputuner.telemetry.feed import Tick

MARGIN_MIN_C = 3.0
MEMORY_MARGIN_C = 5.0
SILENCE_S = 3.0
SILENCE_CPU_S = 15.0
"""The host's own processor protects itself; a starved sampler thread on it is no danger."""
POWER_EXCESS = 1.10
"""Power may overshoot its limit by this factor before it counts (regulation overshoots for a second)."""
TICKS_IN_A_ROW = 3
POWER_EXCESS_S = 1.0
"""For so long at least, so that a fast tier at 10 Hz does not take regulation for danger."""
LIMIT_ACTS_S = 3.0
"""So long after we have changed the power limit the old one counts too: readings are means over a second."""
LIMIT_SHOWS_W = 1.0
FAN_MUST_TURN_C = 60.0
"""Above this core temperature a fan that this card reports may not stand still under load."""
FAN_TICKS = 2


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
        self._working = False
        self._loaded_since_ns: int | None = None
        self._last_ns: int | None = None
        self._core_c: float | None = None
        self._power_row = 0
        self._power_since_ns = 0
        self._set_w: float | None = None
        self._set_before_w = 0.0
        self._set_ns = 0
        self._set_shown = False
        self._fan_row = 0
        self._fan_turned = False

    @property
    def card(self) -> CardInfo:
        """The card as it stands."""
        return self._card

    def limit_changes(self, watts: float, t_ns: int) -> None:
        """The power limit is ``watts`` by our own doing; readings of it made before that no longer count."""
        before = self._set_w if self._set_w is not None else self._card.number("power_limit_enforced_w")
        self._set_before_w, self._set_w = before or watts, watts
        self._set_ns, self._set_shown, self._power_row = t_ns, False, 0

    def beside(self, card: CardInfo) -> "SafetyWatch":
        """A calm watch over another card, by the same limits."""
        return SafetyWatch(card, self._limits)

    def work_starts(self) -> None:
        """The run works on the card from now on, loading it now and then."""
        self._working = True

    def load_starts(self, t_ns: int) -> None:
        """Our load begins. What was seen in a row before counts on: loads may be shorter than a slow tick."""
        self._working = True
        self._loaded_since_ns = t_ns
        self._last_ns = t_ns

    def load_ends(self) -> None:
        """Our load is over."""
        self._loaded_since_ns = None

    @property
    def _silence_s(self) -> float:
        return SILENCE_CPU_S if self._card.is_cpu else SILENCE_S

    def silence_deadline_ns(self) -> int | None:
        """When telemetry counts as silent; None while calm."""
        if self._loaded_since_ns is None or self._last_ns is None:
            return None
        return self._last_ns + int(self._silence_s * 1e9)

    def check_silence(self, t_ns: int) -> Stopped | None:
        """Stop if no tick that tells how hot the card is has come for too long."""
        deadline = self.silence_deadline_ns()
        if deadline is None or t_ns < deadline:
            return None
        return Stopped(trigger="telemetry_silent", limit=self._silence_s)

    def check(self, tick: Tick) -> Stopped | None:
        """Stop if this tick shows danger: a lost card, an XID, temperature, power or fan, or a silence before it."""
        stopped = self._check_card(tick)
        for sample in tick.samples:
            if sample.card == self._card.uuid and sample.values:
                stopped = stopped or self._check_sample(sample)
        return stopped

    def _check_card(self, tick: Tick) -> Stopped | None:
        for card in tick.cards:
            if card.uuid == self._card.uuid:
                self._card = card
                if card.state is CardState.LOST and self._working:
                    return Stopped(trigger="card_lost")
        for xid in tick.xids:
            if xid.card == self._card.uuid and self._working:
                return Stopped(trigger="xid", value=float(xid.xid))
        return None

    def _check_sample(self, sample: Sample) -> Stopped | None:
        silent = self.check_silence(sample.t_ns)
        if self._tells(sample):
            self._last_ns = max(sample.t_ns, self._last_ns or sample.t_ns)
        self._core_c = sample.values.get(Quantity.CORE_TEMPERATURE_C, self._core_c)
        stopped = [silent, self._check_heat(sample), self._check_power(sample), self._check_fan(sample)]
        return None if self._loaded_since_ns is None else next((s for s in stopped if s), None)

    def _tells(self, sample: Sample) -> bool:
        """True unless the sample leaves us blind: slow readings alone, or no temperature where there is a sensor."""
        core = Quantity.CORE_TEMPERATURE_C
        if self._core_c is not None or sample.missing.get(core) is Reason.ERROR:
            return core in sample.values
        return any(QUANTITIES[quantity].tier is Tier.FAST for quantity in sample.values)

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
        """Average power, or the instant one of cards that report no average, against the enforced limit."""
        instant = sample.values.get(Quantity.POWER_INSTANT_W)
        power = sample.values.get(Quantity.POWER_AVERAGE_W, instant)
        limit = self._limit_w(sample)
        if power is None or not limit:
            return None
        if power <= limit * POWER_EXCESS:
            self._power_row = 0
            return None
        if self._power_row == 0:
            self._power_since_ns = sample.t_ns
        self._power_row += 1
        lasting = sample.t_ns - self._power_since_ns >= POWER_EXCESS_S * 1e9
        if self._power_row >= TICKS_IN_A_ROW and lasting:
            return Stopped(trigger="power_above_limit", value=power, limit=limit)
        return None

    def _limit_w(self, sample: Sample) -> float | None:
        """The enforced limit: as it was read last, or as we have set it since."""
        told = sample.values.get(Quantity.POWER_LIMIT_ENFORCED_W)
        if self._set_w is None:
            return told or self._card.number("power_limit_enforced_w")
        self._set_shown = self._set_shown or (told is not None and abs(told - self._set_w) <= LIMIT_SHOWS_W)
        limit = told if told is not None and self._set_shown else self._set_w
        acts = sample.t_ns - self._set_ns >= LIMIT_ACTS_S * 1e9
        return limit if acts else max(limit, self._set_before_w)

    def _check_fan(self, sample: Sample) -> Stopped | None:
        """The fan's readings come less often than temperatures, and not always in one sample with them.

        A board without a fan of its own may show one that stands (P40, V100): it counts once it was seen turning.
        """
        speeds = [sample.values[q] for q in (Quantity.FAN_FRACTION, Quantity.FAN_RPM) if q in sample.values]
        self._fan_turned = self._fan_turned or any(speed > 0 for speed in speeds)
        if not speeds or self._core_c is None or (self._card.fanless and not self._fan_turned):
            return None
        self._fan_row = self._fan_row + 1 if min(speeds) == 0 and self._core_c >= FAN_MUST_TURN_C else 0
        if self._fan_row >= FAN_TICKS:
            return Stopped(trigger="fan_stopped", value=self._core_c, limit=FAN_MUST_TURN_C)
        return None
