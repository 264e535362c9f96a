# pyright: standard
"""Which of the telemetry's notices still hold: the feed keeps each one for good, the page shows what is so now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gputuner.gui.live import LiveCard
from gputuner.language import sentences
from gputuner.model.cards import CardState
from gputuner.model.readings import Reason, Scalar
from gputuner.telemetry.feed import FeedState, FeedStatus, Notice

TOLD_FOR_NS = 60_000_000_000
"""How long something is shown that is over as soon as it is told (a card is back, the machine slept)."""
LASTING = frozenset({"nvml_impostor", "nvml_memory_includes_reserved"})
"""True as long as this program runs."""
PASSING = frozenset(
    {
        "telemetry_card_found",
        "telemetry_card_recovered",
        "telemetry_collector_crashed",
        "telemetry_collector_hung",
        "telemetry_suspended",
    }
)
"""Over when told; a collector that is being started again is the feed's state meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Something that holds now: the code and parameters of its sentence."""

    code: str
    params: Mapping[str, Scalar]

    @property
    def card(self) -> str | None:
        """UUID of the card it is about."""
        card = self.params.get("card")
        return str(card) if card else None


def standing(status: FeedStatus, cards: Mapping[str, LiveCard], now_ns: int) -> tuple[Standing, ...]:
    """What holds at ``now_ns`` (feed's clock), in the order told; what the feed's own state says is not among it."""
    told = sorted(status.notices, key=lambda notice: notice.t_ns)
    held = [
        Standing(code=notice.code, params=notice.params)
        for notice in told
        if not _is_state(notice, status) and _holds(notice, status, cards, now_ns)
    ]
    return (*held, *_rejected(cards.values()))


def lines(found: Iterable[Standing], cards: Mapping[str, LiveCard]) -> tuple[str, ...]:
    """A sentence for each, as the command line says it but with the cards' names; equal ones once."""
    texts: dict[str, None] = {}
    for item in found:
        card = cards.get(item.card or "")
        params = dict(item.params) | ({"card": card.info.title} if card else {})
        texts[sentences.warning(item.code, params)] = None
    return tuple(texts)


def _is_state(notice: Notice, status: FeedStatus) -> bool:
    return status.state is not FeedState.OK and notice.code == status.code


def _holds(notice: Notice, status: FeedStatus, cards: Mapping[str, LiveCard], now_ns: int) -> bool:
    uuid = str(notice.params.get("card", ""))
    card = cards.get(uuid)
    recent = now_ns - notice.t_ns < TOLD_FOR_NS
    match notice.code:
        case code if code in LASTING:
            return True
        case code if code in PASSING:
            return recent
        case "telemetry_call_hung":
            return _call_hangs(notice, uuid, status, recent)
        case "telemetry_card_failing":
            return card is not None and card.info.state is CardState.READY and not card.answered_since(notice.t_ns)
        case "telemetry_card_lost":
            return card is not None and card.lost
        case _:
            return False  # a state of the feed that is over


def _call_hangs(notice: Notice, uuid: str, status: FeedStatus, recent: bool) -> bool:
    if not uuid:
        return recent  # a scan or the watch for XIDs: nothing tells that it has come back
    return any(call.card == uuid and call.tier == notice.params.get("call") for call in status.hung_calls)


def _rejected(cards: Iterable[LiveCard]) -> list[Standing]:
    """Readings that the driver gives as values which cannot be, per card."""
    found: list[Standing] = []
    for card in cards:
        names = [
            sentences.quantity(quantity)
            for quantity, shown in card.latest.items()
            if shown.reason is Reason.IMPLAUSIBLE and card.info.state is CardState.READY
        ]
        if names:
            params: dict[str, Scalar] = {"card": card.info.uuid, "quantities": ", ".join(names)}
            found.append(Standing(code="telemetry_values_rejected", params=params))
    return found
