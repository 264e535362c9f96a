"""Advice for a training that was only watched: rules over where its time went, and what is still to be measured."""

from collections.abc import Callable, Sequence

from gputuner.advice.evidence import Evidence
from gputuner.advice.host import governor_rule, quota_rule
from gputuner.advice.limits import brake_rule, link_rule, power_rule, slowdown_rule, thermal_rule
from gputuner.advice.limits import memory_rule as memory_heat_rule
from gputuner.advice.questions import OWN, command
from gputuner.advice.watching_data import WAITING, persistent_rule, queued_rule, workers_rule
from gputuner.advice.watching_host import HOST, batch_rule, compile_rule, idle_rule, optimizer_rule
from gputuner.advice.watching_seen import WatchedEvidence
from gputuner.advice.watching_work import (
    BUSY,
    faults_rule,
    memory_rule,
    precision_rule,
    skipped_rule,
    tf32_rule,
)
from gputuner.analysis.watching_judging import advisable, enough
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint
from gputuner.model.points import Point
from gputuner.model.watched import Observed, TimeSpent, TreeUse, WatchCause

RULES: tuple[Callable[[WatchedEvidence], Sequence[Advice]], ...] = (
    workers_rule,
    persistent_rule,
    queued_rule,
    compile_rule,
    batch_rule,
    optimizer_rule,
    idle_rule,
    precision_rule,
    tf32_rule,
    memory_rule,
    faults_rule,
    skipped_rule,
)
SHARED_RULES: tuple[Callable[[Evidence], Sequence[Advice]], ...] = (
    power_rule,
    brake_rule,
    slowdown_rule,
    thermal_rule,
    memory_heat_rule,
    link_rule,
    governor_rule,
    quota_rule,
)
"""Rules that any load on a card falls under."""


def advise_watched(
    card: CardInfo,
    fingerprint: Fingerprint | None,
    points: Sequence[Point],
    observed: Sequence[Observed],
    use: TreeUse,
    spent: TimeSpent,
) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
    """Advice, best first, and what is still to be measured. Pure."""
    seen = WatchedEvidence(
        card=card,
        points=tuple(points),
        observed=tuple(observed),
        use=use,
        spent=spent,
        fingerprint=fingerprint,
    )
    main = seen.main
    told = main is not None and advisable(main)
    found = [advice for rule in RULES for advice in rule(seen)] if told else []
    if points:
        evidence = Evidence(card=card, points=tuple(points), fingerprint=fingerprint, command="watch")
        found += [advice for rule in SHARED_RULES for advice in rule(evidence)]
    return tuple(sorted(found, key=lambda each: (-each.rank, each.id))), tuple(_questions(seen))


def _questions(seen: WatchedEvidence) -> list[Question]:
    """What watching cannot tell, each with the command that measures it."""
    card, main = seen.card, seen.main
    if main is None and not seen.observed and not seen.use.cards:
        return []  # a program that uses no card and no torch has nothing that a recipe could measure
    if main is None or not enough(main):
        return [Question(id="watch_unseen", card=card.uuid, command=command(card, OWN))]
    busy = (WatchCause.COMPUTE, WatchCause.CARD_BUSY, WatchCause.MEMORY_BANDWIDTH, WatchCause.POWER)
    shares = {
        "watch_formats": (sum(map(seen.share, busy)), BUSY),
        "watch_batch": (seen.share(WatchCause.HOST_LAUNCH) + seen.share(WatchCause.HOST_OTHER), HOST),
        "watch_loader": (seen.share(WatchCause.DATA), WAITING),
    }
    asked: dict[str, Question] = {}
    for name, (share, least) in sorted(shares.items(), key=lambda entry: -entry[1][0]):
        measured = command(card, OWN, "--loader") if name == "watch_loader" else command(card, OWN)
        if share >= least and measured not in asked:
            asked[measured] = Question(id=name, card=card.uuid, command=measured)
    return list(asked.values())
