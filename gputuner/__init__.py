"""gputuner: what a deep-learning card really does, what holds it back, and what to change.

Empty of imports on purpose: the worker registers this package in a foreign interpreter. ``find_batch_size`` and what it
gives (``gputuner.api``) are loaded when they are first asked for.
"""

FROM_API = ("BatchAnswer", "BatchSize", "ExperimentFailed", "find_batch_size")


def __getattr__(name: str) -> object:
    if name not in FROM_API:
        raise AttributeError(f"module 'gputuner' has no attribute {name!r}")
    return getattr(__import__("gputuner.api", fromlist=[name]), name)
