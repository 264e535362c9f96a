"""Watch the user's own command while it runs, then tell where its time went and what would help."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gputuner.advice.watching import advise_watched
from gputuner.analysis.watching import where_time_went
from gputuner.analysis.watching_points import Figure, figures
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.record import FOR_EVER_S
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import Fingerprint
from gputuner.model.points import Point
from gputuner.model.steps import Advise, Follow, Followed, Plan, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCommand:
    """Follow a command that has been started. ``command``: as it may be told; ``hooks``: with hooks in its Python."""

    name: ClassVar[str] = "watch"
    needs_worker: ClassVar[bool] = False

    command: tuple[str, ...] = field(default=())
    hooks: bool = True

    def expected_s(self) -> float:
        """As long as the command takes."""
        return FOR_EVER_S

    def limited(self) -> bool:
        """It ends with the command."""
        return False

    def plan(self, context: PlanContext) -> Plan:
        """Follow the command, then judge."""
        followed = yield Follow(label="watch")
        if not isinstance(followed, Followed):
            return
        observed, use = followed.observed, followed.use
        spent = where_time_went(observed, use)
        card = _card(followed, context)
        points = tuple(_points(figures(observed, use, spent), card, followed))
        yield Report(points=points)
        advice, questions = advise_watched(card, context.fingerprint, points, observed, use, spent)
        yield Advise(advice=advice, questions=questions)


def _card(followed: Followed, context: PlanContext) -> CardInfo:
    """The card that the command used most memory of; the processor where it used none."""
    cards = (context.card, *context.others)
    own = sorted(followed.use.cards, key=lambda use: -(use.tree_memory_peak_bytes or use.memory_used_peak_bytes or 0))
    by_uuid = {card.uuid: card for card in cards}
    used = next((by_uuid[use.uuid] for use in own if use.uuid in by_uuid), None)
    return used or next((card for card in cards if card.is_cpu), None) or _processor(context.fingerprint)


def _processor(fingerprint: Fingerprint) -> CardInfo:
    """The processor of a machine whose cards were watched and not used."""
    readings = fingerprint.host.readings
    name, total = (readings[key].value if key in readings else None for key in ("cpu", "memory_total_bytes"))
    return CardInfo(
        uuid=CPU_CARD,
        index=0,
        name=str(name or "CPU"),
        memory_total_bytes=int(total) if isinstance(total, int) else None,
    )


def _points(found: Sequence[Figure], card: CardInfo, followed: Followed) -> Iterable[Point]:
    use = next((each for each in followed.use.cards if each.uuid == card.uuid), None)
    for number, figure in enumerate(found, 1):
        yield Point(
            id=f"watch-{number}",
            card=card.uuid,
            metric=figure.metric,
            workload=figure.workload,
            params=figure.params,
            value=figure.value,
            unit=figure.unit,
            origin=card.origin,
            spread=figure.spread,
            conditions=use.conditions if use is not None else None,
            flags=figure.flags,
            extra=figure.extra,
        )
