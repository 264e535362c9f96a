"""``gputuner --help``: how the window is started. Lies here so that it needs no Qt."""

from collections.abc import Sequence
from shutil import get_terminal_size

from gputuner.cli.manual import WIDEST, entry_lines, wrapped
from gputuner.cli.streams import guarded
from gputuner.cli.usage import asked_language
from gputuner.language.words import N_, _, set_language

ABOUT = N_("Opens the window: Monitor, Tune, Training, Benchmarks and Sessions. FILE is a stored session to show.")
COMMAND_LINE = N_("Without a window: gputuner --cli COMMAND; see gputuner --cli --help.")
OPTIONS: tuple[tuple[str, str], ...] = (
    ("--gpu SEL", N_("The card that experiments start with: UUID, its beginning, PCI bus id, index or `cpu`.")),
    ("--share", N_("Measure although others compute on the card; results are flagged as shared.")),
    ("--memory-cap GIB", N_("Treat the card as having this much memory, in GiB.")),
    ("--minutes M", N_("Time budget that experiments start with, in minutes.")),
    ("--simulate CARD", N_("Use a simulated card of the catalogue, such as rtx-4090-48g; repeat it for several.")),
    ("--replay FILE", N_("Feed a stored session or recording back as if live.")),
    ("--data-dir DIR", N_("Where sessions, settings and the log lie.")),
    ("--python PATH", N_("The interpreter whose torch is measured; by default this one.")),
    ("--lang LANG", N_("Language of what people read: en or zh_CN; by default the locale's.")),
    ("--theme THEME", N_("Colours: system, light or dark.")),
    ("--screenshots DIR", N_("Perform a run without a display, draw every page into DIR, and end.")),
    ("--version", N_("Show the version and end.")),
    ("--help, -h", N_("Show this text and end.")),
)


def show(arguments: Sequence[str]) -> int:
    """Print the help in the language in use; returns the exit code."""
    set_language(asked_language(arguments))
    with guarded():
        columns = min(get_terminal_size((WIDEST, 24)).columns, WIDEST)
        usage, options = _("Usage"), _("Options")
        print(f"{usage}: gputuner", _("[OPTIONS] [FILE…]"), end="\n\n")
        print(f"{wrapped(_(ABOUT), columns, 0)}\n{wrapped(_(COMMAND_LINE), columns, 0)}\n")
        print(f"{options}:")
        for names, about in OPTIONS:
            print(entry_lines(names, _(about), columns))
    return 0
