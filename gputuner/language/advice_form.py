"""The form that the words of every rule have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceWords:
    """The words of one rule; a sentence of ``why`` is left out where a value it needs was not measured."""

    title: str
    action: str
    why: tuple[str, ...]
