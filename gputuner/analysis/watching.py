"""Where the time of a watched training went, and the one cause to name.

Shares of the time come from what was timed (waiting for data, the card's idle time, processor time); where two causes
cannot be told apart by what is known, they stay one (``card_busy``) or ``unknown``. The largest share is named.
"""

from collections.abc import Mapping, Sequence

from gputuner.analysis.watching_card import judged_by_card
from gputuner.analysis.watching_host import judged_by_host
from gputuner.analysis.watching_judging import Judged, enough, headroom_left
from gputuner.model.watched import CardUse, Observed, Sign, TimePart, TimeSpent, TreeUse, WatchCause

TOLD_BESIDE = 0.15
"""Share of the time from which on a second cause is worth telling."""
SURE_FROM = 0.5
"""Share of the time from which on the largest cause is named without a doubt."""
JUDGED = "judged_training"
"""Sign: seconds between optimizer steps, without evaluations, that the shares are of."""
LITTLE = 0.005
"""Smaller shares are not told."""
NOT_NAMED = (WatchCause.SHARED, WatchCause.UNKNOWN)
"""What the training itself does is named before these, unless they take half of the time."""


def where_time_went(observed: Sequence[Observed], use: TreeUse) -> TimeSpent:
    """The causes with their shares. Without any step seen by hooks, telemetry alone has to tell."""
    trained = [each for each in observed if each.steps > 0 and each.training_s > 0]
    known = bool(use.cards) or use.cpu_s is not None
    drawn_s = max((each.unstepped_s for each in observed), default=0.0)
    by = ("hooks_and_telemetry" if known else "hooks") if trained or drawn_s > 0 else "telemetry"
    told = [each for each in trained if enough(each)]
    judged = [_judged(each, use) for each in told] or [Judged(shares={}) if trained else _unhooked(use, drawn_s)]
    weights = [each.training_s for each in told] or [1.0]
    parts = _mean(judged, weights)
    named, sure = _named(parts, judged)
    left, of = headroom_left(trained, use)
    signs = {sign.name: sign for each in reversed(judged) for sign in each.signs}
    if trained:
        judged_s = max(each.training_s for each in told or trained)
        signs = {JUDGED: Sign(name=JUDGED, value=judged_s, unit="s")} | signs
    return TimeSpent(
        cause=named,
        sure=sure,
        by=by,
        beside=_beside(parts, named),
        parts=tuple(TimePart(cause=cause, share=share) for cause, share in parts.items()),
        signs=tuple(signs.values()),
        headroom_bytes=left,
        headroom_of_bytes=of,
    )


def _judged(each: Observed, use: TreeUse) -> Judged:
    if each.device != "cuda":
        return judged_by_host(each, use)
    return judged_by_card(each, _card_of(each, use))


def _unhooked(use: TreeUse, drawn_s: float) -> Judged:
    return judged_by_card(None, use.cards[0]) if use.cards else judged_by_host(None, use, drawn_s)


def _card_of(each: Observed, use: TreeUse) -> CardUse | None:
    """The card that the process computed on; the only one where its name is not known."""
    for card in use.cards:
        if any(card.uuid.lower() == uuid.lower() for uuid in each.uuids):
            return card
    return use.cards[0] if len(use.cards) == 1 or (use.cards and each.local_rank is None) else None


def _mean(judged: Sequence[Judged], weights: Sequence[float]) -> dict[WatchCause, float]:
    """Shares over all processes, each weighed by its time; largest first; what is missing to 1 is unknown."""
    shares: dict[WatchCause, float] = {}
    for each, weight in zip(judged, weights, strict=True):
        for cause, share in each.shares.items():
            shares[cause] = shares.get(cause, 0.0) + share * weight / sum(weights)
    told = {cause: min(1.0, share) for cause, share in shares.items() if share >= LITTLE and cause is not _UNKNOWN}
    missing = 1.0 - sum(told.values())
    if missing >= LITTLE:
        told[_UNKNOWN] = missing
    return dict(sorted(told.items(), key=lambda entry: -entry[1]))


_UNKNOWN = WatchCause.UNKNOWN


def _named(parts: Mapping[WatchCause, float], judged: Sequence[Judged]) -> tuple[WatchCause, bool]:
    """The cause to name. What the allocator says of full memory goes before shares, which do not show what it costs."""
    forced = [each.forced for each in judged if each.forced is not None]
    if forced:
        return forced[0], True
    first = next(iter(parts))
    own = [cause for cause in parts if cause not in NOT_NAMED]
    named = own[0] if own and parts[first] < SURE_FROM else first
    doubted = any(named in each.doubted for each in judged)
    return named, parts[named] >= SURE_FROM and not doubted and named is not _UNKNOWN


def _beside(parts: Mapping[WatchCause, float], named: WatchCause) -> WatchCause | None:
    others = [cause for cause, share in parts.items() if cause not in (named, _UNKNOWN) and share >= TOLD_BESIDE]
    return others[0] if others else None
