"""A command of the user's as a session may tell it: without secrets, folders of the user's, and long code."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath

MOST_WORD, MOST_WORDS = 60, 40
"""Longest word, and most words, of a command as it is told."""
HIDDEN = "***"
_SECRET = re.compile(r"(key|token|secret|passw|pwd|credential|auth)", re.IGNORECASE)
_SECRET_INSIDE = re.compile(
    r"([\w-]*(?:key|token|secret|passw|pwd|credential|auth)[\w-]*)(\s*[=:]\s*|\s+)([^\s;&|]+)", re.IGNORECASE
)
"""In a word that holds a command line of its own, as that of ``sh -c``."""
_USER_IN_URL = re.compile(r"(://)[^/@\s]+@")


def told_command(argv: Sequence[str]) -> tuple[str, ...]:
    """A command as a session may tell it: no folders of the user's, no secrets, no long code."""
    told: list[str] = []
    hide = False
    for word in argv[:MOST_WORDS]:
        told.append(HIDDEN if hide else _told_word(word))
        hide = word.startswith("-") and "=" not in word and bool(_SECRET.search(word))
    return (*told, "…") if len(argv) > MOST_WORDS else tuple(told)


def without_secrets(argv: Sequence[str]) -> tuple[str, ...]:
    """A whole command for its owner: only secrets are left out, and bytes that are no UTF-8 are written out."""
    told: list[str] = []
    hide = False
    for word in argv:
        told.append(HIDDEN if hide else _hidden(word).encode("utf-8", "backslashreplace").decode("utf-8"))
        hide = word.startswith("-") and "=" not in word and bool(_SECRET.search(word))
    return tuple(told)


def told_line(words: Sequence[str]) -> str:
    """Words in one line, in quotes where they hold spaces; to be read, not to be run."""
    return " ".join(map(_quoted, words))


def readable(text: str) -> str:
    """The text with its control signs, and bytes that are no UTF-8, written out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def _quoted(word: str) -> str:
    if word and not any(sign.isspace() or sign in "'\"" for sign in word):
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"


def _hidden(word: str) -> str:
    """A word without the secrets in it."""
    if any(sign.isspace() for sign in word):
        word = _SECRET_INSIDE.sub(rf"\1\2{HIDDEN}", word)
    name, equals, _value = word.partition("=")
    if equals and _SECRET.search(name) and not any(sign.isspace() for sign in name):
        return f"{name}={HIDDEN}"
    return _USER_IN_URL.sub(r"\1", word)


def _told_word(word: str) -> str:
    if any(sign.isspace() for sign in word):
        word = _SECRET_INSIDE.sub(rf"\1\2{HIDDEN}", word)
    name, equals, value = word.partition("=")
    if equals and _SECRET.search(name):
        return f"{name}={HIDDEN}"
    if equals and "://" not in name:
        return _cut(f"{name}={_told_path(value)}")
    return _cut(_told_path(word))


def _told_path(word: str) -> str:
    """A path from a root or a home on without its folders; an address without its user."""
    if "://" in word:
        return _USER_IN_URL.sub(r"\1", word)
    path = PureWindowsPath(word) if PureWindowsPath(word).drive else PurePosixPath(word)
    return path.name or word if path.is_absolute() or word.startswith("~") else word


def _cut(word: str) -> str:
    line = readable(" ".join(word.split()) if "\n" in word else word)
    return line if len(line) <= MOST_WORD else f"{line[: MOST_WORD - 1]}…"
