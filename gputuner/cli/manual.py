"""How ``--help`` looks: plain aligned lines in the language in use."""

from typing import TYPE_CHECKING, Any

from gputuner.cli.layout import GAP, width, wrapped_lines
from gputuner.language.words import N_, _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

COMMANDS = N_("Commands")
ARGUMENTS = N_("Arguments")
OPTIONS = N_("Options")
SHOW_HELP = N_("Show this text and end.")
SHOW_VERSION = N_("Show the version and end.")
_USAGE = N_("Usage")
_NAMES_WIDTH = 26
WIDEST = 110


class Manual:
    """Renders what cyclopts tells of a command; common options that mean something else to it have its own words."""

    def __init__(self, own: "Mapping[str, str | None] | None" = None) -> None:
        """``own``: what a command says of an option; None: nothing, since it has no use for it."""
        self._own = own or {}

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """One panel: its title and an entry a line."""
        entries = [entry for entry in panel.entries if self._own.get(_name(entry), "") is not None]
        if not entries:
            return
        console.print(f"{_(str(panel.title))}:", style="bold", markup=False, highlight=False)
        for entry in entries:
            _print(console, _entry(entry, min(console.width, WIDEST), self._own.get(_name(entry))))
        console.print()

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        """The line that shows how the command is written."""
        text = _plain(usage).strip().removeprefix("Usage:").strip()
        if text:
            _print(console, f"{_(_USAGE)}: {text}\n")

    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        """What the command does."""
        if text := _plain(description).strip():
            _print(console, f"{wrapped(_(text), min(console.width, WIDEST), 0)}\n")


def _name(entry: "HelpEntry") -> str:
    """The first name of an option, without what stands behind it."""
    return next((label.split(" ")[0] for label in entry.display_labels_with_metavar), "")


def _entry(entry: "HelpEntry", columns: int, own: str | None) -> str:
    names = ", ".join(entry.display_labels_with_metavar)
    return entry_lines(names, _(own or _plain(entry.description).strip()), columns)


def entry_lines(names: str, about: str, columns: int) -> str:
    """An option or command and what it is about, in lines of ``columns``."""
    names = f"  {names}"
    if not about:
        return names
    body = wrapped(about, columns, _NAMES_WIDTH + GAP)
    if width(names) > _NAMES_WIDTH:
        return f"{names}\n{' ' * (_NAMES_WIDTH + GAP)}{body}"
    return f"{names}{' ' * (_NAMES_WIDTH + GAP - width(names))}{body}"


def wrapped(text: str, columns: int, indent: int) -> str:
    """``text`` in lines of ``columns``; lines after the first are indented. Wide characters may break anywhere."""
    joint = "\n" + " " * indent
    return joint.join(wrapped_lines(text, max(20, columns - indent)))


def _plain(item: Any) -> str:
    if item is None:
        return ""
    inner = getattr(item, "primary_renderable", item)
    return str(getattr(inner, "plain", inner))


def _print(console: "Console", text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
