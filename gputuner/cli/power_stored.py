"""What stored sessions of a card show of caps: earlier sweeps, and the same training under another limit."""

from dataclasses import replace
from typing import TYPE_CHECKING

from gputuner.cli.ports import Setup
from gputuner.model.cards import CardInfo
from gputuner.model.errors import GputunerError

if TYPE_CHECKING:
    from gputuner.experiments.power import Power
    from gputuner.experiments.power_dial import StoredVisit

LOOKED_AT = 20
"""So many of the newest sessions are opened, at most."""


def with_stored_visits(setup: Setup, spec: "Power", card: CardInfo) -> "Power":
    """``spec`` with what sessions of ``card`` saw, where nothing is set; a sweep stands by itself."""
    if not spec.passive or spec.null or spec.clocks:
        return spec
    from gputuner.experiments.power_stored import stored_visits

    found: list[StoredVisit] = []
    summaries = [entry.summary for entry in setup.sessions.entries() if entry.summary is not None]
    own = [s for s in summaries if s.origin is setup.origin and not s.running and s.point_count]
    own = [s for s in own if any(known.uuid == card.uuid for known in s.cards)]
    for summary in own[:LOOKED_AT]:
        try:
            stored = setup.sessions.open(summary.path)
        except GputunerError:
            continue
        try:
            then = next(known for known in summary.cards if known.uuid == card.uuid)
            torch = stored.torch()
            found += stored_visits(stored.points(), then, summary.run_id, torch.version if torch is not None else "")
        finally:
            stored.close()
    return replace(spec, stored=tuple(found))
