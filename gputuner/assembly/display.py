"""Whether the window finds a display: where none answers, Qt ends the whole program, so it is looked for before."""

import os
import re
import socket
import sys
from collections.abc import Mapping

from gputuner.model.errors import UsageError

ANSWER_S = 3.0
_X_PORT = 6000
_X_NAME = re.compile(r"(?P<host>[\w.-]*):(?P<number>\d{1,4})(?:\.\d+)?")


def display_trouble(environment: Mapping[str, str]) -> UsageError | None:
    """Why no window can open, or None where one may; touches nothing beyond opening a connection.

    A platform that ``QT_QPA_PLATFORM`` names is trusted, and so is every system whose displays need no variable.
    """
    if sys.platform in ("win32", "darwin") or environment.get("QT_QPA_PLATFORM") or environment.get("WAYLAND_SOCKET"):
        return None
    wayland, display = environment.get("WAYLAND_DISPLAY"), environment.get("DISPLAY")
    if not wayland and not display:
        return UsageError("no_display", "there is no display")
    if wayland and _reaches(os.path.join(environment.get("XDG_RUNTIME_DIR", ""), wayland)):
        return None
    if display and _answers(display):
        return None
    named = display or wayland or ""
    return UsageError("display_silent", f"the display {named} does not answer", display=named)


def _answers(display: str) -> bool:
    """True if an X server listens there, or the name is one that only X itself understands."""
    parts = _X_NAME.fullmatch(display)
    if parts is None:
        return True
    host, number = parts["host"], int(parts["number"])
    if host in ("", "unix"):
        name = f"/tmp/.X11-unix/X{number}"  # where X servers listen
        return _reaches(f"\0{name}") or _reaches(name)
    try:
        with socket.create_connection((host, _X_PORT + number), timeout=ANSWER_S):
            return True
    except OSError:
        return False


def _reaches(path: str) -> bool:
    """True if something listens on the local socket ``path``."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True
