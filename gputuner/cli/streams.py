"""The two streams of the command line: what is wrong with them is said in words, never as a bug."""

import codecs
import errno
import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO, cast

from gputuner.model.errors import StoreError

CODES = frozenset({"output_full", "output_closed", "output_failed"})
"""What can be wrong with stdout."""
_ENCODING_ERRORS = "gputuner.plain"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PLAIN = {
    "·": "-", "–": "-", "—": "-", "…": "...", "×": "x", "°": " ", "µ": "u", "→": "->", "≥": ">=", "≤": "<=",
    "✓": "+", "✗": "x", "’": "'", "“": '"', "”": '"',
}  # fmt: skip
"""Signs for terminals whose encoding lacks them; anything else becomes a question mark."""


@contextmanager
def guarded() -> Generator[None]:
    """Stand before stdout and stderr.

    Within, an error of stdout is a ``StoreError`` with one of ``CODES``, and its reader's going a ``BrokenPipeError``
    as ever. stderr drops what cannot be written or has no reader, since progress is no reason to lose a measurement.

    Raises:
        StoreError: ``output_closed``: there is no stdout.
    """
    before = sys.stdout, sys.stderr
    with ExitStack() as undo:
        undo.callback(_put_back, *before)
        if cast("TextIO | None", sys.stderr) is None:
            # Without it, words for stderr would go to stdout, and the next file opened would be stderr for others
            sys.stderr = undo.enter_context(open(os.devnull, "w", encoding="utf-8"))
        if cast("TextIO | None", sys.stdout) is None:
            raise StoreError("output_closed", "the output is closed")
        codecs.register_error(_ENCODING_ERRORS, _plain)
        for stream in (sys.stdout, sys.stderr):
            _never_fail_to_encode(stream)
        sys.stdout = cast("TextIO", Guard(sys.stdout, forgiving=False))
        sys.stderr = cast("TextIO", Guard(sys.stderr, forgiving=True))
        yield


def _put_back(out: TextIO, err: TextIO) -> None:
    sys.stdout, sys.stderr = out, err


class Guard:
    """A text stream that translates the system's errors (or, if forgiving, lets the words go)."""

    def __init__(self, stream: TextIO, *, forgiving: bool) -> None:
        """Pass everything else on to ``stream``."""
        self._stream = stream
        self._forgiving = forgiving

    def __getattr__(self, name: str) -> Any:
        """What the stream itself has."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As the stream's."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._failed(error)
            return len(text)

    def flush(self) -> None:
        """As the stream's."""
        try:
            self._stream.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError) and not self._forgiving:
            raise error
        close_quietly(self._stream)
        if self._forgiving:
            return
        if error.errno in _FULL:
            raise StoreError("output_full", "the output cannot be written: no space is left") from error
        message = error.strerror or str(error)
        raise StoreError("output_failed", f"the output cannot be written: {message}", message=message) from error


@contextmanager
def last_words(stream: TextIO) -> Generator[None]:
    """What is said of a result that stands already: a reader who has gone (``| head``) does not change it."""
    try:
        yield
        stream.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        close_quietly(stream)


def close_quietly(stream: TextIO) -> None:
    """Keep the interpreter from failing on its last flush of a stream that takes nothing more."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
    except (OSError, ValueError):
        return


def _never_fail_to_encode(stream: TextIO) -> None:
    reconfigure: Any = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_ENCODING_ERRORS)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end
