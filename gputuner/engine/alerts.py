"""Judges ticks by the user's rules: the same for the window, the command line and every run. Pure but for its memory.

A tick's own times count, no clock is read. ``look`` is to be called about once a second with the time of the readings'
clock, so that silence is noticed too; where looks themselves stood still (a suspend, a stopped process), the silence of
the cards begins anew.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gputuner.engine.alert_state import COUNTERS, HELD_NS, NS, Debounce, Level, LimitTally, level
from gputuner.engine.sensors import SensorWatch
from gputuner.model.alerts import KINDS, AlertChange, AlertKind, AlertRule, threshold_of
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.samples import Sample, XidSeen
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.rates import Rates

STOOD_STILL_NS = 10 * NS
"""Two looks further apart than this: we did not run, so that nothing is known of the time between."""
FAST_GAP_S, SLOW_GAP_S = 10.0, 30.0
"""Least distance between two readings of a tier across which a condition does not count as held."""
_VALUES = {
    AlertKind.TEMPERATURE: Quantity.CORE_TEMPERATURE_C,
    AlertKind.MEMORY_TEMPERATURE: Quantity.MEMORY_TEMPERATURE_C,
    AlertKind.HOTSPOT: Quantity.HOTSPOT_TEMPERATURE_C,
}
_BLIND = frozenset({AlertKind.TEMPERATURE, AlertKind.MARGIN, AlertKind.FAN})
"""Kinds that rest on the core's sensor."""


@dataclass(slots=True)
class _Card:
    """What is remembered of one card."""

    info: CardInfo
    limits: LimitTally
    sensor: SensorWatch = field(default_factory=SensorWatch)
    core: tuple[int, float] | None = None
    stuck_c: float | None = None
    """Where the core's sensor stands still."""
    told_ns: int | None = None
    """When its fast tier told something last; until it has, since when it is watched."""
    turned: bool = False
    """True once a fan of it has been seen turning."""


@dataclass(slots=True)
class _State:
    """One rule on one card (of XIDs: and one number)."""

    rule: AlertRule
    debounce: Debounce
    raised: AlertChange | None = None
    announced_ns: int | None = None
    last_ns: int = 0
    """Of an XID: when it was seen last."""


