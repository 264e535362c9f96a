"""From an index that an old file kept to the UUID of a card, or to a question.

NVML counts cards by their place on the bus, CUDA the fastest first unless told otherwise, and nobody wrote down which
of the two an old index meant. So it is taken over only where it can mean one card; else the user is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gputuner.model.cards import CardInfo
from gputuner.settings.preferences import Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class WhichCard:
    """To be asked: which of ``cards`` did ``index`` mean?"""

    index: int
    cards: tuple[CardInfo, ...]


def resolve(preferences: Preferences, cards: Sequence[CardInfo]) -> Preferences | WhichCard:
    """Preferences that name the card by UUID, or what to ask. Answer with ``choose``.

    Args:
        preferences: as loaded.
        cards: all cards of the machine (the card ``cpu`` is not counted).
    """
    index = preferences.selected_index
    if index is None:
        return preferences
    if preferences.selected_card is not None:
        return replace(preferences, selected_index=None)
    counted = tuple(card for card in cards if not card.is_cpu)
    if len(counted) == 1 and index == 0:
        return choose(preferences, counted[0])
    return WhichCard(index=index, cards=counted)


def choose(preferences: Preferences, card: CardInfo | None) -> Preferences:
    """Preferences for ``card`` (None: none is preferred); an old index is forgotten."""
    return replace(preferences, selected_card=card.uuid if card else None, selected_index=None)
