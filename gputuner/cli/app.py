"""``gputuner --cli``: read the command line, choose the language, run one command, end with its exit code."""

import sys
from collections.abc import Callable, Sequence
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any, TextIO

from cyclopts import App, CycloptsError, Group

from gputuner.cli import advise, crash, devices, doctor, manual, monitor, record, sessions, tune
from gputuner.cli.context import Context
from gputuner.cli.options import Options
from gputuner.cli.usage import usage_error
from gputuner.language import sentences
from gputuner.language.words import N_, _, set_language
from gputuner.model.errors import ExitCode, GputunerError

if TYPE_CHECKING:
    from gputuner.cli.ports import OpenSetup

ABOUT = N_("Measured answers about your deep-learning card: what it really does, what holds it back, what to change.")
COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("devices", devices.devices, devices.ABOUT),
    ("monitor", monitor.monitor, monitor.ABOUT),
    ("record", record.record, record.ABOUT),
    ("tune", tune.tune, tune.ABOUT),
    ("advise", advise.advise, advise.ABOUT),
    ("doctor", doctor.doctor, doctor.ABOUT),
)
"""Commands that stand alone: name, function, one line of help."""


def build_app() -> App:
    """The commands, with help in the language in use."""
    app = _app("gputuner --cli", _(ABOUT), 0)
    for order, (name, command, about) in enumerate(COMMANDS):
        app.command(command, name=name, help=_(about), sort_key=order)
    group = _app("sessions", _(sessions.ABOUT), len(COMMANDS))
    for order, (name, command, about) in enumerate(sessions.COMMANDS):
        group.command(command, name=name, help=_(about), sort_key=order)
    app.command(group)
    app["--help"].help = _(manual.SHOW_HELP)
    app["--version"].help = _(manual.SHOW_VERSION)
    return app


def _app(name: str, about: str, order: int) -> App:
    return App(
        name=name,
        help=about,
        help_format="plaintext",
        help_formatter=manual.Manual(),
        version=_version,
        sort_key=order,
        group_commands=Group(manual.COMMANDS),
        group_arguments=Group(manual.ARGUMENTS, sort_key=0),
        group_parameters=Group(manual.OPTIONS, sort_key=1),
    )


def main(argv: Sequence[str], open_setup: "OpenSetup | None" = None) -> int:
    """Run one command line (without the program's name); returns the exit code.

    Args:
        argv: the words after ``--cli``.
        open_setup: how to put the program together; None: as ``gputuner.assembly`` does.
    """
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        set_language(_asked_language(argv))
        code = _run(list(argv), open_setup)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        _close_quietly(sys.stdout)
        return int(ExitCode.DONE)
    return code


def _run(argv: list[str], open_setup: "OpenSetup | None") -> int:
    app = build_app()
    try:
        command, bound, injected = app.parse_args(argv, print_error=False, exit_on_error=False)
    except CycloptsError as error:
        return _say(usage_error(error, [name for name, *_rest in COMMANDS] + ["sessions"]))
    if "context" not in injected:
        command(*bound.args, **bound.kwargs)
        return int(ExitCode.DONE)
    bound.arguments["context"] = Context(open_setup=open_setup or _assembly(), out=sys.stdout, err=sys.stderr)
    return _perform(command, bound, _command_name(app, argv))


def _perform(command: Callable[..., int], bound: BoundArguments, name: str) -> int:
    options: Options = bound.arguments.get("options", Options())
    try:
        return int(command(*bound.args, **bound.kwargs))
    except GputunerError as error:
        if options.json:
            from gputuner.cli import document

            document.write(document.failure(name, error), sys.stdout)
        return _say(error)
    except KeyboardInterrupt:
        print(sentences.interrupted(), file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception as error:
        print(sentences.bug(str(crash.keep_traceback(error, options.data_dir))), file=sys.stderr)
        return int(ExitCode.BUG)


def _say(error: GputunerError) -> int:
    print(sentences.error(error), file=sys.stderr)
    if traceback := error.params.get("traceback"):
        print(traceback, file=sys.stderr)
    return int(error.exit_code)


def _assembly() -> "OpenSetup":
    from gputuner.assembly import open_setup

    return open_setup


def _version() -> str:
    from importlib.metadata import version

    return f"gputuner {version('gputuner')}"


def _command_name(app: App, argv: Sequence[str]) -> str:
    """The command in the document's schema: its words joined by a dot."""
    chain: tuple[str, ...] = app.parse_commands(list(argv))[0]
    return ".".join(chain)


def _asked_language(argv: Sequence[str]) -> str | None:
    """The value of ``--lang``, read before the command line is, because help and errors are in that language too."""
    for i, word in enumerate(argv):
        if word.startswith("--lang="):
            return word.removeprefix("--lang=")
        if word == "--lang" and i + 1 < len(argv):
            return argv[i + 1]
    return None


def _never_fail_to_encode(stream: TextIO) -> None:
    reconfigure: Any = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _close_quietly(stream: TextIO) -> None:
    """Keep the interpreter from failing on its last flush after the reader has gone."""
    import os

    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
    except (OSError, ValueError):
        return
