# pyright: standard
"""Whose an error is that arose within a hook: ours, or a signal handler's of the user's that ran in the midst of it."""

from __future__ import annotations

import os
import sys


def ours(error: BaseException) -> bool:
    """Whether an error arose in our own work.

    Our hooks call torch and the standard library only, so a frame from elsewhere is a signal handler's.
    """
    here, standard, torch = _folder(__file__), _folder(os.__file__), _folder(_file_of_torch())
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        installed = os.sep + "site-packages" + os.sep in name and not name.startswith(torch)
        if not name.startswith(here) and (installed or not name.startswith((standard, torch, "<frozen"))):
            return False
        trace = trace.tb_next
    return True


def _folder(file: str) -> str:
    return os.path.dirname(os.path.abspath(file)) + os.sep


def _file_of_torch() -> str:
    return getattr(sys.modules.get("torch"), "__file__", None) or os.__file__
