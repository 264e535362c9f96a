"""Facts for sizing supply, cables, circuit, air and radiators (``resources/supply.toml``)."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from gputuner.analysis.supply_facts import CONFIDENCES, Fact, SupplyFacts
from gputuner.model.errors import StoreError
from gputuner.model.resources import resource_path


def read_supply(path: Path) -> SupplyFacts:
    """All facts of a file.

    Raises:
        StoreError: it cannot be read, a field is missing or unknown, or a range is none.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        facts = [_fact(each) for each in table["fact"]]
        sizes = tuple(sorted(float(size) for size in table["sizes_w"]))
    except (OSError, KeyError, TypeError, ValueError) as err:
        raise StoreError("catalog_malformed", f"{path.name}: {err}", card=path.name, field=str(err)) from err
    by_id = {fact.id: fact for fact in facts}
    if len(by_id) < len(facts) or not sizes:
        raise StoreError("catalog_malformed", f"{path.name}: two facts share an id", card=path.name, field="id")
    return SupplyFacts(facts=by_id, sizes_w=sizes)


def _fact(table: dict[str, Any]) -> Fact:
    fact = Fact(**table)
    if not 0 <= fact.low <= fact.high or fact.confidence not in CONFIDENCES or not fact.source:
        raise ValueError(f"{fact.id}: no range, confidence or source")
    return fact


@cache
def load_supply() -> SupplyFacts:
    """The facts that are shipped with the program (read once)."""
    return read_supply(resource_path("supply.toml"))
