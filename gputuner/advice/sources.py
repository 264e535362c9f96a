"""Advice about heat names the source of a reading that another source contradicts. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gputuner.analysis.telemetry_quality import SOURCES_DISAGREE, QualityNote
from gputuner.model.advice import Advice
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar

_CORE, _MEMORY = (Quantity.CORE_TEMPERATURE_C.value, "core"), (Quantity.MEMORY_TEMPERATURE_C.value, "memory")
RESTS_ON: dict[str, tuple[tuple[str, str], ...]] = {
    "limit.thermal": (_CORE,),
    "memory_heat.suspected": (_CORE, _MEMORY),
}
"""Rule → the quantities whose figure its reason tells, with their short name among its values."""


def naming_sources(advice: Iterable[Advice], notes: Sequence[QualityNote]) -> tuple[Advice, ...]:
    """The same advice; where it rests on a disputed quantity of its card, its values name both sources.

    Args:
        advice: as stored.
        notes: ``sources_disagree`` of the session; of several on one quantity the first is named.
    """
    return tuple(_named(entry, notes) for entry in advice)


def _named(entry: Advice, notes: Sequence[QualityNote]) -> Advice:
    added: dict[str, Scalar] = {}
    for quantity, short in RESTS_ON.get(entry.id, ()):
        for note in notes:
            ours = note.code == SOURCES_DISAGREE and note.params["uuid"] == entry.card
            if ours and note.params["quantity"] == quantity and f"{short}_c" in entry.params:
                added |= {f"{short}_{name}": note.params[name] for name in ("source", "other", "difference")}
                break
    return replace(entry, params={**entry.params, **added}) if added else entry
