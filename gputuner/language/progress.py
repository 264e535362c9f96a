"""How far the step in hand is, in words."""

from gputuner.language import numbers, numerics_words
from gputuner.language.words import N_, _, listed, ngettext
from gputuner.model.events import StepProgressed

_PHASES = {
    "setup": N_("setting up"),
    "idle": N_("letting the card rest"),
    "warmup": N_("warming up"),
    "settle": N_("waiting for a steady temperature"),
}


def step_progress(progress: StepProgressed, passed_s: float = 0.0) -> str:
    """What the step is at, settings tried, and time left of it; "" where nothing can be told.

    ``passed_s``: seconds since it was told.
    """
    phase = _PHASES.get(progress.phase)
    what = listed((_(phase) if phase else "", _settings(progress), _left(progress, passed_s)))
    return _("this step: {what}").format(what=what) if what else ""


def _settings(progress: StepProgressed) -> str:
    if progress.done is None or progress.phase != "measure":
        return ""
    if progress.of is not None and progress.label in numerics_words.STEPS:
        return _("{done} of {of} steps").format(done=progress.done, of=progress.of)
    if progress.of is not None:
        return _("{done} of {of} settings").format(done=progress.done, of=progress.of)
    if not progress.done:
        return ""
    return ngettext("{n} setting tried", "{n} settings tried", progress.done).format(n=progress.done)


def _left(progress: StepProgressed, passed_s: float) -> str:
    """Nothing once the time asked for is over: how long the rest takes is not known."""
    if progress.left_s is None or progress.left_s - passed_s < 0.5:
        return ""
    return _("{time} left").format(time=numbers.duration(round(progress.left_s - passed_s)))
