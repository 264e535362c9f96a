"""Where a command's words go: rich on a terminal, plain lines in a pipe; results for people never beside ``--json``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from gputuner.cli.layout import columns, drawn
from gputuner.cli.options import Options
from gputuner.language.tables import Table
from gputuner.language.words import _, listed

if TYPE_CHECKING:
    from rich.console import Console

NARROW = 60
"""A terminal of fewer columns fits no live table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The two streams of one command, and how much to say on them."""

    out: TextIO
    err: TextIO
    json: bool = False
    quiet: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, options: Options, out: TextIO, err: TextIO) -> "Output":
        """As the options ask."""
        return cls(out=out, err=err, json=options.json, quiet=options.quiet, verbose=options.verbose)

    def line(self, text: str = "") -> None:
        """One line of result (left out with ``--json``: the document has it)."""
        if not self.json:
            print(text, file=self.out)

    def heading(self, text: str) -> None:
        """A heading with a blank line above."""
        if self.json:
            return
        if self.out.isatty():
            _console(self.out).print(f"\n{text}", style="bold", markup=False, highlight=False)
        else:
            print(f"\n{text}", file=self.out)

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        right: Sequence[int] = (),
        wraps: Sequence[int] = (),
        least: Sequence[int] = (),
    ) -> None:
        """A table, on a terminal made to fit it without a cell being cut.

        ``right``: columns aligned to the right; ``wraps``: of text that may be wrapped; ``least``: that may be left
        out, the first of them first.
        """
        if self.json:
            return
        if not self.out.isatty():
            for text in columns([headers, *rows], right):
                print(text, file=self.out)
            return
        console = _console(self.out)
        table = drawn(headers, rows, console.width, right, wraps, least)
        for i, text in enumerate(table.lines):
            style = "bold" if i < table.head else None
            console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
        if table.left_out:
            told = _("Left out, the terminal is too narrow: {columns}. --json has all.")
            self.line(told.format(columns=listed(table.left_out)))

    def show(self, table: Table) -> None:
        """A table of words."""
        self.table(table.headers, table.rows, right=table.right, wraps=table.wraps, least=table.least)

    @property
    def narrow(self) -> bool:
        """True for a terminal that no live table fits."""
        return _console(self.out).width < NARROW

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values, one a line, the values in one column."""
        for text in columns(rows):
            self.line(f"  {text}")

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr."""
        if not self.quiet:
            print(text, file=self.err, flush=True)

    def detail(self, text: str) -> None:
        """Something that only ``--verbose`` shows, on stderr."""
        if self.verbose:
            print(text, file=self.err, flush=True)

    def warn(self, text: str) -> None:
        """A warning, on stderr, also with ``--quiet``."""
        print(text, file=self.err, flush=True)


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=stream)
