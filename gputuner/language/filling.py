"""Fill the fields of a sentence: ``{free_bytes:bytes}`` is written for people, a missing field is a dash."""

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from gputuner.language import numbers
from gputuner.language.words import translated


class _Filler(Formatter):
    """Formats each field by its unit, which stands where a format specification would."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The field's value, or None where it was not given."""
        return kwargs.get(key) if isinstance(key, str) else None

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value in the unit ``format_spec``."""
        if value is None or isinstance(value, (str, int, float)):
            return numbers.value(value, format_spec)
        if isinstance(value, (list, tuple)):
            return ", ".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        return str(value)


_filler = _Filler()


def fill(message: str, params: Mapping[str, object]) -> str:
    """``message`` translated, with its fields filled from ``params``."""
    return _filler.vformat(translated(message, params), (), params)
