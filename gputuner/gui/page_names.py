"""The pages of the window and their names."""

from gputuner.language.words import _

PAGES = ("monitor", "tune", "training", "bench", "contention", "queue", "power", "cooling", "health", "sessions")
"""The pages in the order of work: look, tune, keep."""


def page_words() -> dict[str, str]:
    """Names of the pages."""
    return {
        "monitor": _("Monitor"),
        "tune": _("Tune"),
        "training": _("Training"),
        "bench": _("Benchmarks"),
        "contention": _("Share"),
        "queue": _("Queue"),
        "power": _("Power"),
        "cooling": _("Cooling"),
        "health": _("Health"),
        "sessions": _("Sessions"),
    }
