"""Tables of figures in words, for the command line and for Markdown alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Headers and rows of text.

    ``right``: columns aligned to the right; ``wraps``: of text that may be wrapped; ``least``: that say least, the
    first of them first.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    wraps: tuple[int, ...] = ()
    least: tuple[int, ...] = ()

    def without_empty(self) -> "Table":
        """Without the columns that no row fills."""
        kept = [i for i in range(len(self.headers)) if any(row[i] for row in self.rows)]
        return Table(
            headers=tuple(self.headers[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
            right=_moved(self.right, kept),
            wraps=_moved(self.wraps, kept),
            least=_moved(self.least, kept),
        )


def _moved(columns: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    return tuple(kept.index(column) for column in columns if column in kept)


def markdown(table: Table) -> str:
    """The table as Markdown, each line ended."""
    marks = ["---:" if i in table.right else "---" for i in range(len(table.headers))]
    return "".join(f"{_line(cells)}\n" for cells in (table.headers, marks, *table.rows))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def bullets(lines: Sequence[str]) -> str:
    """Lines as a Markdown list."""
    return "".join(f"- {line}\n" for line in lines)
