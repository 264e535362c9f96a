# pyright: standard
"""The pictures of a result: names, words, and which step feeds which."""

from gputuner.language.words import _

NAMES = ("batch", "peak", "load", "together")
"""The pictures in the order of the run's questions."""
LOAD_LABELS = ("sustained",)


def titles() -> dict[str, str]:
    """Words of the pictures."""
    return {
        "batch": _("Batch size"),
        "peak": _("Peak rates"),
        "load": _("Sustained load"),
        "together": _("Two at once"),
    }


def picture_of_step(label: str) -> str:
    """The picture that a step feeds."""
    if label.startswith(("matmul", "copy")):
        return "peak"
    if label in ("train_together", "train_alone", "train_pair"):
        return "together"
    if label in LOAD_LABELS or label == "settle":
        return "load"
    return "batch"


def picture_of_figure(metric: str) -> str:
    """The picture that a figure belongs to."""
    if metric.startswith(("matmul", "copy")):
        return "peak"
    if metric.startswith("co_run"):
        return "together"
    if metric.startswith(("train", "memory_per", "batch")):
        return "batch"
    return "load"
