"""Compile the Chinese catalogue: resources/locale/zh_CN/LC_MESSAGES/gputuner.po → gputuner.mo (with Babel)."""

import sys
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "resources/locale/zh_CN/LC_MESSAGES/gputuner.po"


def compile_words(source: Path, target: Path) -> int:
    """Write the compiled catalogue; returns the number of strings."""
    with source.open("rb") as file:
        catalogue = read_po(file, locale="zh_CN", abort_invalid=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_suffix(".new")
    with beside.open("wb") as file:
        write_mo(file, catalogue)
    beside.replace(target)
    return len(catalogue)


if __name__ == "__main__":
    count = compile_words(PO, PO.with_suffix(".mo"))
    print(f"{PO.with_suffix('.mo').relative_to(ROOT)}: {count} strings")
    sys.exit(0)
