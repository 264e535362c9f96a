"""Bring the Chinese catalogue up to date with the strings of the program (with Babel).

Strings that the program no longer has go; new ones come in without a translation, to be written by hand. No string is
guessed from a similar one.
"""

import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "resources/locale/zh_CN/LC_MESSAGES/gputuner.po"
HEADER = """\
# Simplified Chinese for gputuner. English is the source; `packaging/extract_words.py` brings this file up to date.
msgid ""
msgstr ""
"Language: zh_CN\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""
KEYWORDS = {**DEFAULT_KEYWORDS, "NN_": (1, 2)}
"""What marks a string; of ``NN_`` the first two arguments are its forms."""
CONFIG = ROOT / "packaging/babel.cfg"


def extract(root: Path = ROOT) -> Catalog:
    """All strings of the program, without translations."""
    with CONFIG.open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = Catalog(project="gputuner", fuzzy=False)
    every = extract_from_dir(root, methods, options, keywords=KEYWORDS, directory_filter=_wanted)
    for _file, _line, message, comments, context in every:
        found.add(message, auto_comments=comments, context=context)
    return found


def stored(source: Path = PO) -> Catalog:
    """The catalogue as it is kept."""
    with source.open("rb") as file:
        return read_po(file, locale="zh_CN", abort_invalid=True)


def update(source: Path = PO) -> int:
    """Rewrite the catalogue; returns how many strings wait for a translation."""
    found = extract()
    kept = stored(source)
    fresh = Catalog(locale="zh_CN", fuzzy=False)
    for message in found:
        if message.id:
            known = kept.get(message.id, message.context)
            fresh.add(message.id, known.string if known else "", context=message.context)
    with source.open("wb") as file:
        file.write(HEADER.encode())
        write_po(file, fresh, width=120, no_location=True, sort_output=True, omit_header=True)
    return sum(1 for message in fresh if message.id and not _complete(message.string))


def _complete(string: str | tuple[str, ...] | list[str]) -> bool:
    return bool(string) if isinstance(string, str) else all(string)


def _wanted(path: str) -> bool:
    name = Path(path).name
    return not name.startswith((".", "_")) and name not in {"tests", "packaging", "build", "dist", "resources"}


if __name__ == "__main__":
    waiting = update()
    print(f"{PO.relative_to(ROOT)}: {waiting} strings wait for a translation")
    sys.exit(0)
