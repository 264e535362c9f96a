"""Pick the front end before anything heavy is imported: the window, ``--cli``, or the main of a child process."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the front end that ``argv`` asks for; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments[:1]:
        case ["--cli"]:
            from gputuner.cli.app import main as cli

            return cli(arguments[1:])
        case ["--collector"]:
            from gputuner.telemetry.collector import main as collector

            return collector(arguments[1:])
        case ["--version"]:
            from importlib.metadata import version

            print(f"gputuner {version('gputuner')}")
            return 0
        case _:
            return _window(arguments)


def _window(arguments: list[str]) -> int:
    from importlib.util import find_spec

    if find_spec("PySide6") is None:
        print(
            "gputuner: the window needs PySide6; install it with `pip install PySide6-Essentials pyqtgraph`, "
            "or use the command line: gputuner --cli --help",
            file=sys.stderr,
        )
        return 2
    from gputuner.gui.app import main as gui

    return gui(arguments)


if __name__ == "__main__":
    sys.exit(main())
