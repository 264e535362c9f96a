# pyright: standard
"""The pictures of a result: names, words, and which step feeds which."""

from gputuner.analysis.headlines import benchmark_of
from gputuner.gui.bench_words import group_of
from gputuner.language.words import _
from gputuner.model.points import Point

NAMES = ("batch", "peak", "load", "together")
"""The pictures in the order of the run's questions."""
LOAD_LABELS = ("sustained",)
MEMORY_LABELS = ("train_memory", "train_limit_below", "train_limit_above", "train_safe")
"""Steps that ask what fits."""


def tune_titles() -> dict[str, str]:
    """Words of the pictures of a tune run."""
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


def training_titles() -> dict[str, str]:
    """Words of the pictures of a batch run."""
    return {"batch": _("Rate and energy"), "memory": _("Memory"), "formats": _("Number formats")}


def numerics_titles() -> dict[str, str]:
    """Words of the pictures of a numerical check."""
    return {"loss": _("Loss"), "scale": _("Gradient scale"), "activations": _("Activations")}


def switches_titles() -> dict[str, str]:
    """Words of the pictures of formats and switches."""
    return {"rate": _("Rate"), "memory": _("Memory")}


def loading_titles() -> dict[str, str]:
    """Words of the pictures of data loading."""
    return {"workers": _("Worker processes"), "settings": _("Settings")}


def watch_titles() -> dict[str, str]:
    """Words of the pictures of a watched command."""
    return {"where": _("Where the time went"), "live": _("Live"), "output": _("Output")}


def question_titles() -> dict[str, dict[str, str]]:
    """Words of the pictures of each question about a training."""
    return {
        "training": training_titles(),
        "switches": switches_titles(),
        "numerics": numerics_titles(),
        "loading": loading_titles(),
        "watch": watch_titles(),
    }


def switches_picture_of_step(label: str) -> str:
    """The picture that a step of formats and switches feeds."""
    return "memory" if label in MEMORY_LABELS else "rate"


def training_picture_of_step(label: str) -> str:
    """The picture that a step of a batch run feeds."""
    return "memory" if label in MEMORY_LABELS else "batch"


def contention_titles() -> dict[str, str]:
    """Words of the pictures of jobs that share a card."""
    return {
        "slowdown": _("Slowdown and gain"),
        "pairs": _("Pairs"),
        "causes": _("Causes"),
        "sensitivity": _("Sensitivity"),
        "card": _("Card"),
    }


def contention_picture_of_step(label: str) -> str:
    """The picture that a step feeds."""
    if "probe" in label:
        return "sensitivity"
    return "slowdown" if "together" in label else "card"


def contention_picture_of_figure(point: Point) -> str:
    """The picture that a figure belongs to."""
    of = {"co_run_cause": "causes", "co_run_predicted": "pairs"}
    return of.get(point.metric, "sensitivity" if point.metric.startswith("pressure") else "slowdown")


def cooling_titles() -> dict[str, str]:
    """Words of the pictures of a thermal test."""
    return {"heat": _("Temperature"), "cooler": _("The cooler"), "compare": _("Against another run"), "card": _("Card")}


def cooling_picture_of_step(_label: str) -> str:
    """The picture that a step feeds: the trace, until the verdict."""
    return "heat"


def cooling_picture_of_figure(point: Point) -> str:
    """The picture that a figure belongs to."""
    return {"look": "heat", "verdict": "cooler"}.get(str(point.params.get("phase")), "card")


def health_titles(*, wear: bool = True) -> dict[str, str]:
    """Words of the pictures of a health test; ``wear``: with the card's history."""
    titles = {
        "map": _("Memory map"),
        "identity": _("Identity"),
        "burn": _("Products"),
        "counters": _("Passes"),
        "certificate": _("Certificate"),
    }
    return {**titles, "wear": _("Wear")} if wear else titles


def health_picture_of_step(label: str) -> str:
    """The picture that a step feeds."""
    return "burn" if label in ("health_burn", "health_rest") else "map"


def health_picture_of_figure(point: Point) -> str:
    """The picture that a figure belongs to."""
    of = {"burn_errors": "burn", "counter_change": "counters", "health_stage": "counters"}
    return "identity" if point.metric.startswith("identity") else of.get(point.metric, "map")


def bench_titles() -> dict[str, str]:
    """Words of the pictures of a bench run, in their order."""
    return {
        "bars": _("Against peak"),
        "sizes": _("Bandwidth"),
        "latency": _("Latency"),
        "regions": _("Regions"),
        "roofline": _("Roofline"),
        "compare": _("Against another run"),
    }


_OF_GROUP = {"memory": "sizes", "latency": "latency", "regions": "regions"}
_OF_LABEL = {"stream": "sizes", "memory": "sizes", "latency": "latency", "access": "latency", "region": "regions"}


def bench_picture_of_step(label: str) -> str:
    """The picture that a step feeds."""
    what = label.removeprefix("bench_")
    return next((name for begin, name in _OF_LABEL.items() if what.startswith(begin)), "bars")


def bench_picture_of_figure(point: Point) -> str:
    """The picture that a figure belongs to."""
    return _OF_GROUP.get(group_of(benchmark_of(point), point.metric), "bars")
