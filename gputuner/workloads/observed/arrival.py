# pyright: standard
"""What is done once a watched program has imported torch: install the hooks, or write down why not."""

from __future__ import annotations

import sys

from . import hooks, record


def arrived(error: Exception | None) -> None:
    """Look into torch from now on; ``error`` already kept us from noticing its import properly.

    Raises:
        OSError: nothing can be written down.
    """
    try:
        if error is None:
            hooks.install(sys.modules["torch"])
    except Exception as failed:
        error = failed
    if error is not None:
        record.say_off(error)
