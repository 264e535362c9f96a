"""Facts on cards from ``resources/``: specifications, memory mods, features, published results."""

from gputuner.catalog.catalog import Catalog, load
from gputuner.catalog.facts import CardFacts
from gputuner.catalog.published import PublishedResult

__all__ = ["CardFacts", "Catalog", "PublishedResult", "load"]
