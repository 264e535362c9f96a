# pyright: standard
"""From what a program writes to a terminal to lines of text: progress bars overwrite, colours are left out."""

import codecs
import re

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Control sequences, commands to the terminal, and single escapes (ECMA-48)."""
LONGEST = 4000
"""Characters of a line that are kept."""


class TerminalLines:
    """Takes bytes as they come; what is not ended yet stays to be replaced by more."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, data: bytes) -> tuple[list[str], str]:
        """Lines that are finished now, and the one that is still written."""
        *whole, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = self._rest[-LONGEST:]
        return [seen(line) for line in whole], seen(self._rest)


def seen(line: str) -> str:
    """What is left of a line after its carriage returns."""
    plain = ESCAPES.sub("", line.removesuffix("\r"))
    last = plain.rsplit("\r", 1)[-1] or plain.rstrip("\r").rsplit("\r", 1)[-1]
    return last.replace("\t", "    ")[-LONGEST:]
