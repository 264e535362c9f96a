"""How settings and their values are written on the command line."""

import contextlib

from gputuner.language.words import N_, _
from gputuner.model.control import LOCKS, Setting, Value
from gputuner.model.errors import UsageError
from gputuner.model.written_numbers import written_number

WORDS: dict[str, Setting] = {
    "power-limit": Setting.POWER_LIMIT,
    "lock-clocks": Setting.SM_CLOCK_LOCK,
    "lock-memory": Setting.MEMORY_CLOCK_LOCK,
    "offset-core": Setting.CORE_OFFSET,
    "offset-memory": Setting.MEMORY_OFFSET,
    "fan": Setting.FAN,
}
TOTAL = "total-power"
"""Written like a setting: watts over several cards, shared among their power limits."""
_EXPECTED = {
    Setting.POWER_LIMIT: N_("watts, such as 300"),
    Setting.SM_CLOCK_LOCK: N_("the lowest and the highest clock in MHz, such as 300,1500, or off"),
    Setting.MEMORY_CLOCK_LOCK: N_("the lowest and the highest clock in MHz, such as 405,9501, or off"),
    Setting.CORE_OFFSET: N_("MHz, such as 100 or -100"),
    Setting.MEMORY_OFFSET: N_("MHz, such as 500 or -500"),
    Setting.FAN: N_("per cent, such as 70, or auto"),
}
OWN = {Setting.SM_CLOCK_LOCK: "off", Setting.MEMORY_CLOCK_LOCK: "off", Setting.FAN: "auto"}
"""The driver's own way in a word."""


def setting_of(word: str) -> Setting:
    """The setting that a word names.

    Raises:
        UsageError: there is none.
    """
    if word not in WORDS:
        raise UsageError("control_setting_unknown", f"no setting {word}", what=word, known=", ".join((*WORDS, TOTAL)))
    return WORDS[word]


def word_of(setting: Setting) -> str:
    """The word that names a setting."""
    return next(word for word, named in WORDS.items() if named is setting)


def parse_total(text: str) -> float:
    """Watts over all cards.

    Raises:
        UsageError: the text is no such value.
    """
    watts = 0.0
    with contextlib.suppress(ValueError):
        watts = written_number(_bare(text, "w"))
    if not 0 < watts < 1e6:
        expected = _(_EXPECTED[Setting.POWER_LIMIT])
        raise UsageError("control_value_words", "no value", what=TOTAL, value=text, expected=expected)
    return watts


def _bare(text: str, unit: str) -> str:
    """``text`` without the unit behind it, if there is one."""
    small = text.lower()
    return small.removesuffix(unit).removesuffix(" ") if small.endswith(unit) else text


def parse(setting: Setting, text: str) -> Value:
    """A value in the setting's unit; the card's own range is checked where it is set.

    Raises:
        UsageError: the text is no such value.
    """
    if text.lower() == OWN.get(setting):
        return ()
    parts = _bare(text, "%" if setting is Setting.FAN else "w").split(",")
    numbers: tuple[float, ...] = ()
    with contextlib.suppress(ValueError):
        numbers = tuple(written_number(part) for part in parts)
    if len(numbers) != (2 if setting in LOCKS else 1) or not all(abs(number) < 1e6 for number in numbers):
        expected = _(_EXPECTED[setting])
        raise UsageError("control_value_words", "no value", what=word_of(setting), value=text, expected=expected)
    return tuple(number / 100 for number in numbers) if setting is Setting.FAN else numbers
