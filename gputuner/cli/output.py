"""Where a command's words go: rich on a terminal, plain lines in a pipe; results for people never beside ``--json``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO
from unicodedata import east_asian_width

from gputuner.cli.options import Options

if TYPE_CHECKING:
    from rich.console import Console

GAP = 2
NARROW = 60
"""On a terminal of fewer columns tables are plain lines, which it wraps: cells cut to a sign say nothing."""


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

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """A table; ``right`` names the columns that are aligned to the right."""
        if self.json:
            return
        if self.out.isatty() and not self.narrow:
            _rich_table(_console(self.out), headers, rows, right)
        else:
            for text in columns([headers, *rows], right):
                print(text, file=self.out)

    @property
    def narrow(self) -> bool:
        """True for a terminal that no table fits."""
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


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal (wide characters take two)."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines of aligned columns, without trailing blanks."""
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [_aligned(row, widths, right) for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    cells: list[str] = []
    for i, cell in enumerate(row):
        blank = " " * (widths[i] - width(cell))
        cells.append(blank + cell if i in right else cell + blank)
    return (" " * GAP).join(cells).rstrip()


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=stream)


def _rich_table(
    console: "Console", headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, header in enumerate(headers):
        last = i == len(headers) - 1
        table.add_column(Text(header), justify="right" if i in right else "left", no_wrap=not last)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
