"""The user's alerts within a run: judged by its telemetry, told as events, so that its session has them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gputuner.engine.alerts import AlertWatch
from gputuner.model.alerts import AlertChange, AlertRule
from gputuner.model.cards import CardInfo
from gputuner.model.events import AlertCleared, AlertRaised
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.rates import Rates


class AlertTeller:
    """Hands ticks to the rules, and what they raise and clear to the run. Without a rule it does nothing."""

    def __init__(
        self, rules: Sequence[AlertRule], cards: Sequence[CardInfo], fast_hz: float | None, tell: Callable[..., None]
    ) -> None:
        """``fast_hz``: rate of the readings, None: not known. ``tell(EventClass, **fields)`` stores and passes on."""
        rates = Rates() if fast_hz is None else Rates(fast_hz=fast_hz)
        self._watch = AlertWatch(rules, cards, rates) if rules else None
        self._cards = {card.uuid for card in cards}
        self._tell = tell

    def take(self, tick: Tick) -> None:
        """Judge a tick: of the run's own cards."""
        if self._watch is not None:
            own = replace(
                tick,
                samples=tuple(sample for sample in tick.samples if sample.card in self._cards),
                xids=tuple(xid for xid in tick.xids if xid.card in self._cards),
                cards=tuple(card for card in tick.cards if card.uuid in self._cards),
            )
            self._say(self._watch.take(own))

    def look(self, t_ns: int) -> None:
        """Judge what time alone tells, on the run's clock."""
        if self._watch is not None:
            self._say(self._watch.look(t_ns))

    def _say(self, changes: Sequence[AlertChange]) -> None:
        for change in changes:
            told = {
                "card": change.card,
                "rule": change.rule.name,
                "alert": change.rule.kind,
                "value": change.value,
                "threshold": change.rule.threshold,
                "detail": change.detail,
            }
            if change.raised:
                self._tell(AlertRaised, **told, quiet=change.quiet)
            else:
                self._tell(AlertCleared, **told, lasted_s=change.lasted_s)
