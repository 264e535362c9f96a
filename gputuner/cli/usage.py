"""What cyclopts finds wrong with a command line, as one of our own errors."""

from collections.abc import Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Literal, get_args, get_origin

from cyclopts import ArgumentCollection, CycloptsError
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from gputuner.language.words import N_, _
from gputuner.model.errors import UsageError
from gputuner.model.written_numbers import written_number, written_whole

SELECTION = "--gpu"
"""Has a sentence of its own for an empty value."""
_EXPECTED: dict[object, str] = {float: N_("a number"), int: N_("a whole number")}


WATCH = "watch"
QUEUE_ADD = ("queue", "add")
"""These take another program's words, behind ``--``."""


def own_words(argv: Sequence[str]) -> list[str]:
    """The words that are ours: those before ``--``."""
    words = list(argv)
    return words[: words.index("--")] if "--" in words else words


def written_strictly(_app: object, _commands: Sequence[str], arguments: ArgumentCollection) -> None:
    """Refuse values of options that Python alone would read as a number, before cyclopts does (its ``config``).

    Raises:
        UsageError: a value is no number, or no whole one where one is asked for.
    """
    for argument in arguments:
        hint = _without_none(argument.hint)
        kinds = {kind for kind in (hint, *get_args(hint), *get_args(argument.hint)) if isinstance(kind, type)}
        read = written_number if float in kinds else written_whole if int in kinds else None
        if read is None or str in kinds:
            continue
        for token in argument.tokens:
            try:
                read(token.value)
            except ValueError as error:
                raise UsageError(
                    "option_value",
                    str(error),
                    option=token.keyword or argument.name,
                    value=repr(token.value),
                    expected=_(_EXPECTED[float if float in kinds else int]),
                ) from error


def usage_error(error: CycloptsError, commands: Sequence[str], *, dashes: bool = False) -> UsageError:
    """The error in our words; ``commands`` are the names that exist at the top, ``dashes``: there is a ``--``."""
    manual = " ".join(("gputuner --cli", *(error.command_chain or ()), "--help"))
    if isinstance(error, UnknownOptionError) and not dashes:
        chain = tuple(error.command_chain or ())
        if chain[:1] == (WATCH,):
            return UsageError("watch_no_dashes", str(error))
        if chain[:2] == QUEUE_ADD:
            return UsageError("queue_no_dashes", str(error))
    match error:
        case UnknownOptionError():
            return _unknown_option(error, manual)
        case UnknownCommandError():
            return _unknown_command(error, commands)
        case CoercionError():
            return _coercion(error)
        case RepeatArgumentError():
            return UsageError("option_repeated", str(error), option=error.token.keyword)
        case MissingArgumentError() if error.keyword or _given_keyword(error):
            return UsageError("option_needs_value", str(error), option=error.keyword or _given_keyword(error))
        case MissingArgumentError():
            name = error.argument.name.lstrip("-").upper() if error.argument else ""
            return UsageError("argument_missing", str(error), argument=name, help=manual)
        case UnusedCliTokensError():
            extra = (error.unused_tokens or [""])[0]
            return UsageError("argument_unexpected", str(error), argument=extra, help=manual)
        case _:
            return UsageError("usage", str(error))


def refuse_empty(argv: Sequence[str]) -> None:
    """Refuse empty words: an empty path would be the current folder, an empty name anything.

    Raises:
        UsageError: a value or an argument is empty.
    """
    before = ""
    for word in argv:
        name, equals, value = word.partition("=")
        if not word and before != SELECTION:
            if before.startswith("-"):
                raise _empty(before)
            raise UsageError("argument_empty", "an argument is empty")
        if name.startswith("--") and equals and not value and name != SELECTION:
            raise _empty(name)
        before = word


def asked_language(argv: Sequence[str]) -> str | None:
    """The value of ``--lang``, read before the command line is, because help and errors are in that language too."""
    for i, word in enumerate(argv):
        if word.startswith("--lang="):
            return word.removeprefix("--lang=")
        if word == "--lang" and i + 1 < len(argv):
            return argv[i + 1]
    return None


def _empty(option: str) -> UsageError:
    return UsageError("option_empty", f"what stands after {option} is empty", option=option)


def _unknown_option(error: UnknownOptionError, manual: str) -> UsageError:
    option = (error.token.keyword or error.token.value or "").split("=", 1)[0]
    known = [name for argument in error.argument_collection for name in argument.names]
    bare = {name.lstrip("-"): name for name in known}
    close = get_close_matches(option.lstrip("-"), bare, n=1)
    if close:
        return UsageError("option_unknown_like", str(error), option=option, like=bare[close[0]])
    return UsageError("option_unknown", str(error), option=option, help=manual)


def _unknown_command(error: UnknownCommandError, commands: Sequence[str]) -> UsageError:
    token = (error.unused_tokens or [""])[0]
    if token.startswith("-"):
        return UsageError("option_before_command", str(error), option=token)
    known = commands
    if error.app is not None and error.command_chain:
        known = [name for name in error.app if not name.startswith("-")]
    return UsageError("command_unknown", str(error), command=token, known=", ".join(known))


def _coercion(error: CoercionError) -> UsageError:
    token, argument = error.token, error.argument
    option = (token.keyword if token else None) or (argument.name if argument else "")
    wanted = _without_none(error.target_type)
    expected = _(_EXPECTED.get(wanted, str(getattr(wanted, "__name__", wanted))))
    if get_origin(wanted) is Literal:
        expected = ", ".join(str(choice) for choice in get_args(wanted))
    return UsageError(
        "option_value", str(error), option=option, value=repr(token.value) if token else "", expected=expected
    )


def _without_none(kind: object) -> object:
    """``X`` of ``X | None``."""
    if not isinstance(kind, UnionType):
        return kind
    return next(part for part in get_args(kind) if part is not type(None))


def _given_keyword(error: MissingArgumentError) -> str | None:
    if error.argument is None:
        return None
    return next((token.keyword for token in reversed(error.argument.tokens) if token.keyword), None)
