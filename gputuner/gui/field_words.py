# pyright: standard
"""Words, units and ranges of the fields of specs, for the forms."""

from dataclasses import Field, dataclass
from typing import Any

from gputuner.language.words import _


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWords:
    """How a field appears in a form. ``hidden`` fields keep their default."""

    name: str
    why: str = ""
    note: str = ""
    unit: str = ""
    low: float = 0.0
    high: float = 1_000_000_000.0
    step: float = 1.0
    decimals: int = 1
    hidden: bool = False
    rare: bool = False
    """Rarely needed: it stands in the form's fold."""
    lowest: str = ""
    """What the lowest value of a number means, where it is no number (0: found by itself)."""
    choices: tuple[tuple[str, str], ...] = ()
    """Words and values of a text that is one of a few."""


def field_words(entry: "Field[Any]") -> FieldWords:
    """The words for a field of a spec; an unknown field shows its own name."""
    match entry.name:
        case "minutes":
            return FieldWords(
                name=_("Time"),
                why=_("The plan shrinks to this time: fewer sizes, shorter loads, wider intervals."),
                note=_("five minutes measure everything once"),
                unit=_("min"),
                low=0.2,
                high=120.0,
                step=1.0,
            )
        case "effective_batch":
            return FieldWords(
                name=_("Effective batch"),
                why=_("Samples per optimizer step of your training; advice keeps it by accumulating gradients."),
                note=_("kept by gradient accumulation"),
                low=0,
                high=1 << 20,
                rare=True,
                lowest=_("not asked for"),
            )
        case "largest_batch":
            return FieldWords(
                name=_("Largest batch"),
                why=_("No larger batch is tried or advised."),
                low=0,
                high=1 << 20,
                rare=True,
                lowest=_("as large as fits"),
            )
        case "seed":
            return FieldWords(
                name=_("Seed"),
                why=_("The same seed gives the same inputs and the same resampling."),
                low=0,
                high=2**31 - 1,
                hidden=True,
            )
        case "quick":
            return FieldWords(name=_("Quick"), hidden=True)
        case _:
            return FieldWords(name=entry.name.replace("_", " "))
