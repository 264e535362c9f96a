"""Which card of the catalogue a driver's answers belong to: name, then memory window, then chip."""

from collections.abc import Iterable

from gputuner.catalog.facts import CardFacts
from gputuner.catalog.features import capability, features_of, features_of_capability
from gputuner.model.cards import CatalogMatch, Support

UNKNOWN_NAME = "unknown_name"
UNKNOWN_VARIANT = "unknown_variant"
SM_COUNT_DIFFERS = "sm_count_differs"
CAPABILITY_DIFFERS = "capability_differs"


def match_card(
    cards: Iterable[CardFacts],
    name: str,
    memory_total_bytes: int | None,
    sm_count: int | None,
    compute_capability: str | None,
) -> CatalogMatch:
    """The match of one card; ``catalog_id`` None with a ``note`` where the catalogue does not know it.

    The name must be equal (not "contain": "RTX 4090" is part of "RTX 4090 D"); the memory window tells a mod from its
    donor; SM count and compute capability guard against relabelled chips.
    """
    named = [card for card in cards if _plain(name) in {_plain(p) for p in card.nvml_name_patterns}]
    if not named:
        return CatalogMatch(
            catalog_id=None,
            name=None,
            note=UNKNOWN_NAME,
            passive=_plain(name).startswith("tesla "),  # server boards; those with a fan are older than torch takes
            features=_features_by_capability(compute_capability),
        )
    donor = next((card for card in named if not card.modded), named[0])
    fitting = [c for c in named if memory_total_bytes is not None and c.holds_memory(memory_total_bytes)]
    if not fitting:
        return _unfit(donor, UNKNOWN_VARIANT)
    card = fitting[0]
    if compute_capability is not None and compute_capability != card.compute_capability:
        return _unfit(donor, CAPABILITY_DIFFERS, _features_by_capability(compute_capability))
    if sm_count is not None and sm_count != card.sm_count:
        return _unfit(donor, SM_COUNT_DIFFERS)
    return CatalogMatch(
        catalog_id=card.id,
        name=card.name,
        modded=card.modded,
        base_name=donor.name if card.modded else None,
        passive=card.passive,
        memory_limit_c=None if card.memory_temp_limit_c is None else float(card.memory_temp_limit_c),
        architecture=card.architecture,
        features=features_of(card),
    )


def _unfit(donor: CardFacts, note: str, features: dict[str, Support] | None = None) -> CatalogMatch:
    return CatalogMatch(
        catalog_id=None,
        name=None,
        base_name=donor.name,
        passive=donor.passive,
        note=note,
        architecture=donor.architecture if features is None else None,
        features=features_of(donor) if features is None else features,
    )


def _features_by_capability(compute_capability: str | None) -> dict[str, Support]:
    """Features of a card that only its capability is known of; NVLink and sparsity then follow the chip generation."""
    if compute_capability is None:
        return {}
    found = features_of_capability(capability(compute_capability))
    del found["nvlink"]
    return found


def _plain(name: str) -> str:
    """A name without the vendor's word, case and doubled spaces (drivers before 2021 omit "NVIDIA")."""
    words = name.casefold().split()
    return " ".join(words[1:] if words[:1] == ["nvidia"] else words)
