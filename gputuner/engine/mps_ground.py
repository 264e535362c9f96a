"""Whether MPS can be had on a card of this machine, and whether the user runs a daemon. Looks, changes nothing."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gputuner.engine.mps_daemon import PIPE, PROGRAM
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import HostFingerprint

VOLTA = (7, 0)
"""Before it clients share one address space without protection, and have no share of the threads of their own."""
USUAL_PIPE = "/tmp/nvidia-mps"
"""The driver's own default."""
CONTROL = "control"
"""What a daemon makes in its folder for clients to speak to."""
CONNECT_ERRORS = (805, 806, 807, 808, 809, 810)
"""``CUDA_ERROR_MPS_…``: connection failed, RPC failure, server not ready, most clients and most connections reached,
client terminated (cuda.h)."""
WORDS = ("mps client", "mps server", "mps control daemon")
"""In the texts of these errors."""


def obstacle(card: CardInfo, host: HostFingerprint, program: str | None = PROGRAM) -> str | None:
    """Why no daemon can be started for ``card`` here, as a code; None: nothing stands in the way.

    ``program`` None: none is needed. Codes:
    ``processor``, ``not_linux``, ``wsl``, ``before_volta``, ``program_missing``, ``program_missing_in_container``.
    """
    if card.is_cpu:
        return "processor"
    if program is not None and not sys.platform.startswith("linux"):
        return "not_linux"
    if _fact(host, "wsl"):
        return "wsl"
    major, _, minor = (card.compute_capability or "").partition(".")
    if major.isdecimal() and minor.isdecimal() and (int(major), int(minor)) < VOLTA:
        return "before_volta"
    if program is not None and shutil.which(program) is None:
        return "program_missing_in_container" if _fact(host, "container") else "program_missing"
    return None


def users_pipe(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The pipe folder of a daemon that is not ours, where one seems to be there."""
    folder = Path(environment.get(PIPE) or USUAL_PIPE)
    return folder if (folder / CONTROL).exists() else None


def speaks_of_mps(text: str, error_code: object = None) -> bool:
    """Whether an error of CUDA is one of MPS."""
    return error_code in CONNECT_ERRORS or any(words in text.lower() for words in WORDS)


def _fact(host: HostFingerprint, name: str) -> object:
    reading = host.readings.get(name)
    return reading.value if reading else None
