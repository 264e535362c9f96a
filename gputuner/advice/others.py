"""Who else is on the card."""

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.model.advice import Advice
from gputuner.model.readings import Scalar

UNOWNED_BYTES = 512 << 20
"""Less memory without an owner than this is the driver's own."""
NAMED = 3


def busy_rule(evidence: Evidence) -> list[Advice]:
    """``card.busy``: other processes compute on the card, so its figures are theirs as well."""
    table = evidence.processes
    others = [p for p in table.processes if p.compute] if table else []
    if not others:
        return []
    largest = sorted(others, key=lambda p: p.memory_bytes or 0, reverse=True)
    params: dict[str, Scalar] = {
        "count": len(others),
        "names": ", ".join(f"{p.name or '?'} ({p.pid})" for p in largest[:NAMED]),
        "bytes": sum(p.memory_bytes or 0 for p in others),
        "bytes_known": all(p.memory_bytes is not None for p in others),
    }
    return [make("card.busy", evidence.card.uuid, params, [f"{evidence.card.uuid}:processes"], weight=15.0)]


def unowned_rule(evidence: Evidence) -> list[Advice]:
    """``card.unowned_memory``: memory is in use that no visible process owns (a dead process, a container, MPS)."""
    table = evidence.processes
    if table is None or table.unowned_bytes is None or table.unowned_bytes < UNOWNED_BYTES:
        return []
    params: dict[str, Scalar] = {"bytes": table.unowned_bytes}
    if evidence.card.memory_total_bytes:
        params["share"] = table.unowned_bytes / evidence.card.memory_total_bytes
    reference = f"{evidence.card.uuid}:unowned_bytes"
    return [make("card.unowned_memory", evidence.card.uuid, params, [reference], weight=7.0)]
