"""gputuner: what a deep-learning card really does, what holds it back, and what to change.

Imports nothing by itself, on purpose: the worker registers this package in a foreign interpreter. ``find_batch_size``
and what it gives (``gputuner.api``) are imported when they are first asked for.
"""

from typing import Any

FROM_API = ("BatchAnswer", "BatchSize", "ExperimentFailed", "find_batch_size")


def __getattr__(name: str) -> Any:
    if name not in FROM_API:
        raise AttributeError(f"module 'gputuner' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("gputuner.api"), name)
