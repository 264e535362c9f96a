"""How this program starts a child of itself."""

import sys


def child_command() -> list[str]:
    """Its command line, to which the child's arguments are added (a frozen program has no ``python -m``)."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "gputuner"]
