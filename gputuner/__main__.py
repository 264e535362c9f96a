"""Pick the front end before anything heavy is imported: the window, ``--cli``, or the main of a child process."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # loads nothing: Ctrl-C in these first milliseconds would show a traceback
    from collections.abc import Sequence
    from types import FrameType

INTERRUPTED = 130


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the front end that ``argv`` asks for; returns the exit code."""
    try:
        return _front_end(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return INTERRUPTED


def _front_end(arguments: list[str]) -> int:
    match arguments[:1]:
        case ["--cli"]:
            if arguments[1:2] == ["watch"]:
                from gputuner.cli.watch_signals import hold

                hold()
            from gputuner.cli.app import main as cli

            code = cli(arguments[1:])
            if code == INTERRUPTED:
                import signal

                signal.signal(signal.SIGINT, _leave)
            return code
        case [("--collector" | "--worker" | "--commanded" | "--mps-keeper" | "--job" | "--helper") as child]:
            return _child(child, arguments[1:])
        case ["--version"]:
            from importlib.metadata import version

            print(f"gputuner {version('gputuner')}")
            return 0
        case _ if {"--help", "-h"} & set(arguments):
            from gputuner.cli.window_manual import show

            return show(arguments)
        case _:
            return _window(arguments)


def _take_signals() -> None:
    """Hold none, whatever whoever started us held, which outlives ``exec``.

    What keys of the terminal sent before this process had left its session is dropped.
    """
    import signal

    for name in ("SIGINT", "SIGQUIT"):
        if hasattr(signal, name):
            number = getattr(signal, name)
            before = signal.signal(number, signal.SIG_IGN)
            signal.signal(number, before)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _child(kind: str, arguments: list[str]) -> int:
    """The main of one of our own child processes."""
    match kind:
        case "--collector":
            from gputuner.telemetry.collector import main as collector

            _take_signals()
            return collector(arguments)
        case "--worker":
            from gputuner.workloads.worker import main as worker

            return worker(arguments)
        case "--commanded":
            from gputuner.engine.commanded_child import main as commanded

            _take_signals()
            return commanded(arguments)
        case "--mps-keeper":
            from gputuner.engine.mps_keeper import main as keeper

            return keeper(arguments)
        case "--job":
            from gputuner.jobs.supervisor import main as supervisor

            _take_signals()
            return supervisor(arguments)
        case "--helper":
            from gputuner.devices.helper import main as helper

            return helper(arguments)
        case _:
            raise AssertionError(kind)


def _leave(_number: int, _frame: "FrameType | None") -> None:
    """One interrupt more, when all is said: wait for no thread, show no traceback."""
    os._exit(INTERRUPTED)


def _window(arguments: list[str]) -> int:
    from importlib.util import find_spec

    if find_spec("PySide6") is None:
        print(
            "gputuner: the window needs PySide6; install it with `pip install PySide6-Essentials pyqtgraph`, "
            "or use the command line: gputuner --cli --help",
            file=sys.stderr,
        )
        return 2
    try:
        from gputuner.gui.app import main as gui
    except ImportError as error:  # a system library of Qt is missing
        print(
            f"gputuner: the window cannot open ({error}); `gputuner --cli doctor` names what is missing, "
            "and the command line works without it: gputuner --cli --help",
            file=sys.stderr,
        )
        return 2
    return gui(arguments)


if __name__ == "__main__":
    sys.exit(main())
