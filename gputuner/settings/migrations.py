"""Older preference files brought to the present version, one step per version."""

from collections.abc import Callable

Json = dict[str, object]

VERSION = 1
"""``version`` of files written by this program; a file without one is version 0."""


def _from_0(entries: Json) -> Json:
    """Version 0 kept the card as ``selected``: a UUID, or an index (text or number) in an order nobody wrote down."""
    out = {name: value for name, value in entries.items() if name != "selected"}
    selected = entries.get("selected")
    if isinstance(selected, int) and not isinstance(selected, bool):
        out["selected_index"] = selected
    elif isinstance(selected, str) and selected.isdecimal():
        out["selected_index"] = int(selected)
    elif isinstance(selected, str) and selected:
        out["selected_card"] = selected
    return out


STEPS: dict[int, Callable[[Json], Json]] = {0: _from_0}
"""``STEPS[n]`` turns entries of version n into those of version n + 1."""


def upgrade(entries: Json) -> tuple[Json, bool]:
    """The entries in the present version, and whether a newer program wrote them (then they are left as they are)."""
    version = entries.get("version", 0)
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        version = 0
    for step in range(version, VERSION):
        entries = STEPS[step](entries)
    return entries, version > VERSION
