"""``gputuner --cli``: read the command line, choose the language, run one command, end with its exit code."""

import sys
from collections.abc import Callable, Sequence
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any, TextIO, cast

from cyclopts import App, CycloptsError, Group

from gputuner.cli import (
    advise,
    alerts,
    batch,
    bench,
    compare,
    contention,
    control,
    cooling,
    crash,
    devices,
    doctor,
    health,
    health_wear,
    manual,
    monitor,
    power,
    queue,
    record,
    sessions,
    supply,
    tune,
    watch,
)
from gputuner.cli.context import Context
from gputuner.cli.options import Options
from gputuner.cli.running import Interrupted, undisturbed
from gputuner.cli.streams import CODES, close_quietly, guarded, last_words
from gputuner.cli.usage import asked_language, own_words, refuse_empty, usage_error, written_strictly
from gputuner.language import sentences
from gputuner.language.words import N_, _, not_compiled, set_language
from gputuner.model.errors import ExitCode, GputunerError, StoreError, UsageError

if TYPE_CHECKING:
    from gputuner.cli.ports import OpenSetup, Setup

ABOUT = N_("Measured answers about your deep-learning card: what it really does, what holds it back, what to change.")
COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("devices", devices.devices, devices.ABOUT),
    ("monitor", monitor.monitor, monitor.ABOUT),
    ("record", record.record, record.ABOUT),
    ("tune", tune.tune, tune.ABOUT),
    ("bench", bench.bench, bench.ABOUT),
    ("batch", batch.batch, batch.ABOUT),
    ("contend", contention.contend, contention.ABOUT),
    ("power", power.power, power.ABOUT),
    ("supply", supply.supply, supply.ABOUT),
    ("watch", watch.watch, watch.ABOUT),
    ("advise", advise.advise, advise.ABOUT),
    ("doctor", doctor.doctor, doctor.ABOUT),
)
"""Commands that stand alone: name, function, one line of help."""
USAGE = {"watch": "gputuner --cli watch [OPTIONS] -- COMMAND [ARGS...]"}
"""How a command is written, where its words do not tell."""
SESSION_COMMANDS = (
    *sessions.COMMANDS[:2],
    ("compare", compare.compare_sessions, compare.ABOUT),
    *sessions.COMMANDS[2:],
)
"""Commands under ``sessions``."""


