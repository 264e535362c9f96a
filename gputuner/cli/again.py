"""Command lines to copy that go on from a session."""

from collections.abc import Sequence
from shlex import quote

from gputuner.cli.options import GIB, Options
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo, Origin

PROGRAM = "gputuner --cli "


def advise_command(options: Options, run_id: str) -> str:
    """The command that shows all advice of a session."""
    return f"gputuner --cli advise {run_id}{_folder(options)}"


def try_command(
    options: Options, run_id: str, name: str, entry: Advice, cards: Sequence[CardInfo], cap_bytes: int | None = None
) -> str:
    """The command that tries an advice, with the options that the session was made with; empty: it cannot be tried.

    ``name``: of the advice among those of its session (``advice.naming``). ``cap_bytes``: the cap on memory that the
    session was made with; one that is given now comes first.
    """
    if entry.change is None:
        return ""
    words = [f"gputuner --cli advise {run_id} --try {name}"]
    card = next((each for each in cards if each.uuid == entry.card), None)
    if card is not None and card.origin is Origin.SIMULATED and card.catalog is not None:
        words += [f"--simulate {each.catalog.catalog_id}" for each in cards if each.catalog is not None]
    cap_gib = options.memory_cap if cap_bytes is None or options.memory_cap is not None else cap_bytes / GIB
    if cap_gib is not None:
        words.append(f"--memory-cap {cap_gib:g}")
    if options.python is not None:
        words.append(f"--python {quote(str(options.python))}")
    return " ".join(words) + _folder(options)


def question_command(options: Options, command: str) -> str:
    """The command of a question, with the Python and the folder of sessions that this one was given."""
    python = "" if options.python is None else f" --python {quote(str(options.python))}"
    return command + python + _folder(options)


def snippet_lines(options: Options | None, snippet: str | None) -> list[str]:
    """Text to paste, line by line; a command of this program goes on with the folder of sessions that this one has."""
    more = "" if options is None else _folder(options)
    return [f"{line}{more}" if line.startswith(PROGRAM) else line for line in (snippet or "").splitlines()]


def _folder(options: Options) -> str:
    return "" if options.data_dir is None else f" --data-dir {quote(str(options.data_dir))}"
