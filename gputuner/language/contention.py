"""Several jobs on one card, in words: ways of sharing, causes, probes, jobs, mixes, and a claim against its figures."""

from collections.abc import Mapping

from gputuner.analysis.contention_claim import CLAIM_HIGH, CLAIM_JOBS, CLAIM_LOW, Claim
from gputuner.language import contention_words as table
from gputuner.language.filling import fill
from gputuner.language.names import workload
from gputuner.language.steps import settings
from gputuner.language.words import N_, _, listed
from gputuner.model.readings import Scalar
from gputuner.model.steps import split_job

BESIDE = ("mix", "mode", "jobs", "job", "phase", "null", "round", "verified")
"""Params of a figure that are not of the job itself."""
_CLAIM = N_(
    "The claim that {jobs} EDSR trainings at once stretch each iteration {low} to {high} times: measured {value} "
    "({mode}). {verdict}"
)
_VERDICTS: dict[bool | None, str] = {
    True: N_("It holds here."),
    False: N_("It does not hold here."),
    None: N_("These figures do not settle it."),
}


def mode(name: str, card: str = "") -> str:
    """A way of sharing a card, by whose UUID the processor is told from others."""
    return _named(table.MODES, table.mode_on(name, card))


def probe(name: str) -> str:
    """A pressure probe."""
    return _named(table.PROBES, name)


def cause(name: str) -> str:
    """What jobs lose time at."""
    return _named(table.CAUSES, name)


def job(name: str, params: Mapping[str, Scalar]) -> str:
    """A job by its workload and what its figures say of it: ``EDSR, batch 16, BF16``."""
    return listed((workload(name), settings({key: told for key, told in params.items() if key not in BESIDE})))


def job_label(label: str) -> str:
    """A job by its label: ``EDSR (batch 16)``."""
    reference, told = split_job(label)
    pairs = (entry.partition("=") for entry in told.split(",") if entry)
    named = settings({key: _scalar(value) for key, _equals, value in pairs})
    name = workload(reference)
    return _("{what} ({settings})").format(what=name, settings=named) if named else name


def mix(label: str) -> str:
    """A mix by its label: ``2 × EDSR (batch 16) + ResNet-50 (batch 32)``."""
    labels = label.split("+")
    counted = {each: labels.count(each) for each in labels}
    return " + ".join(f"{n} × {job_label(each)}" if n > 1 else job_label(each) for each, n in counted.items())


def mixed(params: Mapping[str, Scalar], card: str = "") -> dict[str, Scalar]:
    """Mixes, the first job of one, and ways of sharing among the values of an advice, as words."""
    told: dict[str, Scalar] = {name: mix(str(params[name])) for name in ("mix", "worst") if name in params}
    told["mix_one"] = job_label(str(params.get("mix", "")).split("+")[0])
    return told | {name: mode(str(params[name]), card) for name in ("mode",) if name in params}


def claim(entry: Claim) -> str:
    """The claim about three EDSR trainings, what was measured, and whether it holds."""
    words = {
        "jobs": CLAIM_JOBS,
        "low": f"{CLAIM_LOW:g}",
        "high": f"{CLAIM_HIGH:g}",
        "value": ratio(entry.value, entry.low, entry.high),
        "mode": mode(entry.mode),
        "verdict": _(_VERDICTS[entry.holds]),
    }
    return fill(_CLAIM, words)


def ratio(value: float, low: float | None, high: float | None) -> str:
    """How many times, with its 95 % interval: ``1.67 × (1.65 … 1.69)``."""
    return f"{value:.2f} ×" if low is None or high is None else f"{value:.2f} × ({low:.2f} … {high:.2f})"


def _scalar(text: str) -> Scalar:
    return text == "true" if text in ("true", "false") else int(text) if text.isdigit() else text


def _named(words: Mapping[str, str], name: str) -> str:
    return _(words[name]) if name in words else name.replace("_", " ")
