"""The chosen language and the one catalogue of strings (gettext; English is the source).

``_`` translates now; ``N_`` only marks a string for extraction, so that tables of strings can be module constants.
Where the compiled catalogue is missing, people read English.
"""

import locale
import os
from collections.abc import Iterable, Mapping
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

from gputuner.model.resources import resource_path

ENGLISH = "en"
CHINESE = "zh_CN"
LANGUAGES = (ENGLISH, CHINESE)
DOMAIN = "gputuner"

_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_SIMPLIFIED = {"zh", "zh_cn", "zh_sg", "zh_hans", "zh_hans_cn"}


class _Chosen:
    """The language in use; one per process."""

    tag: str = ENGLISH
    wanted: str = ENGLISH
    catalogue: NullTranslations = NullTranslations()


def set_language(tag: str | None = None, locale_dir: Path | None = None) -> str:
    """Choose the language (None: the locale's) and return the tag in use: ``en`` or ``zh_CN``.

    Args:
        tag: ``en``, ``zh_CN`` or None. Unknown tags mean English.
        locale_dir: where the compiled catalogues lie (None: the program's own).
    """
    wanted = preferred_language() if tag is None else tag
    _Chosen.tag, _Chosen.catalogue = ENGLISH, NullTranslations()
    _Chosen.wanted = wanted if wanted in LANGUAGES else ENGLISH
    if wanted in LANGUAGES and wanted != ENGLISH:
        folder = resource_path("locale") if locale_dir is None else locale_dir
        compiled = folder / wanted / "LC_MESSAGES" / f"{DOMAIN}.mo"
        if compiled.is_file():
            with compiled.open("rb") as file:
                _Chosen.tag, _Chosen.catalogue = wanted, GNUTranslations(file)
    return _Chosen.tag


def language() -> str:
    """Tag of the language in use."""
    return _Chosen.tag


def not_compiled() -> str:
    """A sentence where another language was wanted than is spoken; empty where that is spoken."""
    if _Chosen.wanted == _Chosen.tag:
        return ""
    return _("The words of {language} are not compiled, so this is English. In the source folder: make words").format(
        language=_Chosen.wanted
    )


def preferred_language() -> str:
    """The language that the environment asks for: ``zh_CN`` for a Simplified Chinese locale, else ``en``."""
    name = next((os.environ[v] for v in _VARIABLES if os.environ.get(v)), None)
    if name is None:
        name = locale.getlocale()[0] or ""
    base = name.split(".")[0].split("@")[0].replace("-", "_").lower()
    return CHINESE if base in _SIMPLIFIED or base.startswith("chinese (simplified") else ENGLISH


def _(message: str) -> str:
    """``message`` in the language in use."""
    return _Chosen.catalogue.gettext(message) if message else ""


def listed(parts: Iterable[str]) -> str:
    """The parts that are not empty, with the commas of the language in use."""
    return _(", ").join(part for part in parts if part)


def in_a_row(*sentences: str) -> str:
    """Sentences one after the other: Chinese has no blank between them."""
    return ("" if language() == CHINESE else " ").join(sentence for sentence in sentences if sentence)


def ngettext(singular: str, plural: str, n: int) -> str:
    """The form for ``n`` in the language in use."""
    return _Chosen.catalogue.ngettext(singular, plural, n)


def N_(message: str) -> str:
    """``message`` itself: marks a string for extraction where it is translated later."""
    return message


class Counted(str):
    """A sentence of a table in two forms: itself the plural, ``one`` the singular, ``by`` the field that counts."""

    one: str
    by: str

    def __new__(cls, one: str, many: str, by: str) -> "Counted":
        """The plural as text, with the singular beside it."""
        made = super().__new__(cls, many)
        made.one, made.by = one, by
        return made


def NN_(one: str, many: str, by: str) -> Counted:
    """Marks both forms of a sentence for extraction, as ``N_`` does; ``by``: the field that says how many."""
    return Counted(one, many, by)


def translated(message: str, params: Mapping[str, object]) -> str:
    """``message`` in the language in use, in the form for the count that ``params`` name."""
    if isinstance(message, Counted):
        count = params.get(message.by)
        return ngettext(message.one, str(message), int(count) if isinstance(count, int | float) else 2)
    return _(message)
