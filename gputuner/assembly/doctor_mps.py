"""Whether jobs can share the cards of this machine by MPS. Looks, changes nothing."""

from collections.abc import Iterator, Sequence

from gputuner.engine.mps_ground import obstacle, users_pipe
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.findings import Finding, Level
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Scalar


def examine_mps(cards: Sequence[CardInfo], host: HostFingerprint) -> Iterator[Finding]:
    """One finding for all cards, one for a daemon of the user's, one for each card that lets a single process in."""
    real = [card for card in cards if not card.is_cpu and card.origin is Origin.MEASURED]
    if not real:
        return
    reasons = {obstacle(card, host) for card in real}
    if None in reasons:
        yield Finding(code="mps_fine", level=Level.FINE, params={})
    else:
        yield Finding(code=f"mps_absent_{min(map(str, reasons))}", level=Level.NOTE, params={})
    pipe = users_pipe()
    if pipe is not None:
        yield Finding(code="mps_users", level=Level.NOTE, params={"path": str(pipe)})
    for card in real:
        told = card.readings.get("compute_mode")
        if told is not None and told.value not in (None, "default"):
            params: dict[str, Scalar] = {"card": card.title, "mode": told.value}
            yield Finding(code="compute_mode_exclusive", level=Level.NOTE, params=params)
