"""Telling the desktop, from a program without a window: ``notify-send``, where it is and a desktop listens."""

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress

PROGRAM = "notify-send"
"""Comes with libnotify on every freedesktop desktop."""
ANSWERS_WITHIN_S = 10.0


def program(environment: Mapping[str, str] | None = None) -> str | None:
    """The path of what tells the desktop; None: not here, or no desktop listens."""
    known = os.environ if environment is None else environment
    bus = known.get("DBUS_SESSION_BUS_ADDRESS") or (
        os.path.exists(os.path.join(known["XDG_RUNTIME_DIR"], "bus")) if known.get("XDG_RUNTIME_DIR") else False
    )
    return shutil.which(PROGRAM, path=known.get("PATH")) if bus else None


def notify(title: str, text: str, *, urgent: bool, found: str | None = None) -> bool:
    """Tell the desktop; False if that is not possible. Takes at most ``ANSWERS_WITHIN_S``."""
    path = found or program()
    if path is None:
        return False
    urgency = "critical" if urgent else "normal"
    command = [path, "--app-name=gputuner", f"--urgency={urgency}", "--icon=dialog-warning", "--", title, text]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=ANSWERS_WITHIN_S,
            start_new_session=True,
            check=False,
        )
        return done.returncode == 0
    return False


def notify_soon(title: str, text: str, *, urgent: bool, found: str | None = None) -> None:
    """The same from a thread of its own; nobody waits for it."""
    call = threading.Thread(
        target=notify, args=(title, text), kwargs={"urgent": urgent, "found": found}, name="desktop", daemon=True
    )
    call.start()
