"""What the catalogue, this interpreter and the stored tries know of a card."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from gputuner.advice.chances import Chances
from gputuner.advice.tried import record_of, stored_tries
from gputuner.assembly.identified import reference
from gputuner.catalog import load
from gputuner.catalog.facts import CardFacts
from gputuner.catalog.published import PublishedResult
from gputuner.engine.knowledge import Knowledge
from gputuner.model.cards import CardInfo, Origin
from gputuner.sessions.library import SessionLibrary

KERNELS_MODULE = "cuda.core"
"""Compiles and launches our own kernels (extra ``kernels``); they run in gputuner's own interpreter."""


def results(card: CardInfo) -> tuple[PublishedResult, ...]:
    """What others published for this very card (mods apart from their donors); empty where it is not recognised."""
    known = card.catalog.catalog_id if card.catalog else None
    return load().published(known) if known else ()


def kernels(card: CardInfo) -> bool:
    """True if our own kernels can run: the extra is installed, or the card is a model. Imports nothing of it."""
    if card.origin is Origin.SIMULATED:
        return True
    try:
        return find_spec(KERNELS_MODULE) is not None
    except (ImportError, ValueError):  # a namespace without that module, or a module without a spec
        return False


def sheets() -> Mapping[str, CardFacts]:
    """The sheets of all cards of the catalogue, by id."""
    return {card.id: card for card in load().cards}


KNOWLEDGE = Knowledge(reference=reference, results=results, kernels=kernels, sheets=sheets)


def with_record(sessions: SessionLibrary) -> Knowledge:
    """All that, and what came of advice that was tried, by the stored sessions."""

    def record(card: CardInfo) -> Chances:
        return record_of(stored_tries(sessions), card.origin)

    return replace(KNOWLEDGE, record=record)
