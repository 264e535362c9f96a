"""Rate over power limit of cards, by their stored power sweeps: what a total over several cards is shared by."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gputuner.analysis.power_curve import fit_curve
from gputuner.analysis.total_power import CardRange, RateCurve
from gputuner.experiments.power_stored import stored_visits
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.control import CardControl, Setting
from gputuner.model.errors import GputunerError
from gputuner.model.points import Point
from gputuner.sessions.library import SessionLibrary
from gputuner.settings.paths import paths

POWER = "power"
LEAST_SETTINGS = 3
"""Fewer limits tell no curve."""


def ranges_of(cards: Sequence[CardControl], data_dir: Path | None, origin: Origin) -> list[CardRange]:
    """Each card's range, up to its default limit (a cap raises none above it), and its curve where one is stored.

    Args:
        cards: whose power limit can be set.
        data_dir: of the sessions; None: the platform's own.
        origin: of the cards; sweeps of another say nothing of them.
    """
    return [_range_of(card, SessionLibrary(paths(data_dir).data_dir), origin) for card in cards]


def _range_of(card: CardControl, sessions: SessionLibrary, origin: Origin) -> CardRange:
    state = card.state(Setting.POWER_LIMIT)
    assert state.low is not None
    assert state.high is not None
    default = state.default[0] if state.default else state.high
    return CardRange(
        card=card.uuid,
        low_w=state.low,
        high_w=min(state.high, default),
        default_w=default,
        curve=newest_curve(sessions, card.uuid, origin),
    )


def newest_curve(sessions: SessionLibrary, uuid: str, origin: Origin) -> RateCurve | None:
    """The curve of the newest power sweep of a card that holds one; None: there is none."""
    for summary in sessions.list():
        if summary.experiment != POWER or summary.running or summary.origin is not origin or not summary.point_count:
            continue
        card = next((known for known in summary.cards if known.uuid == uuid), None)
        if card is None:
            continue
        try:
            stored = sessions.open(summary.path)
        except GputunerError:
            continue
        with stored:
            curve = curve_of(stored.points(), card, summary.run_id)
        if curve is not None:
            return curve
    return None


def curve_of(points: Sequence[Point], card: CardInfo, session: str) -> RateCurve | None:
    """The curve of the load that was visited most; None: it was visited at too few limits."""
    visits = stored_visits(points, card, session)
    loads = Counter((each.workload, str(sorted(each.params.items()))) for each in visits)
    if not loads:
        return None
    chosen = loads.most_common(1)[0][0]
    own = [each.visit for each in visits if (each.workload, str(sorted(each.params.items()))) == chosen]
    if len({visit.setting for visit in own}) < LEAST_SETTINGS:
        return None
    fitted = fit_curve(own)
    rates = np.exp(fitted.rate.fit)
    relative = rates / np.max(rates)
    return RateCurve(
        caps_w=tuple(float(cap) for cap in fitted.settings),
        rates=tuple(float(rate) for rate in relative),
        session=session,
        workload=chosen[0],
    )
