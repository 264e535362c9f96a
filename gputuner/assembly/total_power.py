"""Rate over power limit of cards, by their stored power sweeps: what a total over several cards is shared by."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gputuner.analysis.power_curve import fit_curve
from gputuner.analysis.total_power import CardRange, RateCurve
from gputuner.experiments.power_stored import stored_visits
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.control import CardControl, Setting
from gputuner.model.errors import GputunerError
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.summary import SessionSummary
from gputuner.settings.paths import paths

POWER = "power"
LEAST_SETTINGS = 3
"""Fewer limits tell no curve."""
LOOKED_AT = 20
"""So many of the newest sessions of a card are opened, at most."""
HOW_ONLY = frozenset({"batch", "channels_last"})
"""Params that change how fast a sample is trained, but not what a sample is."""
TORCH = "torch"
IDENTITY = ("driver", "vbios")
"""Readings of a card that a sweep is only good for as long as they stand."""

Identities = Callable[[], Sequence[CardInfo]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """A sweep that is not used any more: ``what`` (driver, vbios or torch) was ``then`` and is ``now``."""

    card: str
    session: str
    what: str
    then: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What a total is shared by: the cards' ranges, and the sweeps that would be but for what has changed since."""

    ranges: tuple[CardRange, ...]
    outdated: tuple[Outdated, ...] = ()


def ranges_of(
    cards: Sequence[CardControl], data_dir: Path | None, origin: Origin, identities: Identities = tuple
) -> Shares:
    """Each card's range, up to its default limit (a cap raises none above it), and its curve where one is stored.

    The curves are of one load where every card that has any has one of it; else each is of its card's newest.

    Args:
        cards: whose power limit can be set.
        data_dir: of the sessions; None: the platform's own.
        origin: of the cards; sweeps of another say nothing of them.
        identities: the cards as they stand now; asked only where there is a sweep.

    Raises:
        GputunerError: the cards cannot be asked how they stand.
    """
    sessions = SessionLibrary(paths(data_dir).data_dir)
    listed = [each for each in sessions.list() if each.origin is origin and not each.running]
    swept = [_own(listed, card.uuid, (POWER,)) for card in cards]
    now = {card.uuid: card for card in identities()} if any(swept) else {}
    found: list[dict[str, RateCurve]] = []
    outdated: list[Outdated] = []
    for seed, (card, own) in enumerate(zip(cards, swept, strict=True)):
        torch = _newest_torch(sessions, listed, card.uuid) if own else ""
        curves, old = _curves(sessions, own, card.uuid, _identity(now.get(card.uuid), torch), seed)
        found.append(curves)
        outdated += old[:1] if not curves else []
    chosen = _agreed(found)
    return Shares(
        ranges=tuple(_range_of(card, curve) for card, curve in zip(cards, chosen, strict=True)),
        outdated=tuple(outdated),
    )


def _range_of(card: CardControl, curve: RateCurve | None) -> CardRange:
    state = card.state(Setting.POWER_LIMIT)
    assert state.low is not None
    assert state.high is not None
    default = state.default[0] if state.default else state.high
    high = min(state.high, default)
    return CardRange(card=card.uuid, low_w=state.low, high_w=high, default_w=default, curve=curve)


def _agreed(found: Sequence[Mapping[str, RateCurve]]) -> list[RateCurve | None]:
    """A curve for each card that has any: of a load that all of them have, else its newest."""
    having = [curves for curves in found if curves]
    common = next((load for load in having[0] if all(load in each for each in having)), None) if having else None
    return [None if not curves else curves.get(common or "", next(iter(curves.values()))) for curves in found]


def _own(listed: Sequence[SessionSummary], uuid: str, experiments: tuple[str, ...] = ()) -> list[SessionSummary]:
    own = [
        each
        for each in listed
        if each.point_count
        and (not experiments or each.experiment in experiments)
        and any(known.uuid == uuid for known in each.cards)
    ]
    return own[:LOOKED_AT]


def _opened(sessions: SessionLibrary, own: Sequence[SessionSummary]) -> Iterator[tuple[SessionSummary, SessionReader]]:
    """Each session, open until the next is asked for; one that cannot be read is left out."""
    for summary in own:
        try:
            stored = sessions.open(summary.path)
        except GputunerError:
            continue
        with stored:
            yield summary, stored


def _curves(
    sessions: SessionLibrary, own: Sequence[SessionSummary], uuid: str, now: Mapping[str, str], seed: int
) -> tuple[dict[str, RateCurve], list[Outdated]]:
    """The newest curve of each load by sweeps that still hold, newest first, and the sweeps that do not."""
    curves: dict[str, RateCurve] = {}
    outdated: list[Outdated] = []
    for summary, stored in _opened(sessions, own):
        card = next(known for known in summary.cards if known.uuid == uuid)
        curve = curve_of(stored.points(), card, summary.run_id, seed)
        if curve is None:
            continue
        then = _identity(card, _torch(stored))
        changed = next((what for what, value in then.items() if now.get(what, value) != value), None)
        if changed is None:
            curves.setdefault(curve.load, curve)
        else:
            told = Outdated(card=uuid, session=summary.run_id, what=changed, then=then[changed], now=now[changed])
            outdated.append(told)
    return curves, outdated


def _identity(card: CardInfo | None, torch: str) -> dict[str, str]:
    """What is known of what a sweep rests on."""
    readings = {} if card is None else {name: card.readings.get(name) for name in IDENTITY}
    told = {name: str(each.value) for name, each in readings.items() if each is not None and each.value is not None}
    return told | ({TORCH: torch} if torch else {})


def _newest_torch(sessions: SessionLibrary, listed: Sequence[SessionSummary], uuid: str) -> str:
    """The torch that the card was measured with last; "": not known."""
    told = (_torch(stored) for _summary, stored in _opened(sessions, _own(listed, uuid)))
    return next((torch for torch in told if torch), "")


def _torch(stored: SessionReader) -> str:
    found = stored.torch()
    return "" if found is None else found.version


def curve_of(points: Sequence[Point], card: CardInfo, session: str, seed: int = 0) -> RateCurve | None:
    """The curve of the load that was visited most; None: it was visited at too few limits.

    ``seed``: of the draws; another one for each card, whose chances are its own.
    """
    visits = stored_visits(points, card, session)
    loads = Counter((each.workload, _params(each.params)) for each in visits)
    if not loads:
        return None
    chosen = loads.most_common(1)[0][0]
    kept = [each for each in visits if (each.workload, _params(each.params)) == chosen]
    own = [each.visit for each in kept]
    if len({visit.setting for visit in own}) < LEAST_SETTINGS:
        return None
    fitted = fit_curve(own, seed)
    rates = np.exp(fitted.rate.fit)
    best = float(np.max(rates))
    units = {point.unit for point in points if point.metric == "power_rate" and point.workload == chosen[0]}
    work = {name: value for name, value in kept[0].params.items() if name not in HOW_ONLY}
    return RateCurve(
        caps_w=tuple(float(cap) for cap in fitted.settings),
        rates=tuple(float(rate) for rate in rates / best),
        session=session,
        workload=chosen[0],
        load=f"{chosen[0]} {_params(work)}",
        unit=units.pop() if len(units) == 1 else "",
        best=best,
        draws=np.exp(fitted.rate.draws) / best,
    )


def _params(params: Mapping[str, Scalar]) -> str:
    return str(sorted(params.items()))
