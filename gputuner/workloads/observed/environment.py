"""The environment in which a program loads our hooks by itself."""

from __future__ import annotations

import os
from typing import Mapping  # noqa: UP035 — Python 3.8

FOLDER = "GPUTUNER_WATCH_DIR"
"""Names the folder that records are written to; without it the hooks stay away."""
ON_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onpath")
"""Holds nothing but ``sitecustomize.py``, which Python imports as it starts."""


def injected(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """A copy of ``environ`` whose Python programs write what their training does into ``folder`` (an absolute path).

    An empty ``PYTHONPATH`` is none: a separator after ours would put the current folder on the path.
    """
    there = environ.get("PYTHONPATH", "")
    path = os.pathsep.join((ON_PATH, there)) if there else ON_PATH
    return {**environ, "PYTHONPATH": path, FOLDER: folder}