def build_app() -> App:
    """The commands, with help in the language in use."""
    app = _app("gputuner --cli", _(ABOUT), 0)
    app.config = (written_strictly,)
    for order, (name, command, about) in enumerate(COMMANDS):
        app.command(command, name=name, help=_(about), sort_key=order, usage=USAGE.get(name))
    group = _app("sessions", _(sessions.ABOUT), len(COMMANDS))
    for order, (name, command, about) in enumerate(SESSION_COMMANDS):
        group.command(command, name=name, help=_(about), sort_key=order)
    app.command(group)
    jobs = _app("queue", _(queue.ABOUT), len(COMMANDS) + 1)
    for order, (name, command, about) in enumerate(queue.COMMANDS):
        manner = manual.Manual(queue.help_of(name))
        jobs.command(
            command, name=name, help=_(about), sort_key=order, usage=queue.USAGE.get(name), help_formatter=manner
        )
    app.command(jobs)
    settings = _app("control", _(control.ABOUT), len(COMMANDS) + 2)
    for order, (name, command, about) in enumerate(control.COMMANDS):
        settings.command(command, name=name, help=_(about), sort_key=order)
    app.command(settings)
    thermal = _app("cooling", _(cooling.ABOUT), len(COMMANDS) + 3)
    thermal.default(cooling.cooling)
    thermal.command(cooling.compare_tests, name="compare", help=_(cooling.COMPARE))
    app.command(thermal)
    checks = _app("health", _(health.ABOUT), len(COMMANDS) + 4)
    checks.default(health.health)
    checks.command(health_wear.wear, name="wear", help=_(health_wear.ABOUT))
    app.command(checks)
    told = _app("alerts", _(alerts.ABOUT), len(COMMANDS) + 4)
    for order, (name, command, about) in enumerate(alerts.COMMANDS):
        told.command(command, name=name, help=_(about), sort_key=order, usage=alerts.USAGE.get(name))
    app.command(told)
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
    ours = own_words(argv)
    set_language(asked_language(ours))
    try:
        with guarded():
            if (told := not_compiled()) and "--quiet" not in ours:
                print(told, file=sys.stderr)
            return _flushed(list(argv), open_setup)
    except StoreError as error:  # there is no stdout
        return _say(error)
    except KeyboardInterrupt:  # outside a command, or while its last words were written
        print(sentences.interrupted(), file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def _flushed(argv: list[str], open_setup: "OpenSetup | None") -> int:
    code = int(ExitCode.DONE)
    try:
        code = _run(argv, open_setup)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        close_quietly(sys.stdout)
    except StoreError as error:  # stdout failed beside the commands: help, or the last flush
        return _say(error)
    return code


def _run(argv: list[str], open_setup: "OpenSetup | None") -> int:
    app = build_app()
    ours = own_words(argv)
    try:
        refuse_empty(ours)
        command, bound, injected = app.parse_args(argv, print_error=False, exit_on_error=False)
    except CycloptsError as error:
        names = [name for name in app if not name.startswith("-")]
        usage = usage_error(error, names, dashes=len(ours) < len(argv))
        return _failed(_command_name(app, ours), usage, as_json="--json" in ours)
    except UsageError as error:
        return _failed(_command_name(app, ours), error, as_json="--json" in ours)
    if "context" not in injected:
        command(*bound.args, **bound.kwargs)
        return int(ExitCode.DONE)
    bound.arguments["context"] = Context(
        open_setup=open_setup or _assembly,
        out=sys.stdout,
        err=sys.stderr,
        dashes=len(ours) < len(argv),
        behind=len(argv) - len(ours) - 1 if len(ours) < len(argv) else None,
    )
    return _perform(command, bound, _command_name(app, ours))


def _perform(command: Callable[..., int], bound: BoundArguments, name: str) -> int:
    options: Options = bound.arguments.get("options", Options())
    try:
        return int(command(*bound.args, **bound.kwargs))
    except (KeyboardInterrupt, Interrupted) as error:
        with undisturbed():
            return _failed(name, _interruption(error), as_json=options.json)
    except GputunerError as error:
        return _failed(name, error, as_json=options.json)
    except BrokenPipeError:
        raise
    except Exception as error:
        path = crash.keep_traceback(error, options.data_dir)
        return _failed(name, GputunerError("bug", str(error), path=str(path)), as_json=options.json)


def _interruption(error: BaseException) -> Interrupted:
    """What to say of it: the run that it ended, also where one more interrupt came while that was closed."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, Interrupted):
        found = found.__context__
    return found or Interrupted("interrupted", "interrupted")


def _failed(name: str, error: GputunerError, *, as_json: bool) -> int:
    """Tell an error: one document if that is asked for, and one sentence; returns the exit code."""
    if as_json and error.code not in CODES:
        from gputuner.cli import document

        with last_words(sys.stdout):
            document.write(document.failure(name, error), sys.stdout)
    return _say(error)


def _say(error: GputunerError) -> int:
    if cast("TextIO | None", sys.stderr) is None:
        return int(error.exit_code)
    print(sentences.error(error), file=sys.stderr)
    if traceback := error.params.get("traceback"):
        print(traceback, file=sys.stderr)
    return int(error.exit_code)


def _assembly(**options: Any) -> "Setup":
    """As ``assembly.open_setup``, which is loaded when the first command asks for it."""
    from gputuner.assembly.setup import open_setup

    return open_setup(**options)


def _version() -> str:
    from importlib.metadata import version

    return f"gputuner {version('gputuner')}"


def _command_name(app: App, argv: Sequence[str]) -> str:
    """The command in the document's schema: its words joined by a dot; ``error`` where there is no such command."""
    chain: tuple[str, ...] = app.parse_commands(list(argv))[0]
    return ".".join(chain) or "error"
