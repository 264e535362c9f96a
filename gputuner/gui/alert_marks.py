# pyright: standard
"""What alerts told, on a time axis."""

from gputuner.gui.history import AlertTold
from gputuner.gui.plots.time_marks import Mark
from gputuner.gui.run_state import RunFacts
from gputuner.language import alerts
from gputuner.model.events import AlertCleared

RAISED, OVER = "▲", "▽"


def alerts_told(facts: RunFacts, card: str | None = None) -> list[AlertTold]:
    """What a run told of a card (None: of each), in seconds of the run's clock."""
    titles = {info.uuid: info.title for info in facts.cards}
    return [
        AlertTold(
            event.t_ns * 1e-9,
            event.rule,
            alerts.event(event, titles.get(event.card, event.card)),
            isinstance(event, AlertCleared),
        )
        for event in facts.alerts
        if card in (None, event.card)
    ]


def alert_mark(told: AlertTold, zero_s: float) -> Mark:
    """The mark of an alert in a picture whose zero is at ``zero_s``."""
    sign = OVER if told.over else RAISED
    text = f"{sign} {alerts.short(told.name)}"
    return Mark(t0_s=told.t_s - zero_s, t1_s=None, text=text, hint=told.text, calm=told.over, short=sign)