class AlertWatch:
    """Rules over the cards of one feed. Used by one thread at a time."""

    def __init__(self, rules: Iterable[AlertRule], cards: Iterable[CardInfo] = (), rates: Rates | None = None) -> None:
        """Watch ``cards`` (more are learnt from ticks) by ``rules``; ``rates`` of the readings."""
        rates = rates or Rates()
        self._gaps = {
            Tier.FAST: round(max(FAST_GAP_S, 5 / rates.fast_hz) * NS),
            Tier.SLOW: round(max(SLOW_GAP_S, 3 * rates.slow_s) * NS),
        }
        self._held_ns = max(HELD_NS, round(1.5 / rates.fast_hz * NS))
        self._rules: tuple[AlertRule, ...] = tuple(rules)
        self._cards: dict[str, _Card] = {card.uuid: self._new(card) for card in cards}
        self._states: dict[tuple[str, str, str], _State] = {}
        self._looked_ns: int | None = None

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        """What is judged by."""
        return self._rules

    @property
    def raised(self) -> tuple[AlertChange, ...]:
        """What is raised now, oldest first."""
        found = [state.raised for state in self._states.values() if state.raised is not None]
        return tuple(sorted(found, key=lambda change: change.t_ns))

    def follow(self, rules: Iterable[AlertRule], t_ns: int) -> tuple[AlertChange, ...]:
        """Judge by other rules from now on; what was raised by a rule that is gone or changed is cleared."""
        self._rules = tuple(rules)
        kept = {rule.name: rule for rule in self._rules if rule.on}
        gone = [key for key, state in self._states.items() if kept.get(state.rule.name) != state.rule]
        changes = [self._cleared(state, t_ns) for key in gone if (state := self._states.pop(key)).raised]
        return tuple(changes)

    def take(self, tick: Tick) -> tuple[AlertChange, ...]:
        """Take a tick; what it raises and clears."""
        changes = [*self._look(tick.t_ns)]
        for card in tick.cards:
            self._learn(card)
            changes += self._judge(card.uuid, AlertKind.LOST, tick.t_ns, _lost(card))
        for xid in tick.xids:
            changes += self._xid(xid)
        for sample in tick.samples:
            if sample.card in self._cards:
                changes += self._sample(self._cards[sample.card], sample)
        return tuple(changes)

    def look(self, t_ns: int) -> tuple[AlertChange, ...]:
        """What time alone raises and clears; ``t_ns`` on the clock of the readings."""
        return tuple(self._look(t_ns))

    def _learn(self, info: CardInfo) -> None:
        for known in list(self._cards.values()):
            lost = known.info.state is CardState.LOST
            if lost and known.info.index == info.index and known.info.uuid != info.uuid:
                del self._cards[known.info.uuid]  # it came back, now with its UUID
        card = self._cards.get(info.uuid)
        if card is None:
            self._cards[info.uuid] = self._new(info)
            return
        if card.info.state is not info.state:
            card.told_ns = None  # silence of a card that comes back counts from then on
        card.info = info

    def _new(self, info: CardInfo) -> _Card:
        return _Card(info, LimitTally(self._held_ns))

    def _look(self, t_ns: int) -> Iterator[AlertChange]:
        if self._looked_ns is None:
            self._looked_ns = t_ns
        stood_ns = t_ns - self._looked_ns
        if stood_ns > 0 or stood_ns < -STOOD_STILL_NS:
            self._looked_ns = t_ns  # ticks of several feeds come a little out of order
        for card in tuple(self._cards.values()):
            uuid = card.info.uuid
            yield from self._judge(uuid, AlertKind.LOST, t_ns, _lost(card.info))
            if card.info.state is not CardState.READY:
                continue
            if card.told_ns is None or abs(stood_ns) > STOOD_STILL_NS:
                card.told_ns = t_ns
            silent_s = (t_ns - card.told_ns) / NS
            for rule in self._of(AlertKind.SILENT, uuid):
                found = level(silent_s, rule.threshold or 0.0, rule.threshold or 0.0)
                yield from self._apply(rule, uuid, t_ns, Level.BETWEEN if found is Level.UNDER else found, silent_s)
        for key in [key for key, state in self._states.items() if state.rule.kind is AlertKind.XID]:
            state = self._states[key]
            if state.raised is not None and t_ns - state.last_ns >= state.rule.quiet_s * NS:
                yield self._cleared(self._states.pop(key), t_ns)

    def _xid(self, seen: XidSeen) -> Iterator[AlertChange]:
        for rule in self._of(AlertKind.XID, seen.card):
            if rule.xids and seen.xid not in rule.xids:
                continue
            state = self._state(rule, seen.card, str(seen.xid))
            state.last_ns = max(state.last_ns, seen.t_ns)
            if state.raised is None:
                yield self._raised(state, seen.card, seen.t_ns, float(seen.xid))

    def _sample(self, card: _Card, sample: Sample) -> Iterator[AlertChange]:
        uuid, t_ns = card.info.uuid, sample.t_ns
        if any(QUANTITIES[quantity].tier is Tier.FAST for quantity in sample.values):
            card.told_ns = max(t_ns, card.told_ns or t_ns)
            for rule in self._of(AlertKind.SILENT, uuid):
                yield from self._apply(rule, uuid, t_ns, Level.UNDER, 0.0)
        yield from self._stuck(card, sample)
        for kind, quantity in _VALUES.items():
            if quantity in sample.values:
                yield from self._value(card, kind, t_ns, sample.values[quantity])
        margin = _margin(card.info, sample)
        if margin is not None:
            yield from self._value(card, AlertKind.MARGIN, t_ns, margin)
        yield from self._fan(card, sample)
        yield from self._limit(card, sample)

    def _stuck(self, card: _Card, sample: Sample) -> Iterator[AlertChange]:
        core = sample.values.get(Quantity.CORE_TEMPERATURE_C)
        if core is None:
            return
        card.core = sample.t_ns, core
        if card.sensor.take(sample) is not None:
            card.stuck_c = core
        elif card.stuck_c is not None and core != card.stuck_c:
            card.stuck_c = None
        else:
            return
        found = Level.UNDER if card.stuck_c is None else Level.OVER
        yield from self._judge(card.info.uuid, AlertKind.STUCK, sample.t_ns, found, core)

    def _value(self, card: _Card, kind: AlertKind, t_ns: int, value: float) -> Iterator[AlertChange]:
        if kind in _BLIND and card.stuck_c is not None:
            return
        for rule in self._of(kind, card.info.uuid):
            found = level(value, threshold_of(rule, card.info), rule.clear_margin, falls=KINDS[kind].falls)
            yield from self._apply(rule, card.info.uuid, t_ns, found, value)

    def _fan(self, card: _Card, sample: Sample) -> Iterator[AlertChange]:
        """A fan's readings come less often than the core's, and not always in one sample with them.

        Some boards without a fan show one that stands; they are believed once one turned (a fan wired to the board).
        """
        fraction, rpm = (sample.values.get(quantity) for quantity in (Quantity.FAN_FRACTION, Quantity.FAN_RPM))
        card.turned = card.turned or bool(fraction) or bool(rpm)
        if (fraction is None and rpm is None) or card.core is None or card.stuck_c is not None:
            return
        if card.info.fanless and not card.turned:
            return
        read_ns, core = card.core
        if not 0 <= sample.t_ns - read_ns <= self._gaps[Tier.FAST]:
            return
        for rule in self._of(AlertKind.FAN, card.info.uuid):
            hot = level(core, rule.threshold or 0.0, rule.clear_margin)
            slow = rpm == 0 or (fraction is not None and (fraction == 0 or fraction < rule.least_fan))
            found = hot if slow else Level.UNDER
            yield from self._apply(rule, card.info.uuid, sample.t_ns, found, core, _fan_told(fraction, rpm))

    def _limit(self, card: _Card, sample: Sample) -> Iterator[AlertChange]:
        t_ns, tally = sample.t_ns, card.limits
        counters = {limiter: sample.values[each] for each, limiter in COUNTERS.items() if each in sample.values}
        bits = sample.values.get(Quantity.LIMIT_BITS)
        if bits is None and not counters:
            return
        if counters:
            tally.count(t_ns, counters)
        heat = tally.hardware
        if bits is not None:
            tally.take(t_ns, int(bits))
        tally.hardware = tally.hardware or heat
        for rule in self._of(AlertKind.LIMIT, card.info.uuid):
            found = tally.level(t_ns, rule.threshold or 0.0, rule.clear_margin)
            yield from self._apply(rule, card.info.uuid, t_ns, found, tally.seconds(t_ns), tally.limiter.value)

    def _judge(
        self, card: str, kind: AlertKind, t_ns: int, found: Level, value: float | None = None
    ) -> Iterator[AlertChange]:
        for rule in self._of(kind, card):
            yield from self._apply(rule, card, t_ns, found, value)

    def _apply(
        self, rule: AlertRule, card: str, t_ns: int, found: Level, value: float | None = None, detail: str = ""
    ) -> Iterator[AlertChange]:
        if found is not Level.OVER and (rule.name, card, "") not in self._states:
            return
        state = self._state(rule, card)
        if not state.debounce.take(t_ns, found):
            return
        if state.debounce.raised:
            yield self._raised(state, card, t_ns, value, detail)
        elif state.raised is not None:
            yield self._cleared(state, t_ns, value)

    def _raised(self, state: _State, card: str, t_ns: int, value: float | None = None, detail: str = "") -> AlertChange:
        rule, before = state.rule, state.announced_ns
        quiet = before is not None and 0 <= t_ns - before < rule.quiet_s * NS
        if not quiet:
            state.announced_ns = t_ns
        told = self._as_told(rule, card)
        change = AlertChange(rule=told, card=card, t_ns=t_ns, raised=True, value=value, detail=detail, quiet=quiet)
        state.raised = change
        return change

    def _as_told(self, rule: AlertRule, card: str) -> AlertRule:
        """The rule with the threshold that counted on this card."""
        known = self._cards.get(card)
        if known is None or not KINDS[rule.kind].own:
            return rule
        return replace(rule, threshold=threshold_of(rule, known.info))

    @staticmethod
    def _cleared(state: _State, t_ns: int, value: float | None = None) -> AlertChange:
        before, state.raised = state.raised, None
        assert before is not None
        lasted_s = max(0.0, (t_ns - before.t_ns) / NS)
        told = before.value if state.rule.kind is AlertKind.XID else value
        return AlertChange(
            rule=before.rule,
            card=before.card,
            t_ns=t_ns,
            raised=False,
            value=told,
            detail=before.detail,
            quiet=before.quiet,
            lasted_s=lasted_s,
        )

    def _state(self, rule: AlertRule, card: str, detail: str = "") -> _State:
        key = (rule.name, card, detail)
        state = self._states.get(key)
        if state is None:
            tier = Tier.SLOW if rule.kind is AlertKind.FAN else Tier.FAST
            debounce = Debounce(round(rule.hold_s * NS), self._gaps[tier])
            state = self._states[key] = _State(rule, debounce)
        return state

    def _of(self, kind: AlertKind, card: str) -> list[AlertRule]:
        known = self._cards.get(card)
        processor = known is not None and known.info.is_cpu
        return [rule for rule in self._rules if rule.kind is kind and rule.watches(card, processor=processor)]


def _lost(card: CardInfo) -> Level:
    return Level.OVER if card.state is CardState.LOST else Level.UNDER


def _margin(card: CardInfo, sample: Sample) -> float | None:
    """The core's distance to the card's own slowdown in degC: as told, else by its limit; None: not known."""
    told = sample.values.get(Quantity.SLOWDOWN_MARGIN_C)
    core, slowdown = sample.values.get(Quantity.CORE_TEMPERATURE_C), card.number("slowdown_c")
    return slowdown - core if told is None and core is not None and slowdown is not None else told


def _fan_told(fraction: float | None, rpm: float | None) -> str:
    """The fan's reading, for a sentence."""
    return f"{rpm:.0f} rpm" if rpm == 0 or fraction is None else f"{fraction:.0%}"
