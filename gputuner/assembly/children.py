"""How this program starts a child of itself."""

import sys


def child_command() -> list[str]:
    """Its command line, to which the child's arguments are added (a frozen program has no ``python -m``).

    ``-P``: the folder in which the user happens to stand is no place to take modules from.
    """
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "gputuner"]
