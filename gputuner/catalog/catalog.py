"""The catalogue: identify a card, look up its specification, its sheet rates and what others measured on it."""

import tomllib
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from gputuner.catalog.facts import CardFacts, card_from_table
from gputuner.catalog.matching import match_card
from gputuner.catalog.published import PublishedResult, of_card, read_published
from gputuner.model.cards import CatalogMatch
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.resources import resource_path

_RATES = {
    "peak_fp32": "fp32_tflops",
    "peak_tf32": "tf32_tensor_tflops",
    "peak_fp16": "fp16_tensor_fp32acc_tflops",
    "peak_fp16_acc16": "fp16_tensor_fp16acc_tflops",
    "peak_bf16": "bf16_tensor_tflops",
    "peak_fp8": "fp8_tflops",
    "peak_fp8_acc16": "fp8_fp16acc_tflops",
    "peak_int8": "int8_tops",
    "peak_fp64": "fp64_tflops",
    "peak_fp64_tensor": "fp64_tensor_tflops",
}
_MARKETING = ("nvidia", "geforce", "tesla", "the")
_ALIKE = 0.6
"""Least likeness (0 to 1) of an id that shares no word with what was asked for."""


class Catalog:
    """All cards of ``gpus.toml`` and the published results, read once."""

    def __init__(self, cards: tuple[CardFacts, ...], results: tuple[PublishedResult, ...]) -> None:
        """Keep the records; ids must be unique."""
        self.cards = cards
        self._by_id = {card.id: card for card in cards}
        self._results = results
        if len(self._by_id) != len(cards):
            raise StoreError("catalog_malformed", "two cards share an id")

    @classmethod
    def read(cls, cards: Path, results: Path) -> "Catalog":
        """Read both files.

        Raises:
            StoreError: a file is missing or malformed.
        """
        try:
            tables = tomllib.loads(cards.read_text(encoding="utf-8"))["gpu"]
        except (OSError, KeyError, tomllib.TOMLDecodeError) as err:
            raise StoreError("catalog_malformed", f"{cards.name}: {err}", card=cards.name, field=str(err)) from err
        return cls(tuple(card_from_table(table) for table in tables), read_published(results))

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all cards, in the file's order."""
        return tuple(self._by_id)

    def card(self, card_id: str) -> CardFacts:
        """Specification of a card.

        Raises:
            UsageError: no such id; ``params["nearest"]`` names those that resemble it.
        """
        if card_id not in self._by_id:
            nearest = ", ".join(_nearest(card_id, self.ids))
            raise UsageError(
                "unknown_card",
                f"no card {card_id!r} in the catalogue",
                card=card_id,
                nearest=nearest,
                count=len(self.ids),
            )
        return self._by_id[card_id]

    def match(
        self,
        name: str,
        memory_total_bytes: int | None,
        sm_count: int | None = None,
        compute_capability: str | None = None,
    ) -> CatalogMatch:
        """What the catalogue says of a card that a driver describes; tells memory mods from their donors."""
        return match_card(self.cards, name, memory_total_bytes, sm_count, compute_capability)

    def reference(self, card_id: str) -> dict[str, float]:
        """Sheet figures: ``peak_*`` in FLOP/s, ``peak_bandwidth`` in bytes/s, ``tdp_w`` in W, ``bus_bits``; known ones.

        ``peak_fp16`` accumulates in FP32, which is what torch does; ``peak_fp16_acc16`` is the sheet's other figure.
        """
        facts = self.card(card_id)
        found = {name: getattr(facts, source) for name, source in _RATES.items()}
        rates = {name: value * 1e12 for name, value in found.items() if value is not None}
        return rates | {
            "peak_bandwidth": facts.memory_bandwidth_gb_s * 1e9,
            "bus_bits": float(facts.bus_width_bits),
            "tdp_w": float(facts.tdp_w),
            "boost_clock_mhz": float(facts.boost_clock_mhz),
        }

    def published(self, gpu: str, metric: str | None = None) -> tuple[PublishedResult, ...]:
        """What others measured on a card (id, or the source's own label), each figure with its source."""
        return of_card(self._results, gpu, metric)


def _nearest(asked: str, ids: tuple[str, ...]) -> list[str]:
    """Ids that share the asked-for number or word, else those spelled alike, best first (at most four)."""
    words = {w for w in asked.casefold().replace("_", "-").replace(" ", "-").split("-") if w not in _MARKETING}
    alike = {i: SequenceMatcher(None, asked.casefold(), i).ratio() for i in ids}
    shared = {i: len(words & set(i.split("-"))) for i in ids}
    best = sorted(ids, key=lambda i: (-shared[i], -alike[i]))[:4]
    return [i for i in best if shared[i] or alike[i] >= _ALIKE]


@cache
def load() -> Catalog:
    """The catalogue that is shipped with the program (read once)."""
    return Catalog.read(resource_path("gpus.toml"), resource_path("published-results.csv"))
